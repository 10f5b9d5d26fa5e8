"""The pool of threads: every unit once, whatever else happens, and what units report."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.float_modes import (
    FLUSHES,
    IS_KNOWN,
    MET,
    RESULT,
    float_mode,
    mode_with,
    set_float_mode,
)
from ted import _runtime
from ted.errors import ExecutionError
from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import bind
from ted.runtime.library import library_path
from ted.runtime.threads import MOST_THREADS, get_num_threads, join_openmp, set_num_threads
from unit.runtime.programs import compile_text

UNIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)

# Unit u of 16 takes x[u] bytes, and reports x[u] as an index of tensor 7 where that is odd.
UNITS = """
llvm.func @ted_parallel_for(!llvm.ptr, !llvm.ptr, i64)
llvm.func @ted_index_error(i64, i64, i64, i64)
llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @unit(%x: !llvm.ptr, %u: i64) {
  %p = llvm.getelementptr %x[%u] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %n = llvm.load %p : !llvm.ptr -> i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %id = llvm.mlir.constant(7 : i64) : i64
  %odd = llvm.and %n, %one : i64
  %is_odd = llvm.icmp "eq" %odd, %one : i64
  llvm.cond_br %is_odd, ^report, ^take
^report:
  llvm.call @ted_index_error(%id, %zero, %n, %u) : (i64, i64, i64, i64) -> ()
  llvm.br ^end
^take:
  %m = llvm.call @_mlir_memref_to_llvm_alloc(%n) : (i64) -> !llvm.ptr
  llvm.call @_mlir_memref_to_llvm_free(%m) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}
llvm.func @main(%x: !llvm.ptr, %y: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %f = llvm.mlir.addressof @unit : !llvm.ptr
  %n = llvm.mlir.constant(16 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.call @ted_parallel_for(%f, %x, %n) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.store %one, %y : i64, !llvm.ptr
  llvm.return
}"""


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


def openmp() -> str:
    """The OpenMP of torch, without torch."""
    (folder,) = importlib.util.find_spec("torch").submodule_search_locations
    found = sorted(Path(folder).glob("lib/libgomp*"))
    if not found:
        pytest.skip("torch came without a library of OpenMP")
    return str(found[0])


@pytest.fixture(params=["own threads", "threads of OpenMP"])
def team(request: pytest.FixtureRequest) -> Iterator[None]:
    """Loops run on the threads of the runtime, and on those of another library."""
    if request.param == "threads of OpenMP":
        join_openmp.cache_clear()
        assert join_openmp(openmp())
    yield
    _runtime.threads_join((0, 0))
    join_openmp.cache_clear()


both_teams = pytest.mark.usefixtures("team")


@pytest.fixture
def units():
    specs = [ArgSpec("x", "int64", (16,)), ArgSpec("y", "int64", ())]
    return bind(compile_text(UNITS), specs[:1], specs[1:], name="units", symbol="main",
                accesses={7: ("B", "model.py:41")})  # fmt: skip


def run_units(body: Callable[[int], object], count: int) -> None:
    function = UNIT(lambda _, unit: body(unit) and None)
    ctypes.CDLL(library_path()).ted_parallel_for(function, None, ctypes.c_int64(count))


def test_only_what_has_openmp_is_joined() -> None:
    join_openmp.cache_clear()
    assert not join_openmp(_runtime.__file__)


@both_teams
@pytest.mark.parametrize("count", [1, 2, 3, 8, 100])
def test_every_unit_runs_once(count: int) -> None:
    set_num_threads(count)
    for units in (0, 1, 2, 7, 300):
        seen: list[int] = []
        run_units(seen.append, units)
        assert Counter(seen) == Counter(range(units))


@both_teams
def test_units_of_two_threads_meet() -> None:
    set_num_threads(2)
    both = threading.Barrier(2, timeout=60)
    run_units(lambda _: both.wait(), 2)


@both_teams
def test_a_thread_runs_its_own_units_in_order_then_the_last_ones_of_others() -> None:
    set_num_threads(2)
    caller, begun, others = threading.get_ident(), threading.Event(), threading.Event()
    mine: list[int] = []
    theirs: list[int] = []

    def unit(number: int) -> None:
        if threading.get_ident() == caller:
            mine.append(number)
            begun.set()
            others.wait(60)
        else:
            begun.wait(60)
            theirs.append(number)
            if len(theirs) == 9:
                others.set()

    run_units(unit, 10)
    assert (mine, theirs) == ([0], [5, 6, 7, 8, 9, 4, 3, 2, 1])


@both_teams
def test_a_loop_inside_of_a_unit_is_run_by_its_thread() -> None:
    set_num_threads(3)
    seen: list[tuple[int, int]] = []

    def outer(unit: int) -> None:
        mine = threading.get_ident()

        def inner(k: int) -> None:
            assert threading.get_ident() == mine
            seen.append((unit, k))

        run_units(inner, 5)

    run_units(outer, 7)
    assert sorted(seen) == [(u, k) for u in range(7) for k in range(5)]


@both_teams
def test_several_threads_may_call_at_once() -> None:
    set_num_threads(3)

    def total(k: int) -> int:
        seen: list[int] = []
        run_units(lambda unit: seen.append(unit * k), 20)
        return sum(seen)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(total, range(100))) == [190 * k for k in range(100)]


@both_teams
@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_first_bad_index_in_the_order_of_units_is_reported(units, count: int) -> None:
    set_num_threads(count)
    x = np.zeros(16, np.int64)
    x[[5, 9, 15]] = [15, 19, 25]
    for _ in range(50):
        with pytest.raises(
            ExecutionError, match=r"extent 5 in dim 0, got index 15, at model.py:41"
        ):
            units(x)
    assert units(np.zeros(16, np.int64))[0] == 1


@both_teams
@pytest.mark.parametrize("count", [1, 2, 8])
def test_memory_that_runs_out_in_a_unit_is_an_error_and_leaks_nothing(units, count: int) -> None:
    set_num_threads(count)
    before = _runtime.memory_current()
    x = np.full(16, 8)
    x[11] = 2**60
    for _ in range(50):
        with pytest.raises(ExecutionError, match=f"out of memory: cannot allocate {2**60} bytes"):
            units(x)
        assert _runtime.memory_current() == before
    assert units(np.full(16, 8))[0] == 1
    assert 8 <= units.peak_bytes - 8 <= 8 * count


@both_teams
def test_the_threads_of_a_function_are_those_that_it_may_use() -> None:
    set_num_threads(4)
    specs = [ArgSpec("x", "int64", (16,)), ArgSpec("y", "int64", ())]
    alone = bind(compile_text(UNITS), specs[:1], specs[1:], threads=1)
    started = threading.active_count()
    assert alone(np.zeros(16, np.int64))[0] == 1
    assert threading.active_count() == started


@pytest.mark.parametrize("count", [0, -1, MOST_THREADS + 1, 10_000, 2.0, True, "2", None])
def test_what_is_no_number_of_threads_is_refused(count) -> None:
    with pytest.raises(ExecutionError, match="a number of threads is from 1 to 1024, got "):
        set_num_threads(count)


def test_the_number_of_threads_is_kept() -> None:
    before = set_num_threads(5)
    assert get_num_threads() == 5
    assert set_num_threads(before) == 5


def _printed(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environ},
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip


SHOW = "import ted; print(ted.get_num_threads())"


def test_the_environment_says_how_many() -> None:
    assert _printed(SHOW, TED_NUM_THREADS="7").stdout == "7\n"


@pytest.mark.parametrize("wish", ["0", "10000", "-2", "many", "", "2.5"])
def test_a_wish_that_is_no_number_is_warned_of_and_ignored(wish: str) -> None:
    done = _printed(SHOW, TED_NUM_THREADS=wish)
    assert int(done.stdout) == _runtime.threads_default()
    assert f"a number of threads is from 1 to 1024, got {wish!r}" in done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity")
def test_there_are_as_many_threads_as_cores_to_run_on() -> None:
    script = f"import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); {SHOW}"
    environ = {k: v for k, v in os.environ.items() if k != "TED_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True,
                          text=True, timeout=100, check=True)  # fmt: skip
    assert done.stdout == "1\n"


FORK = """
import ctypes, os, sys, threading, warnings
warnings.simplefilter("ignore")  # of Python: a fork with threads, which is what this is about
import ted
from ted.runtime.library import library_path
ted.set_num_threads(3)
UNIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
run = ctypes.CDLL(library_path()).ted_parallel_for
def units(body, count):
    run(UNIT(lambda _, unit: body(unit) and None), None, ctypes.c_int64(count))
def child():
    seen = []
    for _ in range(20):
        units(seen.append, 10)
    os._exit(0 if sorted(seen) == sorted(20 * [*range(10)]) else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("joined", ["nobody", "parent", "both"])  # a forked OpenMP waits for
def test_a_child_has_threads_of_its_own(joined: str) -> None:  # threads that it lost
    library = "" if joined == "nobody" else openmp()
    _printed(
        f"JOINED, LIBRARY = {joined!r}, {library!r}\n"
        + FORK
        + """
from ted.runtime.threads import join_openmp
assert JOINED == "nobody" or join_openmp(LIBRARY)
units(lambda unit: None, 50)
process = os.fork()
if not process:
    join_openmp.cache_clear()
    JOINED != "both" or join_openmp(LIBRARY)
    child()
assert os.waitpid(process, 0)[1] == 0
units(lambda unit: None, 50)
"""
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_may_fork_while_units_run() -> None:
    _printed(
        FORK
        + """
# Every thread is in its unit first: one that just enters Python holds a lock of CPython's, which a
# child of Python 3.11 waits for.
inside, over = threading.Barrier(4), threading.Event()
def body(unit):
    inside.wait()
    over.wait()
worker = threading.Thread(target=units, args=(body, 3))
worker.start()
inside.wait()
process = os.fork()
if not process:
    child()
assert os.waitpid(process, 0)[1] == 0
over.set()
worker.join()
"""
    )


def test_a_process_ends_while_units_run() -> None:
    _printed(
        FORK
        + """
inside = threading.Event()
def body(unit):
    inside.set()
    threading.Event().wait()
threading.Thread(target=units, args=(body, 3), daemon=True).start()
inside.wait()
"""
    )


FLOATS = """
llvm.func @ted_parallel_for(!llvm.ptr, !llvm.ptr, i64)
llvm.func @unit(%x: !llvm.ptr, %u: i64) {
  %p = llvm.getelementptr %x[%u] : (!llvm.ptr, i64) -> !llvm.ptr, f64
  %one = llvm.load volatile %p : !llvm.ptr -> f64
  %three = llvm.mlir.constant(3.0 : f64) : f64
  %third = llvm.fdiv %one, %three : f64
  llvm.store volatile %third, %p : f64, !llvm.ptr
  llvm.return
}
llvm.func @main(%x: !llvm.ptr, %y: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %f = llvm.mlir.addressof @unit : !llvm.ptr
  %n = llvm.mlir.constant(100000 : i64) : i64
  llvm.call @ted_parallel_for(%f, %y, %n) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}"""


@both_teams
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the C library's fesetround")
def test_units_round_as_the_caller_does() -> None:
    set_num_threads(4)
    specs = [ArgSpec("x", "float64", ()), ArgSpec("y", "float64", (100_000,))]
    thirds = bind(compile_text(FLOATS), specs[:1], specs[1:], symbol="main")
    thirds(np.float64(0), out=[np.ones(100_000)])  # the workers are there
    libm = ctypes.CDLL(None)
    upward = {"x86_64": 0x800, "aarch64": 0x400000}[platform.machine()]
    result = np.ones(100_000)
    assert libm.fesetround(upward) == 0
    try:
        thirds(np.float64(0), out=[result])
    finally:
        libm.fesetround(0)
    assert np.unique(result).tolist() == [np.nextafter(1 / 3, 1)]


@both_teams
@pytest.mark.skipif(not IS_KNOWN, reason="needs fegetenv of glibc")
def test_units_flush_as_the_caller_does_which_learns_what_they_met() -> None:
    set_num_threads(2)
    caller, both = threading.get_ident(), threading.Barrier(2, timeout=60)
    modes: list[int] = []

    def unit(_: int) -> None:
        mode = float_mode()
        both.wait()
        if threading.get_ident() != caller:
            modes.append(mode)
            set_float_mode(mode | RESULT)

    for on in (FLUSHES, 0):
        modes.clear()
        with mode_with(on, off=MET | FLUSHES & ~on) as mode:
            run_units(unit, 2)
            left = float_mode()
        # Python's own sums leave flags, too.
        assert [one & ~MET for one in modes] == [mode & ~MET]
        assert left & ~MET == mode & ~MET
        assert left & RESULT
