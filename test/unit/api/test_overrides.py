"""Derivatives of the user's in batches, and dims in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted.api.overrides import leading, move_axis
from ted.testing.tracing import interpreted
from ted.transforms.batching import Batched

A = ted.placeholder((2, 3), "float64", name="a")


B = ted.placeholder((3, 4), "float64", name="b")


V = ted.placeholder((3,), "float64", name="v")


NUMBERS = {
    A: np.arange(6.0).reshape(2, 3), B: np.arange(12.0).reshape(3, 4) - 5, V: np.array([2.0, 3, 5]),
}  # fmt: skip


def run(result: Any) -> np.ndarray[Any, Any]:
    return interpreted(list(NUMBERS), [result])(*NUMBERS.values())[0]


def test_a_batch_of_a_function_with_a_derivative_of_its_own_keeps_it() -> None:
    @ted.custom_vjp
    def twice(x: Any, w: Any) -> Any:
        return x * w

    twice.defvjp(lambda inputs, outputs, heads: (7.0 * as_one(heads), 11.0 * as_one(heads)))
    y = ted.vmap(twice, (0, None))(A, V)
    da, dv = ted.differentiate(ted.sum(y), [A, V])
    np.testing.assert_array_equal(run(da), np.full((2, 3), 7.0))
    np.testing.assert_array_equal(run(dv), np.full(3, 22.0))


def as_one(heads: Any) -> Any:
    """The head of the only result, alone or in a tuple."""
    return heads[0] if isinstance(heads, tuple) else heads


def test_dims_are_moved_to_their_place() -> None:
    x = ted.placeholder((2, 3, 4), "float64", name="x")
    assert move_axis(x, 1, 1) is x
    assert move_axis(x, 0, 2).shape == (3, 4, 2)
    assert move_axis(x, 2, 0).shape == (4, 2, 3)
    assert leading(Batched(x.node, 2), 4).shape == (4, 2, 3)
    assert leading(Batched(x.node, None), 5).shape == (5, 2, 3, 4)
