"""Gradients of stencils, compiled: sums of shifted pieces, of any size, type and dimension.

A stencil is linear: its gradient is the transposed one, which numpy adds up piece by piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.testing import check_grads

Array = np.ndarray[Any, Any]
Stencil = dict[tuple[int, ...], float]

LINE: Stencil = {(0,): -1.0, (1,): 1.0}
CROSS: Stencil = {(1, 1): -4.0, (0, 1): 0.5, (2, 1): 1.0, (1, 0): 2.0, (1, 2): -1.5}
SQUARE: Stencil = {(i, j): 1.0 + i - 0.5 * j for i in range(3) for j in range(3)}
STAR: Stencil = {(2, 2): 3.0, (0, 2): 1.0, (4, 2): -1.0, (2, 0): 0.5, (2, 4): 2.0, (1, 2): 0.25}
CUBE: Stencil = {
    (1, 1, 1): -6.0, (0, 1, 1): 1.0, (2, 1, 1): 1.5, (1, 0, 1): -1.0, (1, 2, 1): 0.5,
    (1, 1, 0): 2.0, (1, 1, 2): 1.0,
}  # fmt: skip
SHAPES = [
    (LINE, (2,)), (LINE, (3,)), (LINE, (1001,)), (CROSS, (3, 3)), (CROSS, (3, 9)), (CROSS, (4, 5)),
    (CROSS, (37, 70)), (CROSS, (131, 257)), (SQUARE, (3, 4)), (SQUARE, (6, 6)), (SQUARE, (140, 97)),
    (STAR, (5, 7)), (STAR, (33, 200)), (CUBE, (3, 3, 3)), (CUBE, (5, 9, 4)), (CUBE, (33, 34, 35)),
]  # fmt: skip


def result_shape(stencil: Stencil, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(n - max(at[k] for at in stencil) for k, n in enumerate(shape))


def parts(stencil: Stencil, shape: Sequence[int]) -> list[tuple[tuple[slice, ...], float]]:
    extents = result_shape(stencil, shape)
    return [
        (tuple(slice(a, a + n) for a, n in zip(at, extents, strict=True)), factor)
        for at, factor in stencil.items()
    ]


def applied(stencil: Stencil, x: Any) -> Any:
    total, *terms = [x[where] * factor for where, factor in parts(stencil, x.shape)]
    for term in terms:
        total = total + term
    return total


def transposed(stencil: Stencil, shape: Sequence[int], head: Array) -> Array:
    result = np.zeros(shape, head.dtype)
    for where, factor in parts(stencil, shape):
        result[where] += head * factor
    return result


def check_gradient(stencil: Stencil, shape: tuple[int, ...], dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = ted.placeholder(shape, dtype, name="x")
    head = ted.placeholder(result_shape(stencil, shape), dtype, name="dy")
    (dx,) = ted.differentiate(applied(stencil, x), [x], head=head)
    values = np.random.default_rng(0).normal(size=head.shape).astype(kind)
    (found,) = ted.compile([head], [dx])(values)
    expected = transposed(stencil, shape, values.astype("f8"))
    scale = transposed({at: abs(f) for at, f in stencil.items()}, shape, abs(values.astype("f8")))
    # Each piece is multiplied, rounded and added to the others.
    error = 2 * (len(stencil) + 1) * float(ml_dtypes.finfo(kind).eps)
    assert np.all(np.abs(found.astype("f8") - expected) <= error * scale)


@pytest.mark.fast(1)
@pytest.mark.parametrize(("stencil", "shape"), SHAPES, ids=str)
def test_the_gradient_of_a_stencil_is_the_transposed_one(
    stencil: Stencil, shape: tuple[int, ...]
) -> None:
    check_gradient(stencil, shape, "float64")


@pytest.mark.fast(1)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 4), (131, 70)], ids=str)
def test_gradients_of_stencils_in_other_types(shape: tuple[int, ...], dtype: str) -> None:
    check_gradient(CROSS, shape, dtype)


def smoothness(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
    """Squares of differences along both dims, weighted: pieces that read several tensors."""
    down, right = x[1:] - x[:-1], x[:, 1:] - x[:, :-1]
    return ted.sum(down * down * w[1:]) + ted.sum(ted.sin(right) * w[:, :-1])


@pytest.mark.fast(1)
@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (9, 8), (40, 70)], ids=str)
def test_pieces_that_are_not_linear_at_two_orders(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    args = [random.normal(size=shape), random.normal(size=shape)]
    check_grads(smoothness, args, order=2, evaluate=ted.compile)


def test_what_is_infinite_outside_of_a_piece_stays_out_of_it() -> None:
    x, w = (ted.placeholder((70,), "float64", name=name) for name in "xw")
    y = ted.compute((68,), lambda i: x[i] * w[i + 1] + x[i + 2] * w[i], name="y")
    (dx,) = ted.differentiate(ted.sum(y), [x])
    weights = np.ones(70)
    weights[[0, 68, 69]] = np.inf, np.nan, np.inf
    found = ted.compile([w], [dx])(weights)[0]
    expected = np.zeros(70)
    expected[:68] += weights[1:69]
    expected[2:] += weights[:68]
    np.testing.assert_array_equal(found, expected)


def test_the_gradient_of_a_stencil_beside_what_reads_it() -> None:
    """The joined gradient is a result, is read by another, and goes on as a third."""
    x = ted.placeholder((67, 45), "float64", name="x")
    y = applied(CROSS, x)
    (dx,) = ted.differentiate(ted.sum(y * y), [x])
    moved, again = x - 0.5 * dx, applied(CROSS, dx)
    values = np.random.default_rng(2).normal(size=x.shape)
    given = transposed(CROSS, x.shape, 2.0 * applied(CROSS, values))
    expected = [given, values - 0.5 * given, applied(CROSS, given)]
    for chosen in ([0], [1], [2], [2, 1, 0]):
        results = [(dx, moved, again)[k] for k in chosen]
        for k, got in zip(chosen, ted.compile([x], results)(values), strict=True):
            np.testing.assert_allclose(got, expected[k], rtol=0, atol=1e-12)


def test_the_gradient_for_any_size() -> None:
    n = ted.size("n", min=3)
    x = ted.placeholder((n, n + 1), "float64", name="x")
    (dx,) = ted.differentiate(ted.sum(applied_anywhere(x) ** 2), [x])
    f = ted.compile([x], [dx])
    for size in (3, 4, 40):
        values = np.random.default_rng(3).normal(size=(size, size + 1))
        want = transposed(CROSS, values.shape, 2.0 * applied(CROSS, values))
        np.testing.assert_allclose(f(values)[0], want, rtol=0, atol=1e-12)


def applied_anywhere(x: ted.Tensor) -> ted.Tensor:
    rows, columns = x.shape
    return ted.compute(
        (rows - 2, columns - 2),
        lambda i, j: sum(x[i + a, j + b] * factor for (a, b), factor in CROSS.items()),
    )
