"""`subnormals=`: what calls do about numbers below the normal range, what they leave, and say."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.float_modes import FLUSHES, IS_KNOWN, IS_X86, MET, TRAPS, UPWARD, float_mode, mode_with
from ted.errors import CompileError, ExecutionError
from ted.options import CompileOptions

MODES = ("keep", "flush")
UNIT = {"f4": 2.0**-149, "f8": 2.0**-1074}  # the smallest number of a type
LEAST = {"f4": 2.0**-126, "f8": 2.0**-1022}  # the smallest normal one
COUNT = 1 << 17  # what two threads share

known_modes = pytest.mark.skipif(not IS_KNOWN, reason="needs fegetenv of glibc")
flagged = pytest.mark.skipif(not IS_X86, reason="a flag of operands is x86's")


def small(shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Subnormal numbers: multiples of the smallest one, sums of which are exact."""
    counts = np.random.default_rng(0).integers(1, 1 << 12, shape)
    return np.ldexp(counts.astype(kind), round(np.log2(UNIT[kind])))


# A function, the shapes of its arguments, and what it is of counts of the smallest number.
KERNELS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], Callable[..., Any]]] = {
    "map": (lambda x: x + x, [(COUNT,)], lambda n: n + n),
    "sum": (lambda x: ted.sum(x, axis=1), [(512, 300)], lambda n: n.sum(1)),
    "columns": (lambda x: ted.sum(x, axis=0), [(300, 512)], lambda n: n.sum(0)),
    "product": (lambda x: x @ ted.ones((96, 80), x.dtype), [(512, 96)],
                lambda n: np.repeat(n.sum(1)[:, None], 80, 1)),
    "running sum": (lambda x: ted.cumsum(x, axis=0), [(64, 512)], lambda n: n.cumsum(0)),
    "recurrence": (lambda x: ted.scan(lambda c, row: (c + row, c), x[0] * 2.0, x)[1], [(9, 4096)],
                   lambda n: np.concatenate([2 * n[:1], 2 * n[0] + n.cumsum(0)[:-1]])),
    "scatter": (lambda x: ted.zeros((8,), x.dtype).at[ted.arange(1000) % 8].add(x), [(1000,)],
                lambda n: n.reshape(-1, 8).sum(0)),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_numbers_are_kept_or_flushed(name: str, threads: int) -> None:
    fn, shapes, expected = KERNELS[name]
    for kind in UNIT if name in ("map", "product") else ("f4",):
        arrays = [small(shape, kind) for shape in shapes]
        f = {m: ted.function(fn, f"cpu,threads={threads}", subnormals=m) for m in MODES}
        kept, flushed = (f[mode](*arrays) for mode in MODES)
        counts = expected(*(np.rint(a / UNIT[kind]).astype("i8") for a in arrays))
        np.testing.assert_array_equal(kept / UNIT[kind], counts)
        np.testing.assert_array_equal(flushed.view(f"i{kind[1]}"), 0)


def test_results_below_the_range_are_zeros_of_their_sign() -> None:
    x = np.array([2.0**-70, -(2.0**-70), 2.0**-63, 2.0**-62], "f4")
    kept, flushed = (ted.function(lambda x: x * x[0], subnormals=m)(x) for m in MODES)
    np.testing.assert_array_equal(kept, x * x[0])
    np.testing.assert_array_equal(flushed, [0, 0, 0, 0])
    np.testing.assert_array_equal(np.signbit(flushed), [False, True, False, False])
    edge = ted.function(lambda x: x * x, subnormals="flush")(x)
    np.testing.assert_array_equal(edge, [0, 0, LEAST["f4"], 2.0**-124])


def test_flushed_results_are_the_same_for_any_number_of_threads() -> None:
    x = np.random.default_rng(1).normal(size=(300, 257)).astype("f4")
    x *= np.float32(2.0) ** np.random.default_rng(2).integers(-149, -100, x.shape)
    fn = ted.grad(lambda x: ted.sum(ted.exp(x) * x @ x.T), subnormals="flush")
    one, two = (ted.function(fn, f"cpu,threads={n},subnormals=flush")(x) for n in (1, 2))
    np.testing.assert_array_equal(one.view("i4"), two.view("i4"))


def test_conditions_take_for_zero_what_arithmetic_does() -> None:
    def guarded(x: Any) -> Any:  # both comparisons are one of bits, where subnormals count
        return ted.where((x > 0) & (x < np.inf), 1 / x, 0.0)

    x = np.array([1e-39, -1e-39, 0, 2], "f4")
    kept, flushed = (ted.function(guarded, subnormals=m)(x) for m in MODES)
    np.testing.assert_array_equal(kept, [np.inf, 0, 0, 0.5])
    np.testing.assert_array_equal(flushed, [0, 0, 0, 0.5])


FUNCTIONS = (
    "exp", "expm1", "log", "log1p", "sin", "tan", "atan", "asinh", "tanh", "erf", "cbrt", "sqrt",
    "rsqrt", "sign", "floor",
)  # fmt: skip


@pytest.mark.parametrize("kind", UNIT)
def test_functions_of_flushed_arguments_are_those_of_zeros(kind: str) -> None:
    x = np.array([1, -1, 2.0**20, -(2.0**20)], kind) * np.array(UNIT[kind], kind)
    fn = ted.function(
        lambda x: [getattr(ted, name)(x) for name in FUNCTIONS], "cpu", subnormals="flush"
    )
    zeros = np.copysign(np.zeros(4, kind), x)
    for name, found, expected in zip(FUNCTIONS, fn(x), fn(zeros), strict=True):
        moved = (found == x) & (expected == 0)  # as cbrt does with what has no cube root
        np.testing.assert_array_equal(np.where(moved, expected, found), expected, name)


# ---- the mode of the caller ----------------------------------------------------------------------


def halved(subnormals: str | None = None) -> Any:
    x = ted.placeholder((COUNT,), name="x")
    return ted.compile([x], x * 0.75, subnormals=subnormals)


@known_modes
@pytest.mark.parametrize("subnormals", [None, "keep", "flush", "caller"])
@pytest.mark.parametrize("on", [0, FLUSHES, UPWARD, FLUSHES | UPWARD, MET, FLUSHES | MET])
def test_a_call_leaves_the_mode_of_its_thread(subnormals: str | None, on: int) -> None:
    x, out = small((COUNT,), "f4"), np.empty(COUNT, "f4")
    f = halved(subnormals)
    f(x)
    with mode_with(on, off=MET & ~on) as mode:
        f(x, out=out)
        left = float_mode()
    assert left == mode
    flushes = subnormals == "flush" or (subnormals == "caller" and bool(on & FLUSHES))
    exact = 0.75 * x.astype("f8") / UNIT["f4"]
    kept = np.ceil(exact) if on & UPWARD else np.rint(exact)
    np.testing.assert_array_equal(out / UNIT["f4"], 0 * kept if flushes else kept)


@known_modes
def test_a_call_that_fails_leaves_the_mode_of_its_thread() -> None:
    a, i = ted.placeholder((8,), name="a"), ted.placeholder((3,), "int64", name="i")
    f = ted.compile([a, i], ted.take(a, i, axis=0) * 0.1, subnormals="flush")
    x, wrong = small((8,), "f4"), np.array([0, 9, 1])
    big = ted.placeholder((512, 512), name="b")
    g = ted.compile([big], ted.flip(big @ big) @ big, subnormals="flush")
    y = np.ones((512, 512), "f4")
    for call in (lambda: f(x, wrong), lambda: g(y)):
        limit = ted._runtime.memory_set_limit(ted._runtime.memory_current() + 4096)
        try:
            with mode_with(off=MET) as mode:
                with pytest.raises(ExecutionError):
                    call()
                left = float_mode()
        finally:
            ted._runtime.memory_set_limit(limit)
        assert left & ~MET == mode & ~MET


@known_modes
def test_a_caller_that_traps_is_not_trapped_by_code_of_ted() -> None:
    x, out = np.full(COUNT, 1e-30, "f4"), np.empty(COUNT, "f4")
    a = ted.placeholder((COUNT,), name="a")
    f = ted.compile([a], a * a)
    f(x)
    with mode_with(0 if IS_X86 else TRAPS, MET | (TRAPS if IS_X86 else 0)):
        f(x, out=out)
    assert not out.any()


@known_modes
def test_handlers_of_signals_compute_as_the_thread_does() -> None:
    def loops(x: Any) -> Any:
        return ted.while_loop(lambda c: c > 0, lambda c: c * 0.5 + 1, x)

    f = ted.function(loops, subnormals="flush")
    assert f(np.array(-1.0)) == -1
    seen: list[int] = []

    def handler(*_: object) -> None:
        seen.append(float_mode())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            f(np.array(1.0))
    finally:
        signal.signal(signal.SIGINT, before)
    assert not seen[0] & FLUSHES
    assert not float_mode() & FLUSHES


# ---- the option ----------------------------------------------------------------------------------


def squares(x: Any) -> Any:
    return ted.sum(x * x)


X = ted.placeholder((4,), name="x")
MADE: list[Callable[..., Any]] = [
    lambda **given: ted.function(squares, **given),
    lambda **given: ted.grad(squares, **given),
    lambda **given: ted.value_and_grad(squares, **given),
    lambda **given: ted.compile([X], X * 2.0, **given),
    lambda **given: ted.forward_backward(squares(X), [X], **given).second,
]


@pytest.mark.parametrize("make", MADE)
def test_the_option_is_a_keyword_or_part_of_the_target(make: Callable[..., Any]) -> None:
    flushing = make(subnormals="flush")
    assert flushing.options == make(target="cpu,subnormals=flush").options
    assert flushing.options.target == "cpu,subnormals=flush"
    both = make(target="cpu:sse2,threads=2,subnormals=keep", subnormals="flush")
    assert both.options.target == "cpu:sse2,threads=2,subnormals=flush"
    assert make().options.subnormals is None
    assert make().options.target == "cpu"


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("given", ["zero", "", "Flush", 1, True, ("keep",)])
def test_other_words_are_refused(make: Callable[..., Any], given: Any) -> None:
    rule = r"compile: subnormals is one of keep, flush, caller, got "
    with pytest.raises(CompileError, match=rule):
        make(subnormals=given)
    if isinstance(given, str):
        with pytest.raises(CompileError, match=rule + repr(given)):
            make(target=f"cpu,subnormals={given}")


def test_a_gpu_has_no_such_option() -> None:
    with pytest.raises(CompileError, match="subnormals is an option of CPUs, got sm_80"):
        ted.compile([X], X * 2.0, "cuda:sm_80", subnormals="flush")
    with pytest.raises(CompileError, match="a target is 'cpu', 'cuda'"):
        ted.compile([X], X * 2.0, "cuda:sm_80,subnormals=flush")
    with pytest.raises(CompileError, match=r"or ',subnormals=flush' .* got 'cpu,subnormal=flush'"):
        ted.compile([X], X * 2.0, "cpu,subnormal=flush")


def test_what_is_made_of_a_function_flushes_as_it_does() -> None:
    f = ted.function(squares, subnormals="flush")
    for made in (ted.grad(f), ted.hessian(f), ted.vmap(f), ted.checkpoint(f), ted.function(f)):
        assert made.options.subnormals == "flush"
    assert ted.function(f, subnormals="keep").options.subnormals == "keep"
    x = np.full(3, 1e-41, "f4")
    assert not ted.grad(f)(x).any()
    assert not ted.vjp(f, x)[1](np.float32(1))[0].any()


def test_batches_of_any_size_flush() -> None:
    x = small((37, 3), "f4")
    kept, flushed = (ted.function(lambda x: x + x, batch=0, subnormals=m)(x) for m in MODES)
    np.testing.assert_array_equal(kept, x + x)
    assert not flushed.view("i4").any()


@pytest.mark.parametrize("mode", [*MODES, "caller"])
def test_files_and_pickles_hold_the_option(mode: str, tmp_path: Path) -> None:
    x = small((COUNT,), "f4")
    f = halved(mode)
    f.save(tmp_path / "f.ted")
    for g in (ted.load(tmp_path / "f.ted"), pickle.loads(pickle.dumps(f))):
        np.testing.assert_array_equal(g(x).view("i4"), f(x).view("i4"))
        if IS_KNOWN:
            with mode_with(FLUSHES):
                found = g(x)
            assert found.view("i4").any() == (mode == "keep")


def test_a_file_with_another_word_is_refused(tmp_path: Path) -> None:
    halved("flush").save(tmp_path / "f")
    with zipfile.ZipFile(tmp_path / "f") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "g", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(b'"flush"', b'"zeros"'))
    with pytest.raises(ExecutionError, match="a file of a compiled function"):
        ted.load(tmp_path / "g")


# ---- what is said --------------------------------------------------------------------------------


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.message for r in caplog.records if r.name == "ted.subnormals"]


@flagged
@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_that_met_them_says_so_once(
    threads: int, caplog: pytest.LogCaptureFixture
) -> None:
    f = ted.function(lambda x: x + 1.0, f"cpu,threads={threads}")
    x = np.ones(COUNT, "f4")
    f(x)
    assert said(caplog) == []
    x[-1] = 1e-41  # of the last unit, which another thread may have
    f(x)
    (text,) = said(caplog)
    assert "a call met subnormal operands, which take processors long" in text
    assert 'f.profile(...) names the kernels, subnormals="flush" takes them for zeros' in text
    assert caplog.records[-1].levelno == logging.WARNING
    f(x)
    assert len(said(caplog)) == 1


def of_any_size() -> Callable[..., Any]:
    x = ted.placeholder((ted.size("n"),), "float32", name="x")
    return ted.compile([x], x * 0.7)


@flagged
@pytest.mark.parametrize("make", [lambda: ted.function(lambda x: x * 0.7), of_any_size])
def test_first_calls_of_several_threads_say_so_once(
    make: Callable[[], Callable[..., Any]], caplog: pytest.LogCaptureFixture
) -> None:
    f, x, begin = make(), small((7,), "f4"), threading.Barrier(4)
    threads = [threading.Thread(target=lambda: (begin.wait(), f(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said(caplog)) == 1


@flagged
def test_functions_of_batches_and_of_files_say_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    x = small((85, 3), "f4")  # strips of 64, 16, 4 and 1
    f = ted.function(lambda x: x + x, batch=0)
    f(x), f(x)
    assert len(said(caplog)) == 1
    halved().save(tmp_path / "f.ted")
    g, y = ted.load(tmp_path / "f.ted"), small((COUNT,), "f4")
    g(y), g(y)
    assert len(said(caplog)) == 2


QUIET: dict[str, tuple[Callable[..., Any], Callable[[], np.ndarray], str | None]] = {
    "flushed": (lambda x: x + 1.0, lambda: small((64,), "f4"), "flush"),
    "asked for": (lambda x: x + 1.0, lambda: small((64,), "f4"), "keep"),
    "copied": (lambda x: ted.flip(x), lambda: small((64,), "f4"), None),
    "a mask": (ted.nn.softmax, lambda: np.r_[np.zeros(32), np.full(32, -1e9)].astype("f4"), None),
    "integers": (lambda x: x + 1, lambda: np.arange(64), None),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_takes_no_time_or_was_asked_for_is_not_said(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    fn, array, subnormals = QUIET[name]
    f = ted.function(fn, subnormals=subnormals)
    f(array())
    assert said(caplog) == []
    is_kept = subnormals == "keep"
    assert ("subnormal operands" in f.compiled(array()).explain()) == (is_kept and IS_X86)


@known_modes
def test_flags_that_the_caller_brought_are_not_of_the_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    f, x = halved(), np.ones(COUNT, "f4")
    with mode_with(MET):
        f(x)
    assert said(caplog) == []


@flagged
def test_a_profile_and_what_is_explained_name_the_kernel_and_the_option() -> None:
    def program(x: Any, w: Any) -> Any:
        product = x @ w
        return ted.nn.softmax(ted.exp(product * 1e-3) * product)

    x, w = np.full((32, 16), 1e-41, "f4"), np.ones((16, 16), "f4")
    f = ted.function(program)
    assert "subnormal operands" not in f.compiled(x, w).explain()
    f(x, w)
    text = f.compiled(x, w).explain()
    assert "subnormal operands: met by kernels that f.profile(...) names; " in text
    found = f.profile(x, w, repeats=1)
    assert any(kernel.tensor == "matmul" for kernel in found.slowed)
    lines = str(found).splitlines()
    assert lines[0].endswith("), subnormal operands")
    assert lines[-1].startswith('subnormal operands take processors long: subnormals="flush"')
    text = f.compiled(x, w).explain()
    assert "subnormal operands: met by " in text
    assert "matmul (test_subnormals.py:" in text.splitlines()[-1]
    assert text.endswith('subnormals="flush" takes them for zeros (docs/accuracy.md)')
    flushed = ted.function(program, subnormals="flush").profile(x, w, repeats=1)
    assert flushed.slowed == ()
    assert "subnormal operands" not in str(flushed)


def test_a_profile_says_which_results_underflow() -> None:
    f = ted.function(lambda x: x * x)
    (kernel,) = f.profile(np.full(64, 1e-30, "f4"), repeats=1).kernels
    assert kernel.underflowed
    assert not kernel.met_subnormals
    assert str(kernel).endswith("), results that underflow")
    (kernel,) = f.profile(np.ones(64, "f4"), repeats=1).kernels
    assert not kernel.underflowed


def test_operators_of_libraries_ask_their_thread_unless_told() -> None:
    options = CompileOptions(ted.function(squares).options.machine)
    assert options.of_a_caller.subnormals == "caller"
    for mode in MODES:
        told = ted.function(squares, subnormals=mode).options
        assert told.of_a_caller is told
    on_gpu = ted.function(squares, "cuda:sm_80").options
    assert on_gpu.of_a_caller is on_gpu
