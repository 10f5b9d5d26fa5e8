"""`ted.linalg` against numpy, its gradients against torch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import run

RANDOM = np.random.default_rng(3)
A = RANDOM.standard_normal((2, 3, 3))
B = RANDOM.standard_normal((2, 3, 2))
X = ted.placeholder((2, 3), "float64", name="x")


def test_factors_make_the_matrix_again() -> None:
    tall = RANDOM.standard_normal((4, 2))
    rows, low, up, q, r, q2, r2, wide_q, wide_r = run(
        lambda a, t: [*ted.linalg.lu(a), *ted.linalg.qr(a), *ted.linalg.qr(t), *ted.linalg.qr(t.T)],
        A, tall,
    )  # fmt: skip
    np.testing.assert_allclose(np.take_along_axis(A, rows[..., None], -2), low @ up, atol=1e-15)
    assert np.abs(low).max() <= 1, "the pivot is the greatest"
    np.testing.assert_array_equal(low, np.tril(low))
    np.testing.assert_array_equal(up, np.triu(up))
    for left, right, matrix in ((q, r, A), (q2, r2, tall), (wide_q, wide_r, tall.T)):
        np.testing.assert_allclose(left @ right, matrix, atol=1e-15)
        np.testing.assert_array_equal(right, np.triu(right))
        eye = np.eye(left.shape[-1])
        np.testing.assert_allclose(np.swapaxes(left, -1, -2) @ left, eye + 0 * left[..., :1, :1],
                                   atol=1e-14)  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 1)])
def test_factors_of_rectangles_make_them_again(shape: tuple[int, ...]) -> None:
    a = RANDOM.standard_normal(shape)
    rows, low, up = run(lambda a: [*ted.linalg.lu(a)], a)
    np.testing.assert_allclose(low @ up, np.take_along_axis(a, rows[..., None], -2), atol=1e-15)
    np.testing.assert_array_equal(np.sort(rows), np.arange(shape[-2]) + 0 * rows)
    for left, right in ((low, up.mT), (np.tril(low), np.tril(up.mT))):
        np.testing.assert_array_equal(left, low)
        np.testing.assert_array_equal(right, up.mT)
    assert np.abs(low).max() == 1, "the pivot is the greatest"


@pytest.mark.parametrize("shape", [(3, 2), pytest.param((2, 2, 3), marks=pytest.mark.slow)])
def test_gradients_of_factors_of_rectangles_are_those_of_differences(
    shape: tuple[int, ...],
) -> None:
    check_grads(lambda a: ted.linalg.lu(a)[1:], (RANDOM.standard_normal(shape),), order=2)


def test_a_matrix_without_columns_keeps_its_rows_in_order() -> None:
    rows, low, up = run(lambda a: [*ted.linalg.lu(a)], np.ones((2, 3, 0)))
    np.testing.assert_array_equal(rows, [[0, 1, 2]] * 2)
    assert (low.shape, up.shape) == ((2, 3, 0), (2, 0, 0))


def test_a_complete_basis_has_the_columns_of_the_reduced_one_in_front() -> None:
    tall = RANDOM.standard_normal((2, 4, 2))

    def function(a: Any) -> list[Any]:
        return [*ted.linalg.qr(a, "complete"), *ted.linalg.qr(a), ted.linalg.qr(a, mode="r")]

    whole, upper, q, r, alone = run(function, tall)
    np.testing.assert_array_equal(whole[..., :2], q)
    np.testing.assert_allclose(whole.mT @ whole, np.eye(4) + 0 * whole, atol=1e-15)
    np.testing.assert_array_equal(upper, np.concatenate([r, 0 * r], -2))
    np.testing.assert_array_equal(alone, r)
    wide = run(lambda a: [*ted.linalg.qr(a, "complete")], tall.mT)
    assert [part.shape for part in wide] == [(2, 2, 2), (2, 2, 4)]


def test_products_of_reflections_are_those_of_lapack() -> None:
    a = RANDOM.standard_normal((5, 3))
    packed, tau = np.linalg.qr(a, "raw")
    found = run(ted.linalg.householder_product, packed.T, tau)
    np.testing.assert_allclose(found, np.linalg.qr(a)[0], atol=1e-15)
    mixed = run(ted.linalg.householder_product, packed.T.astype("f4"), tau)
    np.testing.assert_allclose(mixed, found, atol=1e-6, strict=True)
    shorter = torch.linalg.householder_product(*map(torch.tensor, (packed.T, tau[:2])))
    np.testing.assert_allclose(
        run(ted.linalg.householder_product, packed.T, tau[:2]), shorter, atol=1e-15
    )


@pytest.mark.slow
def test_gradients_of_products_of_reflections_are_those_of_differences() -> None:
    args = RANDOM.standard_normal((3, 2)), RANDOM.standard_normal(2)
    check_grads(ted.linalg.householder_product, args, order=2)


def test_solutions_and_determinants_are_those_of_numpy() -> None:
    def function(a: Any, b: Any) -> list[Any]:
        found = [ted.linalg.solve(a, b), ted.linalg.inv(a), ted.linalg.det(a)]
        return [*found, *ted.linalg.slogdet(a), ted.linalg.solve(a[0], b[0, :, 0])]

    expected = [np.linalg.solve(A, B), np.linalg.inv(A), np.linalg.det(A)]
    expected += [*np.linalg.slogdet(A), np.linalg.solve(A[0], B[0, :, 0])]
    for mine, other in zip(run(function, A, B), expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-14)


def test_norms_powers_and_crosses_are_those_of_numpy() -> None:
    orders = (0, 1, 2, 2.5, math.inf, -math.inf)
    kinds = ("fro", 1, -1, math.inf, -math.inf)

    def function(a: Any) -> list[Any]:
        found = [ted.linalg.vector_norm(a, axis=1, ord=k, keepdims=True) for k in orders]
        found += [ted.linalg.matrix_norm(a, ord=k) for k in kinds]
        found += [ted.linalg.matrix_power(a, k) for k in (0, 1, 5)]
        found += [ted.linalg.cross(a, a[::-1]), ted.linalg.norm(a), ted.linalg.norm(a[0], 1)]
        return [*found, ted.linalg.norm(a, axis=(0, 2), keepdims=True)]

    expected = [np.linalg.vector_norm(A, axis=1, ord=k, keepdims=True) for k in orders]
    expected += [np.linalg.matrix_norm(A, ord=k) for k in kinds]
    expected += [np.linalg.matrix_power(A, k) for k in (0, 1, 5)]
    expected += [np.cross(A, A[::-1]), np.linalg.norm(A), np.linalg.norm(A[0], 1)]
    expected.append(np.linalg.norm(A, axis=(0, 2), keepdims=True))
    for mine, other in zip(run(function, A), expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_matrices_without_an_inverse_have_factors_and_determinant_zero(n: int) -> None:
    twice = RANDOM.standard_normal((3, n, n))
    twice[0, :, n // 2], twice[1, n // 2], twice[2] = 0, 0, 0
    rows, low, up, on = run(lambda a: [*ted.linalg.lu(a), ted.linalg.det(a)], twice)
    np.testing.assert_array_equal(on, np.zeros(3))
    np.testing.assert_array_equal(np.sort(rows), np.arange(n) + np.zeros((3, 1), int))
    taken = np.take_along_axis(twice, rows[..., None], -2)
    np.testing.assert_allclose(low @ up, taken, atol=1e-15)


def test_a_determinant_of_zero_times_what_overflows_is_zero() -> None:
    a = np.diag(np.array([1e30, 1e30, 0.0], "f4"))
    assert run(ted.linalg.det, a) == 0
    assert np.isnan(run(ted.linalg.det, a * np.float32(np.nan)))


def test_examples_of_a_batch_are_solved_alike() -> None:
    found = ted.vmap(ted.linalg.solve)(A, B)
    np.testing.assert_allclose(found, np.linalg.solve(A, B), rtol=1e-13, atol=1e-14)


@pytest.mark.slow
def test_gradients_of_a_solution_and_a_determinant_are_those_of_torch() -> None:
    a, b = A[0], B[0]

    def loss(m: Any, v: Any) -> Any:
        return ted.sum(ted.linalg.solve(m, v) ** 2) + ted.linalg.det(m)

    gradient = ted.grad(loss)
    first, second = ted.function(
        lambda m, v: (gradient(m, v), ted.grad(lambda n: ted.sum(gradient(n, v) ** 2))(m))
    )(a, b)
    m, v = torch.tensor(a, requires_grad=True), torch.tensor(b)
    value = (torch.linalg.solve(m, v) ** 2).sum() + torch.linalg.det(m)
    (g,) = torch.autograd.grad(value, m, create_graph=True)
    (gg,) = torch.autograd.grad((g**2).sum(), m)
    np.testing.assert_allclose(first, g.detach().numpy(), rtol=1e-11)
    np.testing.assert_allclose(second, gg.numpy(), rtol=1e-10)


@pytest.mark.parametrize(("a", "b"), [(A[0], B[0, :, 0]), (A, B[0])])
def test_a_solution_has_the_derivatives_of_its_equation_in_every_mode(a: Any, b: Any) -> None:
    check_grads(ted.linalg.solve, [a, b], order=2, modes=("rev", "fwd"))


@pytest.mark.parametrize("function", [ted.linalg.det, lambda a: ted.linalg.slogdet(a)[1]])
def test_determinants_have_their_derivatives_in_every_mode(function: Any) -> None:
    check_grads(function, [A], order=2, modes=("rev", "fwd"))


def _of_rank(rank: int) -> Any:
    small = np.random.default_rng(rank).integers(-3, 4, (2, 3, rank)).astype(float)
    return small[0] @ small[1].T + 0.0


@pytest.mark.parametrize("a", [*map(_of_rank, range(4)), np.eye(3, k=1), np.eye(8, k=1)])
def test_the_gradient_of_a_determinant_is_made_of_minors_of_any_rank(a: Any) -> None:
    lines = np.arange(len(a))
    minors = [
        [(-1) ** (i + j) * np.linalg.det(a[lines != i][:, lines != j]) for j in lines]
        for i in lines
    ]
    np.testing.assert_allclose(ted.grad(ted.linalg.det)(a), minors, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        ted.linalg.solve,
        lambda a, b: ted.linalg.det(a) * ted.sum(b),
        lambda a, b: ted.linalg.slogdet(a)[1] * b,
    ],
)
def test_a_gradient_of_a_solution_factors_its_matrix_once(function: Any) -> None:
    """The transposed system has the same factors: there is one search for pivots, at any order."""

    def times(fn: Any) -> int:
        return fn.compiled(A[0], B[0]).ir("ted").count('combiner = "argmax"')

    once = ted.function(function)
    first = ted.grad(lambda a, b: ted.sum(function(a, b) ** 2))
    second = ted.grad(lambda a, b: ted.sum(first(a, b) ** 2))
    assert times(once) == times(first) == times(second) == 1


@pytest.mark.slow
def test_gradients_of_orthonormal_columns_are_those_of_torch() -> None:
    a = RANDOM.standard_normal((4, 3))

    def loss(m: Any) -> Any:
        q, r = ted.linalg.qr(m)
        return ted.sum(q**3) + ted.sum(r**2 * ted.abs(r))

    m = torch.tensor(a, requires_grad=True)
    q, r = torch.linalg.qr(m)
    signs = torch.sign(torch.diagonal(r))
    q, r = q * signs, r * signs[:, None]
    ((q**3).sum() + (r.abs() ** 3).sum()).backward()
    assert m.grad is not None
    np.testing.assert_allclose(ted.grad(loss)(a), m.grad.numpy(), rtol=1e-10)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "not square": (lambda: ted.linalg.det(X), "det: a must be square in its last two dims, got"),
    "no matrix": (lambda: ted.linalg.lu(X[0]), "lu: takes at least 2 dims, got shape (3,)"),
    "columns": (
        lambda: ted.linalg.householder_product(X, X[0]),
        "householder_product: at least as many rows as columns, and these as tau, got (2, 3)",
    ),
    "integers": (lambda: ted.linalg.det(np.eye(2, dtype=int)), "det: takes floats, got int64"),
    "b": (lambda: ted.linalg.solve(A, X), "solve: b must fit (2, 3, 3)"),
    "a mode": (lambda: ted.linalg.qr(X, mode="raw"), "qr: mode: must be 'reduced', 'complete' or"),
    "a kind": (lambda: ted.linalg.matrix_norm(X, ord=3), "matrix_norm: ord must be 'fro', 'nuc'"),
    "a pair": (lambda: ted.linalg.cross(X[:, :2], X[:, :2]), "cross: extents along axis -1 must"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, message = BAD[name]
    with pytest.raises(FrontendError, match=re.escape(message)):
        made()


def test_names_of_linear_algebra_are_those_of_the_package() -> None:
    assert all(callable(getattr(ted.linalg, name)) for name in ted.linalg.__all__)
    with pytest.raises(AttributeError, match=r"'ted.linalg' has no attribute 'nonsense'"):
        _ = ted.linalg.nonsense


def test_a_matrix_without_an_inverse_gives_what_is_not_finite_for_itself_alone() -> None:
    both = np.array([np.ones((2, 2)), np.eye(2)])
    for function in (ted.linalg.inv, lambda a: ted.linalg.solve(a, np.eye(2))):
        found = run(function, both)
        assert not np.isfinite(found[0]).any()
        np.testing.assert_array_equal(found[1], np.eye(2))
    lower = run(ted.linalg.cholesky, np.array([-np.eye(2), np.eye(2)]))
    assert np.isnan(lower[0][0, 0])
    np.testing.assert_array_equal(lower[1], np.eye(2))


def test_a_guarded_matrix_without_an_inverse_has_finite_slopes() -> None:
    def guarded(a: Any) -> Any:
        is_regular = ted.linalg.det(a)[:, None, None] != 0
        return ted.sum(ted.linalg.inv(ted.where(is_regular, a, ted.eye(2, dtype="float64"))))

    both = np.array([np.ones((2, 2)), 2 * np.eye(2)])
    expected = [np.zeros((2, 2)), np.full((2, 2), -0.25)]
    np.testing.assert_array_equal(ted.grad(guarded)(both), expected)


def test_numbers_that_are_tested_name_the_line_of_a_matrix_without_an_inverse() -> None:
    with pytest.raises(ExecutionError, match=r"got -?inf in solve_triangular.* \(test_factoris"):
        ted.function(lambda a: ted.linalg.inv(a), debug_nans=True)(np.ones((2, 2)))
