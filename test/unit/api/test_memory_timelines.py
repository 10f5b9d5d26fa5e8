"""What a program holds: as much as a call counts, and buffers with names, lines and lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import CompileError

RNG = np.random.default_rng(0)
MIB = 2**20


def array(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def network(x: ted.Tensor, w: ted.Tensor, v: ted.Tensor) -> ted.Tensor:
    return ted.sum((ted.nn.relu(x @ w) @ v) ** 2)


def recurrence(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
    return ted.scan(lambda h, row: (ted.tanh(h @ w + row),) * 2, ted.zeros((64, 128)), x)[1]


def convolutions(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
    inner = ted.nn.relu(ted.nn.conv2d(x, w, padding=1))
    return ted.sum(ted.nn.conv2d(inner, w, padding=1) ** 2)


PROGRAMS: list[tuple[Callable[..., Any], list[np.ndarray]]] = [
    (ted.grad(network, argnums=(1, 2)), [array(256, 512), array(512, 512), array(512, 256)]),
    (lambda x: ted.nn.softmax(x @ x), [array(300, 300)]),
    (ted.grad(convolutions, argnums=(0, 1)), [array(4, 32, 32, 16), array(3, 3, 16, 16)]),
    (
        ted.grad(lambda x, w: ted.sum(recurrence(x, w)), argnums=1),
        [array(9, 64, 128), array(128, 128)],
    ),
    (lambda x: ted.cumsum(ted.exp(x), axis=0) * 2.0, [array(300, 400)]),
]


@pytest.mark.fast(1)
@pytest.mark.parametrize(("fn", "arrays"), PROGRAMS)
def test_the_peak_is_what_a_call_on_one_thread_counts(
    fn: Callable[..., Any], arrays: list[np.ndarray]
) -> None:
    function = ted.function(fn, target="cpu,threads=1")
    function(*arrays)
    assert function.memory(*arrays).peak_bytes == function.compiled(*arrays).peak_bytes


def test_buffers_have_names_lines_and_lives() -> None:
    timeline = ted.function(ted.grad(network, argnums=(1, 2))).memory(*PROGRAMS[0][1])
    kinds = [
        (one.kind, one.tensor, one.nbytes) for one in timeline.buffers if one.kind != "temporary"
    ]
    assert kinds == [
        ("input", "x", MIB // 2), ("input", "w", MIB), ("input", "v", MIB // 2),
        ("result", "dw", MIB), ("result", "dv", MIB // 2),
    ]  # fmt: skip
    known = {one.tensor: one for one in timeline.buffers}
    product = known["matmul, relu, dmatmul_1"]  # maps are written where they read
    assert (product.kind, product.nbytes) == ("temporary", MIB // 2)
    assert product.place.startswith("test_memory_timelines.py:")
    steps = [one.tensor for one in timeline.steps]
    assert steps[product.first : product.first + 2] == ["matmul", "relu"]
    assert "dmatmul_1" in steps[product.first + 2 : product.last]


def test_what_is_held_in_a_kernel_is_what_lives_then_and_what_it_takes_itself() -> None:
    timeline = ted.function(ted.grad(network, argnums=(1, 2))).memory(*PROGRAMS[0][1])
    for k, step in enumerate(timeline.steps):
        alive = [b.nbytes for b in timeline.buffers if b.kind != "input" and b.first <= k <= b.last]
        assert timeline.held(k) == sum(alive) + step.nbytes
    assert timeline.peak_bytes == max(map(timeline.held, range(len(timeline.steps))))
    assert any(step.nbytes for step in timeline.steps)


def test_it_is_printed_with_the_peak_marked() -> None:
    text = str(ted.function(lambda x: ted.nn.softmax(x @ x)).memory(PROGRAMS[1][1][0]))
    first, *rest = text.splitlines()
    assert first.endswith("at most, of results, temporary buffers and what kernels take")
    assert sum(line.endswith("<- peak") for line in rest) == 1
    assert "   351.56 KiB input x (" in text
    assert "   351.56 KiB result div (" in text


def test_a_program_without_kernels_holds_nothing() -> None:
    x = ted.placeholder((0, 3), "float32", name="x")
    timeline = ted.compile([x], x * 2.0).memory()
    assert timeline.peak_bytes == 0
    assert timeline.steps == ()
    assert [(one.tensor, one.nbytes) for one in timeline.buffers] == [("x", 0), ("mul", 0)]


def test_programs_for_other_targets_are_refused() -> None:
    function = ted.function(lambda x: x * 2.0, target="cuda:sm_80")
    with pytest.raises(
        CompileError, match="memory: it is known of programs of fixed sizes for CPUs"
    ):
        function.memory(array(4))
