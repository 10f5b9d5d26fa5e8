"""Functions that programs of JAX call by name: values and slopes against torch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.raising import complex_algebra
from ted.raising.algebra import CALLS
from ted.spectral import jacobi
from unit.frontend.complex_runs import interpreted
from unit.frontend.tracing import run

RNG = np.random.default_rng(4)
A, B = RNG.standard_normal((2, 3, 3)), RNG.standard_normal((2, 3, 2))
C = A + 1j * RNG.standard_normal((2, 3, 3))
FLAGS = [(left, lower, turned, unit) for left in (True, False) for lower in (True, False)
         for turned in (True, False) for unit in (True, False)]  # fmt: skip


@pytest.mark.parametrize("a", [A, C], ids=["real", "complex"])
def test_triangles_divide_from_both_sides(a: np.ndarray) -> None:
    """A matrix whose other triangle is not read."""
    given = a + 2 * np.eye(3)
    right = B.astype(a.dtype)

    def program(a: Any, b: Any) -> list[Any]:
        solve = CALLS["triangular_solve"]
        return [solve(a, b if left else b.mT, left, *flags, conjugate_a=flags[1])
                for left, *flags in FLAGS]  # fmt: skip

    found = interpreted(program, given, right)
    for (left, lower, turned, unit), x in zip(FLAGS, found, strict=True):
        half = np.tril(given) if lower else np.triu(given)
        if unit:
            half = half * (1 - np.eye(3)) + np.eye(3)
        half = half.conj() if turned else half
        matrix = half.mT if turned else half
        product = matrix @ x if left else x @ matrix
        np.testing.assert_allclose(product, right if left else right.mT, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 4), (2, 4, 3), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_factors_are_packed_with_the_rows_of_each_step(shape: tuple[int, ...], kind: str) -> None:
    a = RNG.standard_normal(shape)
    if kind == "complex":
        a = a + 1j * RNG.standard_normal(shape)
    packed, places, order = interpreted(CALLS["lu"], a)
    wanted, pivots = torch.linalg.lu_factor(torch.from_numpy(a))
    np.testing.assert_allclose(packed, wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(places, pivots - 1)
    k = min(shape[-2:])
    low = np.tril(packed[..., :k], -1) + np.eye(shape[-2], k)
    rows = np.take_along_axis(a, order[..., None], -2)
    np.testing.assert_allclose(low @ np.triu(packed[..., :k, :]), rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pivots", [(4.0, 3.0, 5.0, 2.0), (0.1, 0.0, 0.2, 0.1)])
def test_systems_of_three_bands(pivots: tuple[float, ...]) -> None:
    """The last ones ask for an exchange of rows in each step."""
    below, above = RNG.standard_normal((2, 4)), RNG.standard_normal((2, 4))
    on, b = np.tile(pivots, (2, 1)), RNG.standard_normal((2, 4, 3))
    found = run(CALLS["tridiagonal_solve"], below, on, above, b)
    for k in range(2):
        whole = np.diag(on[k]) + np.diag(below[k, 1:], -1) + np.diag(above[k, :-1], 1)
        np.testing.assert_allclose(whole @ found[k], b[k], rtol=1e-8, atol=1e-8)


def test_decompositions_give_back_their_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobi, "_SWEEPS", 4)  # the interpreter makes every step
    low, tall = np.tril(A[:1] @ A[:1].mT + 3 * np.eye(3)), B[:1]

    def program(low: Any, tall: Any) -> list[Any]:
        vectors, values = CALLS["eigh"](low, lower=True)
        turned = CALLS["eigh"](low.mT, lower=False)[1]
        s, u, v = CALLS["svd"](tall, full_matrices=False, compute_uv=True)
        wide = CALLS["svd"](tall, full_matrices=True, compute_uv=True)[1]
        alone = CALLS["svd"](tall, full_matrices=False, compute_uv=False)
        return [CALLS["cholesky"](low), vectors, values, turned, s, u, v, wide, alone,
                *CALLS["qr"](tall), *CALLS["qr"](tall, full_matrices=True)]  # fmt: skip

    found = run(program, low, tall)
    factor, vectors, values, turned, s, u, v, wide, alone, q, r, square, rest = found
    whole = low + np.tril(low, -1).mT
    np.testing.assert_allclose(factor, np.linalg.cholesky(whole), atol=1e-9)
    np.testing.assert_allclose((vectors * values[:, None]) @ vectors.mT, whole, atol=1e-8)
    np.testing.assert_allclose(turned, np.linalg.eigvalsh(whole), atol=1e-8)
    np.testing.assert_allclose((u * s[:, None]) @ v, tall, atol=1e-8)
    np.testing.assert_allclose(alone, np.linalg.svd(tall)[1], atol=1e-8)
    assert (wide.shape, q.shape, square.shape) == ((1, 3, 3), (1, 3, 2), (1, 3, 3))
    for one, other in ((q, r), (square, rest)):
        np.testing.assert_allclose(one @ other, tall, atol=1e-8)


def test_products_of_reflections() -> None:
    factors, taus = torch.geqrf(torch.from_numpy(A))
    found = run(CALLS["householder_product"], factors.numpy(), taus.numpy())
    np.testing.assert_allclose(found, torch.linalg.qr(torch.from_numpy(A))[0], atol=1e-10)


INF = np.inf
X = np.array([-2.0, -0.5, 0.0, 0.0, 1.0, 3.0, 7.0, 2.0])
Y = np.array([1.0, -0.5, 0.0, 2.0, -1.0, 3.0, INF, 6.0])
LOW, HIGH = np.array([-1.0] * 5 + [3, 4, 5]), np.array([1.0] * 5 + [5, 7, 1])
# name: arguments, value, slopes; what is equal shares its slope, and a bound that is met has none
ELEMENTS: dict[str, tuple[Any, tuple[Any, ...], Any, tuple[Any, ...]]] = {
    "abs": (CALLS["abs"], (X,), np.abs(X), ([-1, -1, 1, 1, 1, 1, 1, 1],)),
    "max": (
        CALLS["max"], (X, Y), np.maximum(X, Y),
        ([0, 0.5, 0.5, 0, 1, 0.5, 0, 0], [1, 0.5, 0.5, 1, 0, 0.5, 1, 1]),
    ),
    "min": (
        CALLS["min"], (X, Y), np.minimum(X, Y),
        ([1, 0.5, 0.5, 1, 0, 0.5, 1, 1], [0, 0.5, 0.5, 0, 1, 0.5, 0, 0]),
    ),
    "clamp": (
        CALLS["clamp"], (LOW, X, HIGH), np.minimum(np.maximum(LOW, X), HIGH),
        ([1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1]),
    ),
    "integer power": (lambda x: CALLS["integer_power"](x, 3), (X,), X**3, (3 * X**2,)),
    "relu": (CALLS["relu"], (X,), np.maximum(X, 0), ((X > 0),)),
    "relu6": (CALLS["relu6"], (X,), np.clip(X, 0, 6), ((X > 0) & (X < 6),)),
    "reduce_max": (
        lambda x: CALLS["reduce_max"](x, [0]), (np.array([[1.0, 2], [1, 3]]),), [1.0, 3],
        ([[0.5, 0], [0.5, 1]],),
    ),
    "reduce_min": (
        lambda x: CALLS["reduce_min"](x, [1]), (np.array([[1.0, 1], [1, 3]]),), [1.0, 1],
        ([[0.5, 0.5], [1, 0]],),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_values_and_slopes_of_elements(name: str) -> None:
    function, given, value, slopes = ELEMENTS[name]

    def program(*x: Any) -> list[Any]:
        places = tuple(range(len(x)))
        return [function(*x), *ted.grad(lambda *x: ted.sum(function(*x)), places)(*x)]

    found = run(program, *given)
    for one, other in zip(found, (value, *slopes), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_parts_of_gamma(name: str) -> None:
    a, x = np.array([0.5, 2.0, 3.5]), np.array([0.25, 3.0, 1.5])
    wanted = getattr(torch.special, name)(torch.from_numpy(a), torch.from_numpy(x))
    np.testing.assert_allclose(run(CALLS[name], a, x), wanted, rtol=1e-10)


def test_a_factor_that_is_none_in_the_limit() -> None:
    """Of equal infinities the greater one is no NaN."""
    found = run(CALLS["max"], np.array([INF, -INF]), np.array([INF, -INF]))
    np.testing.assert_array_equal(found, [INF, -INF])


# Functions of complex matrices in ted and in torch.
COMPLEX: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "det": (complex_algebra.det, torch.linalg.det),
    "slogdet": (complex_algebra.slogdet, torch.linalg.slogdet),
    "inv": (complex_algebra.inv, torch.linalg.inv),
    "solve": (
        lambda a: complex_algebra.solve(a, a[..., :2]),
        lambda a: torch.linalg.solve(a, a[..., :2]),
    ),
    "a power": (
        lambda a: complex_algebra.by_block(ted.linalg.matrix_power)(a, 3),
        lambda a: torch.linalg.matrix_power(a, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_matrices_have_the_slopes_of_torch(name: str) -> None:
    own, other = COMPLEX[name]

    def total(results: Any) -> Any:
        parts = [p for r in (results if isinstance(results, tuple) else (results,))
                 for p in ((r.real, r.imag) if "complex" in str(r.dtype) else (r,))]  # fmt: skip
        return sum((p * (k + 0.5) + p * p).sum() for k, p in enumerate(parts))

    z = torch.from_numpy(C).requires_grad_()
    value = total(other(z))
    (slope,) = torch.autograd.grad(value, z)
    found = interpreted(lambda z: ted.value_and_grad(lambda z: total(own(z)))(z), C)
    np.testing.assert_allclose(found[0], value.detach(), rtol=1e-9)
    np.testing.assert_allclose(found[1], slope, rtol=1e-8, atol=1e-9)
