"""Singular values and what is made of them against numpy, their gradients against torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import FrontendError
from unit.frontend.tracing import compiled
from unit.spectral.orders import check_orders

RANDOM = np.random.default_rng(7)
EPS = 2.0**-52


def matrices(m: int, n: int) -> dict[str, Any]:
    """Matrices of one shape that are hard for one reason or another."""
    random, rows, columns = RANDOM.standard_normal((m, n)), np.arange(m), np.arange(n)
    return {
        "random": random, "zero": np.zeros((m, n)), "identity": np.eye(m, n),
        "ones": np.ones((m, n)), "rank 1": np.outer(rows - 1.0, columns - 1.0),
        "graded": random * 10.0 ** (-4.0 * (rows[:, None] if m < n else columns)),
        "steep": random * 10.0 ** (-160.0 * np.minimum(rows[:, None] if m < n else columns, 2)),
        "shifted": np.eye(m, n, k=1), "one element": np.eye(m, n) * (rows[:, None] == 0),
        "great": random * 1e306, "small": random * 1e-306,
    }  # fmt: skip


def check(a: Any, u: Any, s: Any, vh: Any, eps: float) -> None:
    """The factors are orthogonal and make the matrix again, the values are those of numpy."""
    (m, n), size = a.shape, np.abs(a).max()
    size = size if size > 0 else 1.0
    a, s = a / size, s.astype(float) / size
    k, far = min(m, n), 8 * max(m, n) * eps
    assert (np.diff(s) <= 0).all()
    np.testing.assert_allclose(s, np.linalg.svdvals(a), atol=far)
    np.testing.assert_allclose(u[:, :k] * s @ vh[:k], a, atol=far)
    np.testing.assert_allclose(u.T @ u, np.eye(u.shape[1]), atol=far)
    np.testing.assert_allclose(vh @ vh.T, np.eye(len(vh)), atol=far)


@pytest.mark.parametrize("shape", [(3, 0), (0, 2)])
def test_without_elements_the_bases_are_those_of_units(shape: tuple[int, int]) -> None:
    u, s, vh = compiled(ted.linalg.svd, np.zeros(shape))
    np.testing.assert_array_equal(u, np.eye(shape[0]))
    np.testing.assert_array_equal(vh, np.eye(shape[1]))
    assert s.shape == (0,)


@pytest.mark.slow
def test_factors_of_special_matrices() -> None:
    cases = matrices(3, 5)
    batch = np.stack([*cases.values(), np.full((3, 5), np.nan), np.full((3, 5), -np.inf)])
    u, s, vh = compiled(ted.linalg.svd, batch)
    assert (u.shape[1:], vh.shape[1:]) == ((3, 3), (5, 5)), "full unless said"
    for k, a in enumerate(cases.values()):
        check(a, u[k], s[k], vh[k], EPS)
    for found in (u, s, vh):
        assert np.isnan(found[-2:]).all(), "what is not finite has no values"
    graded = list(cases).index("graded")
    np.testing.assert_allclose(s[graded], np.linalg.svdvals(cases["graded"]), rtol=1e-8)


@pytest.mark.slow
def test_gradients_of_factors_are_those_of_torch() -> None:
    weights = RANDOM.standard_normal((3, 2))

    def loss(xp: Any, factors: Any, weights: Any) -> Any:
        u, s, vh = factors
        function = (u * xp.exp(s / 4)) @ vh
        return xp.sum((function + u * u) * weights) + xp.sum(s**3 + vh[0] ** 2 * weights[0])

    check_orders(
        lambda a: loss(ted, ted.linalg.svd(a, full_matrices=False), weights),
        lambda a: loss(torch, torch.linalg.svd(a, full_matrices=False), torch.tensor(weights)),
        RANDOM.standard_normal((3, 2)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "values"), [((2, 2), (0, 0)), ((2, 2), (1, 1)), ((3, 2), (1, 0)), ((2, 3), (1, 0))]
)  # fmt: skip
def test_a_slope_that_vectors_of_equal_values_do_not_tell_is_none(
    shape: tuple[int, int], values: tuple[int, int]
) -> None:
    a = np.zeros(shape)
    np.fill_diagonal(a, values)
    weights, x = RANDOM.standard_normal(shape), RANDOM.standard_normal(shape)

    def rebuilt(a: Any) -> Any:
        u, s, vh = ted.linalg.svd(a, full_matrices=False)
        return ted.sum((u * s) @ vh * weights)

    assert np.isnan(compiled(ted.grad(rebuilt), a)).any()
    assert np.isnan(compiled(lambda a: ted.jvp(rebuilt, (a,), (x,))[1], a))
    squares = ted.grad(lambda a: ted.sum(ted.linalg.svd(a, False)[1] ** 2))
    np.testing.assert_allclose(compiled(squares, a), 2 * a, atol=1e-13)


@pytest.mark.slow
def test_gradients_of_a_pseudo_inverse_are_those_of_torch() -> None:
    low = RANDOM.standard_normal((3, 1)) * np.array([1.0, 2.0])
    a = np.stack([low, np.eye(3, 2), RANDOM.standard_normal((3, 2))])
    weights = RANDOM.standard_normal((3, 2, 3))
    check_orders(
        lambda a: ted.sum(ted.linalg.pinv(a, rcond=1e-14) ** 2 * weights),
        lambda a: torch.sum(torch.linalg.pinv(a, rtol=1e-14) ** 2 * torch.tensor(weights)),
        a,
    )


@pytest.mark.slow
def test_ranks_inverses_and_condition_numbers_are_those_of_numpy() -> None:
    batch = np.stack([RANDOM.standard_normal((2, 2)), np.ones((2, 2)), np.zeros((2, 2))])

    def function(a: Any) -> list[Any]:
        return [ted.linalg.matrix_rank(a), ted.linalg.cond(a), ted.linalg.pinv(a)]

    with np.errstate(all="ignore"):
        expected = [np.linalg.matrix_rank(batch), np.linalg.cond(batch), np.linalg.pinv(batch)]
    for mine, other in zip(compiled(function, batch), expected, strict=True):
        assert mine.shape == other.shape
        usual = np.where(other > 1e15, math.inf, other)
        np.testing.assert_allclose(mine, usual, rtol=1e-13, atol=1e-14)


@pytest.mark.slow
def test_every_matrix_may_have_a_tolerance_of_its_own() -> None:
    batch, least = RANDOM.standard_normal((2, 2, 2)), np.array([0.9, 1e-3])

    def function(a: Any, t: Any) -> list[Any]:
        la = ted.linalg if isinstance(a, ted.Tensor) else np.linalg
        return [la.pinv(a, rtol=t), la.matrix_rank(a, rtol=t), la.matrix_rank(a, tol=t)]

    found = compiled(function, batch, least)
    for mine, other in zip(found, function(batch, least), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (33, 8), (8, 33), (20, 20)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_factors_in_every_shape_and_type(shape: tuple[int, int], dtype: str) -> None:
    cases = {k: a for k, a in matrices(*shape).items() if k not in ("great", "small")}
    batch = np.stack([a / max(np.abs(a).max(), 1) for a in cases.values()])
    x = ted.placeholder(batch.shape, dtype, name="x")
    u, s, vh = ted.compile([x], [*ted.linalg.svd(x, False)])(batch.astype(dtype))
    assert u.dtype == s.dtype == vh.dtype == dtype
    eps = {"float64": EPS, "float32": 2.0**-23, "float16": 2.0**-9}[dtype]
    for k, a in enumerate(batch):
        check(a, u[k].astype(float), s[k], vh[k].astype(float), eps)


@pytest.mark.slow
def test_all_condition_numbers_and_norms_are_those_of_numpy() -> None:
    a = RANDOM.standard_normal((2, 3, 3))
    x = ted.placeholder(a.shape, "float64", name="x")
    orders = (None, -2, "fro", 1, -1, math.inf, -math.inf)
    found = [ted.linalg.cond(x, p) for p in orders]
    found += [ted.linalg.norm(x, p, axis=(1, 2)) for p in (2, -2)]
    found += [ted.linalg.matrix_norm(x, keepdims=True, ord="nuc")]
    found += [ted.linalg.matrix_rank(x, tol=1.0), ted.linalg.cond(x * 0 + 1, 1)]
    expected = [np.linalg.cond(a, p) for p in orders]
    expected += [np.linalg.norm(a, p, axis=(1, 2)) for p in (2, -2)]
    expected += [np.linalg.matrix_norm(a, keepdims=True, ord="nuc")]
    expected += [np.linalg.matrix_rank(a, tol=1.0), np.full(2, math.inf)]
    for mine, other in zip(ted.compile([x], found)(a), expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.slow
def test_a_matrix_that_is_not_finite_has_no_rank() -> None:
    a = np.array([[[np.nan, 1.0]], [[1.0, np.inf]], [[0.0, 2.0]], [[0.0, 0.0]]])
    assert ted.function(ted.linalg.matrix_rank)(a).tolist() == [-1, -1, 1, 0]


def test_a_condition_number_that_is_infinite_has_no_slope() -> None:
    batch = np.stack([np.zeros((2, 2)), np.ones((2, 2)) * [1, 0], np.diag([2.0, 1.0])])
    value, slope = compiled(
        lambda a: [ted.linalg.cond(a), ted.grad(lambda a: ted.sum(ted.linalg.cond(a)))(a)], batch
    )
    np.testing.assert_allclose(value, [math.inf, math.inf, 2.0])
    assert not np.isfinite(slope[:2]).all(axis=(1, 2)).any()
    np.testing.assert_allclose(slope[2], np.diag([1.0, -2.0]), atol=1e-13)


X = ted.placeholder((2, 3), "float64", name="x")
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a vector": (lambda: ted.linalg.svd(X[0]), "svd: takes at least 2 dims, got shape (3,)"),
    "integers": (lambda: ted.linalg.svdvals(np.eye(2, dtype=int)), "svdvals: takes floats, got"),
    "a flag": (lambda: ted.linalg.svd(X, full_matrices=1), "svd: full_matrices: must be True or"),
    "a tolerance": (lambda: ted.linalg.pinv(X, rtol="x"), "pinv: rtol: must be a number, got"),
    "tolerances": (lambda: ted.linalg.pinv(X, rtol=X), "pinv: rtol"),
    "two": (lambda: ted.linalg.matrix_rank(X, 1, 1), "matrix_rank: tol or rtol may be given, got"),
    "not square": (lambda: ted.linalg.cond(X, 1), "cond: a must be square in its last two dims"),
    "sizes": (lambda: ted.linalg.svd(ted.placeholder((ted.size("n"), 2))), "svd: extent: must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)):
        made()
