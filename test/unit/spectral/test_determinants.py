"""Derivatives of determinants are those of the polynomial, whatever the rank of the matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from unit.frontend.tracing import compiled

RNG = np.random.default_rng(11)


def exact(a: Any) -> Fraction:
    """The determinant in fractions, by elimination with the first pivot that is not 0."""
    rows = [[Fraction(x) for x in row] for row in np.asarray(a).tolist()]
    found, n = Fraction(1), len(rows)
    for k in range(n):
        chosen = next((j for j in range(k, n) if rows[j][k]), None)
        if chosen is None:
            return Fraction(0)
        if chosen != k:
            rows[k], rows[chosen], found = rows[chosen], rows[k], -found
        found *= rows[k][k]
        for j in range(k + 1, n):
            by = rows[j][k] / rows[k][k]
            rows[j] = [x - by * y for x, y in zip(rows[j], rows[k], strict=True)]
    return found


def mixed(a: Any, along: list[Any]) -> Fraction:
    """The derivative along all of the directions, from values at whole numbers.

    It is the slope at 0 of the polynomial that goes through as many as its degree asks for.
    """
    if not along:
        return exact(a)
    first, *others = along
    values = [mixed(a + t * first, others) for t in range(len(a) + 1)]
    slopes = (value * _slope_at_0(k, len(a)) for k, value in enumerate(values))
    return sum(slopes, start=Fraction(0))


def _slope_at_0(k: int, n: int) -> Fraction:
    others = [j for j in range(n + 1) if j != k]
    total = Fraction(0)
    for left in others:
        term = Fraction(1)
        for j in others:
            term *= Fraction(-j if j != left else 1, k - j)
        total += term
    return total


def of_rank(n: int, rank: int) -> Any:
    found = RNG.integers(-3, 4, (n, rank)) @ RNG.integers(-3, 4, (rank, n))
    return found.astype(float)


def shift(n: int) -> Any:
    return np.eye(n, k=1)


def derivatives(a: Any, *along: Any) -> Any:
    """The derivatives of every order along as many directions, the last as one gradient more."""

    def value(a: Any, k: int) -> Any:
        if not k:
            return ted.linalg.det(a)
        return ted.sum(ted.grad(lambda a: value(a, k - 1))(a) * along[k - 1])

    return ted.stack([value(a, k) for k in range(1, len(along) + 1)])


def check(a: Any, orders: int) -> None:
    along = [RNG.integers(-2, 3, a.shape).astype(float) for _ in range(orders)]
    found = compiled(derivatives, a, *along)
    size = np.abs(a).max() + 2
    expected = [float(mixed(a, along[: k + 1])) for k in range(orders)]
    far = 1e-13 * (size * len(a)) ** len(a)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=min(far, 1e-6))


CASES = [
    *((f"{n} rows of rank {rank}", of_rank(n, rank)) for n in range(1, 6) for rank in range(n + 1)),
    ("shift of 2", shift(2)), ("shift of 3", shift(3)), ("shift of 4", shift(4)),
    ("two shifts", np.kron(np.eye(2), shift(3))), ("identity", np.eye(4)),
    ("ones", np.ones((4, 4))),
]  # fmt: skip
FAST = ["1 rows of rank 0", "2 rows of rank 0", "3 rows of rank 2"]


@swept(("name", "a"), CASES, [c for c in CASES if c[0] in FAST])
def test_derivatives_of_two_orders_are_exact(name: str, a: Any) -> None:
    del name
    check(a, 2)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_derivatives_of_three_orders_are_exact(rank: int) -> None:
    check(of_rank(4, rank), 3)


def test_second_slopes_of_a_matrix_of_rank_2() -> None:
    a = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    along = np.array([[0.1, -0.2, 0.3], [0.5, 0.7, -0.4], [0.2, 0.9, -0.6]])
    (found,) = compiled(lambda a, v: ted.hvp(ted.linalg.det, (a,), (v,)), a, along)
    expected = [[float(mixed(a, [along, unit])) for unit in row] for row in _units(3)]
    np.testing.assert_allclose(found, expected, atol=1e-13)


def _units(n: int) -> Any:
    return np.eye(n * n).reshape(n, n, n, n)


def test_examples_of_a_batch_may_be_of_any_rank() -> None:
    batch = np.stack([of_rank(4, 4), of_rank(4, 3), np.zeros((4, 4)), shift(4)])
    found = compiled(ted.grad(lambda a: ted.sum(ted.linalg.det(a))), batch)
    for mine, a in zip(found, batch, strict=True):
        expected = [[float(mixed(a, [unit])) for unit in row] for row in _units(4)]
        np.testing.assert_allclose(mine, expected, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_large_matrices_without_an_inverse(dtype: str) -> None:
    """The slope of a shift is that of the only product that is left; of more lost rows it is 0."""
    cases = [shift(12), np.zeros((20, 20)), of_rank(20, 3) / 9]
    for a in cases:
        found = compiled(ted.grad(ted.linalg.det), a.astype(dtype))
        expected = np.zeros_like(a)
        expected[-1, 0] = (-1.0) ** 11 if a.shape == (12, 12) else 0
        np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == "float32" else 1e-12)
    assert np.isnan(compiled(ted.grad(ted.linalg.det), shift(20).astype(dtype))).all()


@pytest.mark.slow
def test_forward_mode_is_that_of_the_polynomial() -> None:
    a, along = of_rank(4, 2), RNG.integers(-2, 3, (4, 4)).astype(float)

    def second(a: Any, v: Any) -> Any:
        first = lambda a: ted.jvp(ted.linalg.det, (a,), (v,))[1]  # noqa: E731
        return ted.jvp(first, (a,), (v,))[1]

    expected = float(mixed(a, [along, along]))
    np.testing.assert_allclose(compiled(second, a, along), expected, rtol=1e-11, atol=1e-11)


def test_what_is_not_finite_has_no_slope() -> None:
    a = np.diag([1.0, 2.0, np.nan, 0.0])
    assert np.isnan(compiled(ted.grad(ted.linalg.det), a)).any()


@pytest.mark.slow
def test_large_batches_compile() -> None:
    """Buffers of a branch that is not taken are freed by one of two names."""
    batch = np.stack([of_rank(4, 4), of_rank(4, 2)] * 2500)
    found = compiled(ted.grad(lambda a: ted.sum(ted.linalg.det(a))), batch)
    np.testing.assert_allclose(found[:2], found[-2:], rtol=1e-15)


@pytest.mark.slow
def test_second_derivatives_of_large_matrices_are_right_or_none() -> None:
    along = RNG.standard_normal((70, 70))
    second = ted.grad(lambda a: ted.sum(ted.grad(ted.linalg.det)(a) * along))
    a = np.eye(70) + RNG.standard_normal((70, 70)) / 70
    inverse, det = np.linalg.inv(a).T, np.linalg.det(a)
    expected = det * (np.sum(inverse * along) * inverse - inverse @ along.T @ inverse)
    np.testing.assert_allclose(compiled(second, a), expected, rtol=1e-9, atol=1e-9)
    assert np.isnan(compiled(second, np.diag([0.0, *np.ones(69)]))).all()
    first = compiled(ted.grad(ted.linalg.det), np.diag([0.0, *np.ones(69)]))
    np.testing.assert_allclose(first, np.diag([1.0, *np.zeros(69)]), atol=1e-13)
