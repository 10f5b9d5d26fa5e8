"""Sums over triangles: dense strips beside the diagonal, and not a point outside of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.testing import check_grads

N, COLUMNS = 200, 150  # 6 million products: 2 strips
RNG = np.random.default_rng(1)
A = RNG.normal(size=(N, N)).astype(np.float32)
B = RNG.normal(size=(N, COLUMNS)).astype(np.float32)
Condition = Callable[[Any, Any], Any]
CONDITIONS: dict[str, Condition] = {
    "below": lambda i, r: r <= i,
    "strictly below": lambda i, r: r < i,
    "above": lambda i, r: i <= r,
    "a shifted one": lambda i, r: r < i + 30,
    "a band": lambda i, r: (r <= i) & (i < r + 60),
    "across": lambda i, r: i + r < 250,
    "steep": lambda i, r: r <= 2 * i - 100,
}


def product(condition: Condition, n: int = N) -> Callable[[Any, Any], Any]:
    def multiplied(a: Any, b: Any) -> Any:
        r = ted.reduce_axis(n, name="r")
        return ted.compute(
            (n, b.shape[1]),
            lambda i, j: ted.sum(a[i, r] * b[r, j], axis=r, where=condition(i, r)),
            name="product",
        )

    return multiplied


def masked(condition: Condition, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    i, r = np.ogrid[: a.shape[0], : a.shape[1]]
    return np.where(condition(i, r), a, 0).astype(np.float64) @ b


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", CONDITIONS)
def test_strips_and_the_diagonal_are_the_sum(name: str) -> None:
    condition = CONDITIONS[name]
    function = ted.function(product(condition))
    np.testing.assert_allclose(function(A, B), masked(condition, A, B), rtol=0, atol=1e-4)
    text = function.compiled(A, B).explain()
    assert text.count("register_tiles, ") >= 1
    assert "contraction, boxes = 1\n" not in text


@pytest.mark.parametrize("name", ["below", "above", "a band"])
def test_what_the_condition_leaves_out_is_not_multiplied(name: str) -> None:
    # No element of these rows of b meets a condition at the first rows, or the last ones.
    condition, b = CONDITIONS[name], B.copy()
    b[[0, N - 1]] = np.inf
    i, r = np.ogrid[:N, :N]
    meets = condition(i, r)[:, [0, N - 1]].any(axis=1)
    found = ted.function(product(condition))(A, b)
    assert operator.eq(np.isfinite(found).all(axis=1), ~meets).all()


def test_gradients_of_a_triangle() -> None:
    small = 24
    function = product(CONDITIONS["below"], small)
    a, b = RNG.normal(size=(small, small)), RNG.normal(size=(small, 3))
    check_grads(function, [a, b], order=2)
    head = RNG.normal(size=(N, COLUMNS)).astype(np.float32)
    below = product(CONDITIONS["below"])
    da, db = ted.function(lambda h, a, b: ted.vjp(below, a, b)[1](h))(head, A, B)
    np.testing.assert_allclose(da, np.tril(head.astype(np.float64) @ B.T), rtol=0, atol=1e-4)
    np.testing.assert_allclose(db, np.tril(A).T.astype(np.float64) @ head, rtol=0, atol=1e-4)
