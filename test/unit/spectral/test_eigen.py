"""`eigh` and `eigvalsh` against numpy, their gradients against torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import FrontendError
from unit.frontend.tracing import compiled, run
from unit.spectral.orders import check_orders

RANDOM = np.random.default_rng(5)
EPS = 2.0**-52


def symmetric(n: int) -> Any:
    a = RANDOM.standard_normal((n, n))
    return a + a.T


def with_values(*values: float) -> Any:
    q, _ = np.linalg.qr(RANDOM.standard_normal((len(values), len(values))))
    a = q * np.array(values) @ q.T
    return (a + a.T) / 2


def matrices(n: int) -> dict[str, Any]:
    """Symmetric matrices of one size that are hard for one reason or another."""
    k = np.arange(n)
    grades = 10.0 ** (-4.0 * k)
    return {
        "random": symmetric(n), "zero": np.zeros((n, n)), "identity": np.eye(n),
        "diagonal": np.diag(k[::-1] - 1.0), "ones": np.ones((n, n)),
        "reversed": np.eye(n)[::-1],
        "repeated": with_values(*([2.0] * (n // 2 + 1) + [-1.0] * n)[:n]),
        "rank 1": np.outer(k - 1.0, k - 1.0), "graded": np.sqrt(np.outer(grades, grades))
        * (0.5 * np.eye(n) + 0.5), "chain": np.eye(n, k=1) + np.eye(n, k=-1),
        "great": symmetric(n) * 1e307, "small": symmetric(n) * 1e-310,
        "equal pairs": np.kron(np.eye(n), symmetric(2))[:n, :n],
    }  # fmt: skip


def check(a: Any, w: Any, v: Any, eps: float) -> None:
    """v are orthonormal eigenvectors for rising w, which are those of numpy."""
    n, size = a.shape[-1], np.abs(a).max()
    size = size if size > 0 else 1.0
    a, w = a / size, w.astype(float) / size
    tolerance = 8 * n * eps
    assert (np.diff(w) >= 0).all()
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=tolerance)
    np.testing.assert_allclose(a @ v, v * w, atol=tolerance)
    np.testing.assert_allclose(v.T @ v, np.eye(n), atol=tolerance)


@pytest.mark.slow
def test_vectors_and_values_of_special_matrices() -> None:
    cases = matrices(5)
    batch = np.stack([*cases.values(), np.full((5, 5), np.nan), np.diag([1, 2, np.inf, 3, 4])])
    w, v = compiled(ted.linalg.eigh, batch)
    for a, mine, vectors in zip(batch, w[:-2], v[:-2], strict=False):
        check(a, mine, vectors, EPS)
    for found in (w, v):
        assert np.isnan(found[-2:]).all(), "what is not finite has no values"
    np.testing.assert_array_equal(w[3], np.arange(5) - 1.0)


@pytest.mark.slow
def test_either_triangle_is_read_alone() -> None:
    a, other = symmetric(2), np.array([[0.0, 7.0], [0.0, 0.0]])

    def function(low: Any, up: Any) -> list[Any]:
        values = [*ted.linalg.eigh(low), ted.linalg.eigvalsh(up, UPLO="U")]
        return [*values, *ted.linalg.eigh(low[:1, :1]), ted.linalg.eigvalsh(low[:0, :0])]

    w, v, upper, one, unit, nothing = run(function, np.tril(a) + other, np.triu(a) + other.T)
    check(a, w, v, EPS)
    np.testing.assert_allclose(upper, w, rtol=1e-14)
    assert (one, abs(unit), nothing.shape) == (a[0, 0], 1, (0,))


def test_gradients_of_two_orders_are_those_of_torch() -> None:
    weights = RANDOM.standard_normal((3, 3))

    def loss(xp: Any, w: Any, v: Any, weights: Any) -> Any:
        function = (v * xp.exp(w / 4)) @ v.T
        return xp.sum((function + v * v) * weights) + xp.sum(w**3)

    def other(a: Any) -> Any:
        full = torch.tril(a) + torch.tril(a, -1).T
        return loss(torch, *torch.linalg.eigh(full), torch.tensor(weights))

    a = RANDOM.standard_normal((3, 3))
    check_orders(lambda a: loss(ted, *ted.linalg.eigh(a), weights), other, a)


def rebuilt(a: Any, weights: Any) -> Any:
    w, v = ted.linalg.eigh(a)
    return ted.sum((v * w) @ v.T * weights)


def greatest(a: Any, weights: Any) -> Any:
    w, v = ted.linalg.eigh(a)
    return ted.sum(w[2] * v[:, 2:] @ v[:, 2:].T * weights)


def cubes(a: Any, weights: Any) -> Any:
    return ted.sum(ted.linalg.eigh(a)[0] ** 3) * weights[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("values", [(-1, -1, 2), (0, 0, 2)])
def test_equal_eigenvalues_have_the_slopes_that_no_choice_of_vectors_changes(
    values: tuple[int, ...],
) -> None:
    a, weights = with_values(*values), symmetric(3)
    twice, far = values[0], values[2]
    p, rest = (a - twice * np.eye(3)) / (far - twice), (far * np.eye(3) - a) / (far - twice)
    part = far / (far - twice) * (p @ weights @ rest + rest @ weights @ p)
    expected = {cubes: 3 * weights[0, 0] * a @ a, greatest: p @ weights @ p + part}
    for f, full in expected.items():
        slope = compiled(ted.grad(f), a, weights)
        np.testing.assert_allclose(slope, np.tril(2 * full) - np.diag(np.diag(full)), atol=1e-12)
        tangent = compiled(
            lambda a, x, w, f=f: ted.jvp(lambda a: f(a, w), (a,), (x,))[1], a, a, weights
        )
        np.testing.assert_allclose(tangent, np.sum(np.tril(slope) * a), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("a", [np.eye(3), np.zeros((3, 3)), with_values(1, 1, 2)], ids=str)
def test_a_slope_that_vectors_of_equal_values_do_not_tell_is_none(a: Any) -> None:
    """A finite one would be the diagonal of the right one, in the basis of the vectors."""
    for weights in (symmetric(3), np.ones((3, 3))):
        assert np.isnan(compiled(ted.grad(rebuilt), a, weights)[2]).all()

        def tangent(a: Any, x: Any, weights: Any) -> Any:
            return ted.jvp(lambda a: rebuilt(a, weights), (a,), (x,))[1]

        assert np.isnan(compiled(tangent, a, symmetric(3), weights))


def test_a_slope_of_vectors_at_equal_values_is_none() -> None:
    slope = compiled(ted.grad(lambda a: ted.sum(ted.linalg.eigh(a)[1] ** 3)), np.eye(2))
    assert np.isnan(slope[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 8, 33])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_vectors_and_values_in_every_size_and_type(n: int, dtype: str) -> None:
    cases = {k: a for k, a in matrices(n).items() if k not in ("great", "small")}
    batch = np.stack([a / max(np.abs(a).max(), 1) for a in cases.values()])
    x = ted.placeholder(batch.shape, dtype, name="x")
    w, v = ted.compile([x], [*ted.linalg.eigh(x)])(batch.astype(x.dtype))
    assert w.dtype == v.dtype == np.dtype(x.dtype)
    eps = {"float64": EPS, "float32": 2.0**-23, "bfloat16": 2.0**-6}[dtype]
    for a, mine, vectors in zip(batch, w, v, strict=True):
        check(a, mine, vectors.astype(float), eps)


X = ted.placeholder((2, 3), "float64", name="x")
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "not square": (lambda: ted.linalg.eigh(X), "eigh: a must be square in its last two dims, got"),
    "integers": (lambda: ted.linalg.eigvalsh(np.eye(2, dtype=int)), "eigvalsh: takes floats, got"),
    "a triangle": (lambda: ted.linalg.eigh(np.eye(2), UPLO="l"), "eigh: UPLO: must be 'L' or 'U'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)):
        made()
