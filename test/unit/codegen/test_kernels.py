"""Kernels as objects of their own: what is compiled again, by whom, and what becomes of errors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.codegen import disk_cache, requests, splitting
from ted.codegen.children import ChildFailed, Pool
from ted.codegen.watching import Doing
from ted.errors import CompileError, ScheduleError

A = np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8)  # products large enough for objects
W = np.linspace(0, 0.5, 64, dtype=np.float32).reshape(8, 8)


class Workers:
    """Workers that note the kinds of requests, and the names of parts that are compiled."""

    def __init__(self, count: int) -> None:
        self.pool = Pool(requests._command, most=count)
        self.prepare = self.pool.prepare
        self.kinds: list[str] = []
        self.parts: list[str] = []

    def request(self, message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        """Note it, and ask a worker."""
        self.kinds.append(message["kind"])
        if message["kind"] == "objects":
            self.parts += [name for name, *_ in message["source"]]
        return self.pool.request(message, timeout, doing)

    def new(self) -> list[str]:
        """The parts since the last time, kernels by one name."""
        found, self.parts = self.parts, []
        return sorted(re.sub(r"kernel_\w+", "kernel", name) for name in found)


class Refusing(Workers):
    """Workers that give one answer for objects, or raise it, and mean the kernel."""

    def __init__(self, answer: Any) -> None:
        super().__init__(1)
        self.answer = answer

    def request(self, message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        """The answer."""
        if message["kind"] != "objects":
            return super().request(message, timeout, doing)
        doing(next(name for name, *_ in message["source"] if name.startswith("kernel_")))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@contextmanager
def using(workers: Workers, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as patched:
        patched.setattr(requests, "_workers", workers)
        yield
    for child in workers.pool._idle:
        child.stop()


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    found = Workers(2)
    with using(found, monkeypatch):
        yield found


def inputs(a: str = "a") -> tuple[Any, Any]:
    return ted.placeholder((6, 8), name=a), ted.placeholder((8, 8), name="w")


def layers(count: int, add: float = 0.0) -> Any:
    """Layers, each of a contraction and of a kernel that is small."""
    a, w = inputs()
    y = a
    for _ in range(count):
        y = ted.maximum(y @ w, 0.25)
    return ted.compile([a, w], y + add)


def expected(count: int, add: float = 0.0) -> np.ndarray:
    y = A
    for _ in range(count):
        y = np.maximum(y @ W, np.float32(0.25))
    return y + np.float32(add)


def test_programs_that_share_a_kernel_compile_it_once(workers: Workers) -> None:
    np.testing.assert_allclose(layers(2)(A, W), expected(2), rtol=1e-6)
    assert workers.new() == ["kernel", "main"]
    np.testing.assert_allclose(layers(3, 0.5)(A, W), expected(3, 0.5), rtol=1e-6)
    assert workers.new() == ["main"]
    np.testing.assert_allclose(layers(3, 0.5)(A, W), expected(3, 0.5), rtol=1e-6)
    assert workers.new() == []


def test_a_damaged_kernel_is_compiled_again_and_nothing_else(workers: Workers) -> None:
    layers(2)
    made = []
    for path, _ in list(disk_cache._entries()):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        workers.new()
        np.testing.assert_allclose(layers(2)(A, W), expected(2), rtol=1e-6)
        made.append(len(workers.parts))
    # The program as it was traced, its kernels, and two objects.
    assert sorted(made) == [0, 0, 1, 1]


def test_objects_compute_what_one_object_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_here(monkeypatch)
    apart = layers(3)
    monkeypatch.setattr(splitting, "LARGE", 1 << 40)
    whole = layers(3)
    assert [len(f._code.made.objects) for f in (apart, whole)] == [2, 1]
    np.testing.assert_array_equal(apart(A, W), whole(A, W))
    assert set(re.findall(r"^[0-9a-f]+ <(\w+)>:", whole.ir("asm"), re.M)) <= set(
        re.findall(r"^[0-9a-f]+ <(\w+)>:", apart.ir("asm"), re.M)
    )


@pytest.mark.slow
def test_threads_compile_programs_that_share_kernels(workers: Workers) -> None:
    found: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda k=k: found.update({k: layers(2 + k % 2, k)(A, W)}))
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], expected(2 + k % 2, k), rtol=1e-6)


def test_numbers_of_accesses_mean_the_tensors_of_each_program(workers: Workers) -> None:
    def program(name: str) -> Any:
        a, k = ted.placeholder((6, 8), name=name), ted.placeholder((), "int64", name="k")
        value = ted.compute(
            (8,), lambda j: ted.tanh(ted.exp(ted.sin(ted.cos(ted.sin(a[k[()], j]))))), name="row"
        )
        return ted.compile([a, k], [value, ted.sum(value)])

    for name in ("first", "second"):
        with pytest.raises(ted.errors.ExecutionError, match=rf"tensor {name} .*got index 7"):
            program(name)(A, 7)
    assert workers.kinds == ["cpu", "objects", "cpu"]
    assert workers.new() == ["kernel", "main"]


def test_a_worker_that_is_killed_at_a_kernel_is_an_error_that_names_it(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.prepare()
    (child,) = workers.pool._idle
    ask = workers.pool.request

    def killing(message: dict[str, Any], timeout: float, doing: Doing) -> dict[str, Any]:
        def hear(step: str) -> None:
            if step.startswith("kernel_") and child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
            doing(step)

        return ask(message, timeout, hear)

    with monkeypatch.context() as patch:
        patch.setattr(workers.pool, "request", killing)
        with pytest.raises(CompileError, match=r"generation of kernel_\w+ .* ended by signal 9"):
            layers(2)
    np.testing.assert_allclose(layers(2)(A, W), expected(2), rtol=1e-6)


def test_a_kernel_that_ends_its_worker_is_named_with_its_line_and_a_reproducer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, w = inputs()
    r = ted.reduce_axis(8)
    product = ted.compute((6, 8), lambda i, j: ted.sum(a[i, r] * w[r, j], r), name="P")
    with (
        using(Refusing(ChildFailed("LLVM ERROR: no")), monkeypatch),
        pytest.raises(CompileError) as caught,
    ):
        ted.compile([a, w], ted.maximum(product, 0.25))
    text = str(caught.value)
    assert re.search(r"code generation of kernel_\w+ for P must not end its process", text)
    assert "got LLVM ERROR: no" in text
    assert "(test_kernels.py:" in text
    found = re.search(r"ted-opt (\S+) --run-reproducer", text)
    assert found is not None
    assert "kernel_" in Path(found[1]).read_text()
    command = [sys.executable, "-m", "ted.tools.ted_opt", found[1], "--run-reproducer"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "llvm.func @kernel_" in done.stdout


def test_what_a_pass_refuses_in_a_part_is_said_of_the_user_s_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = {"refused": ["ScheduleError", "tile: one, got two", ["-", 1, 1]]}
    ask = Workers.request

    def of_the_whole(self: Any, message: dict[str, Any], *rest: Any) -> dict[str, Any]:
        if "ted-check-lowered" in message["pipeline"]:
            return {"refused": ["ScheduleError", "tile: one, got two", ["model.py", 7, 3]]}
        return ask(self, message, *rest)

    with using(Refusing(refusal), monkeypatch):
        with pytest.raises(ScheduleError, match=r"^tile: one, got two \(-:1\)$"):
            layers(2)  # the whole is not refused
        monkeypatch.setattr(Workers, "request", of_the_whole)
        with pytest.raises(ScheduleError, match=r"^tile: one, got two \(model\.py:7\)$"):
            layers(2)


def test_a_program_knows_the_times_of_its_kernels(workers: Workers) -> None:
    times = layers(2).compile_times
    steps = list(times)
    (kernel,) = [step for step in steps if step.startswith("kernel_")]
    assert times[kernel] > 0
    assert steps.index("ted-outline-kernels") < steps.index(kernel)
    assert steps[-2:] == ["machine code", "linking"]
    assert "main" not in steps
