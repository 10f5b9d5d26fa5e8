"""Steps that read a block of a tensor, `w[B * t + j]`, read a slice of it, as outside of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code

RNG = np.random.default_rng(5)
STEPS, BLOCK, DEPTH = 6, 4, 3


def last(t: Any) -> Any:
    """What of a step depends on the one before: a factor."""
    return ted.where(t < 1e30, t, 0.5)


def over(step: Callable[[Any, Any], Any], xs: Any) -> Any:
    """The last factor, each by the step's value, of the one before and of a block of rows."""
    return ted.scan(lambda c, x: (last(ted.sum(step(c, x)) / 8), None), xs[0, 0, 0] * 0 + 1, xs)[0]


def products_of_columns(x: Any) -> Any:
    columns = ted.permute_dims(ted.reshape(x, (STEPS, STEPS, BLOCK)), (1, 0, 2))
    return over(lambda c, block: (ted.transpose(block[:DEPTH]) * c) @ block[:DEPTH], columns)


def blocks_of_the_diagonal(x: Any) -> Any:
    def step(h: Any, t: Any, i: Any) -> Any:
        j = ted.reduce_axis(BLOCK, name="j")
        before = ted.where(t > 0, h[t - 1, i], 1.0)
        return ted.where(t >= 0, ted.sum(x[t, BLOCK * t + (j + i) % BLOCK], j) / 4 * before, 0)

    return ted.recurrence((STEPS, BLOCK), step, "float64")


def with_neighbours(x: Any) -> Any:
    """The first block has no left neighbour: the hull of what is read is not inside."""

    def step(h: Any, t: Any, i: Any) -> Any:
        at = BLOCK * t + i
        left = ted.where(i > 0, x[1, at - 1], 0.0)
        return x[0, at] + left * ted.where(t > 0, h[t - 1, (i + 1) % BLOCK], 1.0)

    return ted.recurrence((STEPS, BLOCK), step, "float64")


def strided_backwards(x: Any) -> Any:
    def step(h: Any, t: Any, i: Any) -> Any:
        return x[0, 3 * (STEPS - 1 - t) + 2 * i] * ted.where(t > 0, h[t - 1, i], 1.0)

    return ted.recurrence((STEPS, BLOCK), step, "float64")


def of_its_own_history(x: Any) -> Any:
    def step(h: Any, t: Any) -> Any:
        j = ted.reduce_axis(3, name="j")
        earlier = ted.sum(h[t - 1 - j] * x[0, j], j) / 4
        return ted.where(t >= 3, earlier, x[1, t])

    return ted.recurrence((BLOCK * STEPS,), step, "float64")


def of_a_triangle(x: Any) -> Any:
    """What the last step would read with less of a condition ends behind the tensor."""

    def step(h: Any, t: Any, i: Any) -> Any:
        j = ted.reduce_axis(BLOCK, name="j")
        read = ted.where(i + j < BLOCK, x[1, BLOCK * t + i + j], 0.0)
        return ted.sum(read * ted.where(t > 0, h[t - 1, j], 1.0), j) / 4

    return ted.recurrence((STEPS, BLOCK), step, "float64")


CASES = [
    products_of_columns, blocks_of_the_diagonal, with_neighbours, strided_backwards,
    of_its_own_history, of_a_triangle,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_the_interpreter(function: Any) -> None:
    x = ted.placeholder((STEPS, STEPS * BLOCK), "float64", name="x")
    result = function(x)
    head = ted.placeholder(result.shape, "float64", name="head")
    inputs, outputs = [x, head], [result, *ted.differentiate(result, [x], head)]
    check_machine_code(inputs, outputs, [RNG.normal(size=i.shape) / 4 + 1 for i in inputs])


def test_no_slice_is_outside_of_its_tensor() -> None:
    text = ted.function(of_a_triangle).compiled(np.ones((STEPS, STEPS * BLOCK))).ir("linalg")
    assert f"x{2 * BLOCK - 1}xf64>" not in text


def test_a_product_with_a_block_of_columns_is_a_contraction_in_every_step() -> None:
    def f(x: Any, w: Any) -> Any:
        blocks = ted.permute_dims(ted.reshape(w, (32, STEPS, 48)), (1, 0, 2))
        step = lambda c, block: (last(ted.max((x * c) @ block)), None)  # noqa: E731
        return ted.scan(step, ted.ones((), dtype="float32"), blocks)[0]

    arrays = [np.ones((64, 32), np.float32), np.ones((32, STEPS * 48), np.float32)]
    compiled = ted.function(f).compiled(*arrays)
    assert "strided<[288, 1], offset: ?>" in compiled.ir("buffers")  # a view of a block
    strategies = [line for line in compiled.explain().splitlines() if ": register_tiles" in line]
    assert len(strategies) == 1
