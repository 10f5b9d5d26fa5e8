"""Factors and triangular systems in blocks: values, gradients of both orders, loops over blocks."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.frontend import blocked_factors
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(8)


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(blocked_factors, "LEAST", 4)
    monkeypatch.setattr(blocked_factors, "SIZES", (2,))
    monkeypatch.setattr(blocked_factors, "OF_FACTORS", (2,))


def positive(*shape: int) -> np.ndarray:
    a = RNG.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + 3 * np.eye(shape[-1])


@pytest.mark.parametrize("shape", [(6, 6), (2, 6, 6), (5, 5)], ids=["one", "batch", "rest"])
def test_a_factor_in_blocks(small_blocks, shape) -> None:
    a = positive(*shape)
    wanted = np.linalg.cholesky(a)
    np.testing.assert_allclose(run(ted.cholesky, a), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(compiled(ted.cholesky, a), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [6, pytest.param(5, marks=pytest.mark.slow)])
def test_gradients_of_a_factor_in_blocks(small_blocks, n) -> None:
    check_grads(ted.cholesky, (positive(n, n),), order=2)


def test_only_the_lower_triangle_is_read(small_blocks) -> None:
    a = positive(6, 6)
    wanted = np.linalg.cholesky(a)
    np.testing.assert_allclose(run(ted.cholesky, np.tril(a)), wanted, rtol=1e-12, atol=1e-14)


def test_rows_behind_a_pivot_that_is_negative_are_nan(small_blocks) -> None:
    a = np.eye(6)
    a[3, 3] = -1
    with np.errstate(invalid="ignore"):
        found = run(ted.cholesky, a)
    np.testing.assert_array_equal(found[:3], np.eye(6)[:3])
    assert np.isnan(found[3, 3])
    assert np.isnan(found[5, 5])


FLAGS = [(lower, transpose) for lower in (False, True) for transpose in (False, True)]


@pytest.mark.parametrize("n", [6, 5])
@pytest.mark.parametrize(("lower", "transpose"), FLAGS)
def test_a_triangular_system_in_blocks(small_blocks, lower, transpose, n) -> None:
    a, b = RNG.normal(size=(n, n)) + 4 * np.eye(n), RNG.normal(size=(n, 3))
    triangle = np.tril(a) if lower else np.triu(a)
    wanted = np.linalg.solve(triangle.T if transpose else triangle, b)

    def function(a, b):
        return ted.solve_triangular(a, b, lower, transpose)

    np.testing.assert_allclose(run(function, a, b), wanted, rtol=1e-11)


@pytest.mark.parametrize("n", [6, pytest.param(5, marks=pytest.mark.slow)])
def test_gradients_of_a_triangular_system_in_blocks(small_blocks, n) -> None:
    a, b = RNG.normal(size=(n, n)) + 4 * np.eye(n), RNG.normal(size=(n, 2))
    check_grads(ted.solve_triangular, (a, b), order=2)


def test_a_batch_of_systems_in_blocks(small_blocks) -> None:
    a, b = RNG.normal(size=(2, 4, 4)) + 4 * np.eye(4), RNG.normal(size=(2, 4, 3))

    def function(a, b):
        return ted.solve_triangular(a, b, unit_diagonal=True)

    triangle = np.tril(a, -1) + np.eye(4)
    np.testing.assert_allclose(compiled(function, a, b), np.linalg.solve(triangle, b), rtol=1e-12)


@pytest.mark.parametrize("shape", [(6, 6), (2, 4, 4), (5, 5)], ids=["one", "batch", "rest"])
def test_rows_and_factors_in_blocks(small_blocks, shape) -> None:
    a = RNG.normal(size=shape)
    a[..., 1] = 0  # as a pivot is
    rows, lower, upper = compiled(ted.linalg.lu, a)
    turned = np.take_along_axis(a, rows[..., None], -2)
    np.testing.assert_allclose(lower @ upper, turned, atol=1e-14)
    assert np.abs(lower).max() <= 1
    np.testing.assert_array_equal(np.triu(lower), np.broadcast_to(np.eye(shape[-1]), shape))
    np.testing.assert_array_equal(upper, np.triu(upper))
    np.testing.assert_allclose(run(ted.linalg.lu, a)[1], lower, atol=1e-14)


def test_numbers_that_are_none_take_no_row_that_is_not_there(small_blocks) -> None:
    a = np.full((5, 5), np.nan)
    rows, *_ = run(ted.linalg.lu, a)
    assert rows.min() >= 0
    assert rows.max() < 5


@pytest.mark.parametrize("n", [6, 5])
def test_the_gradient_of_a_determinant_in_blocks(small_blocks, n) -> None:
    a = ted.placeholder((n, n), "float64")
    value = ted.linalg.slogdet(a)[1]
    gradients = ted.differentiate(value, [a])
    assert "is_used" not in str(gradients)  # masks would be in the way of products
    matrix = RNG.normal(size=(n, n))
    np.testing.assert_allclose(
        ted.compile([a], gradients[0])(matrix), np.linalg.inv(matrix).T, rtol=1e-9, atol=1e-12
    )


def test_a_system_is_solved_in_blocks(small_blocks) -> None:
    a, b = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 3))
    solution = compiled(ted.linalg.solve, a, b)
    np.testing.assert_allclose(solution, np.linalg.solve(a, b), rtol=1e-10)


@pytest.mark.parametrize("shape", [(6, 6), (2, 5, 5), (7, 5)], ids=["one", "batch", "rest"])
def test_orthonormal_columns_in_blocks(small_blocks, shape) -> None:
    a = RNG.normal(size=shape)
    a[..., 1] = a[..., 0] + 1e-12 * a[..., 1]
    q, r = compiled(ted.linalg.qr, a)
    np.testing.assert_allclose(q @ r, a, atol=1e-14)
    unit = np.broadcast_to(np.eye(shape[-1]), r.shape)
    np.testing.assert_allclose(np.swapaxes(q, -1, -2) @ q, unit, atol=1e-14)
    np.testing.assert_array_equal(r, np.triu(r))
    assert (np.diagonal(r, axis1=-2, axis2=-1) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6, 6), (7, 5), (5, 7)], ids=["whole", "rest", "wide"])
def test_gradients_of_orthonormal_columns_in_blocks(small_blocks, shape) -> None:
    check_grads(ted.linalg.qr, (RNG.normal(size=shape),), order=2)


@pytest.mark.slow
def test_gradients_of_a_system_in_blocks_by_its_matrix_alone(small_blocks, monkeypatch) -> None:
    monkeypatch.setattr(blocked_factors, "SIZES", (4,))
    b = ted.constant(RNG.normal(size=(12, 3)))
    check_grads(lambda a: ted.linalg.solve(a, b), (RNG.normal(size=(12, 12)),), order=2)


def test_steps_multiply_blocks() -> None:
    a, b = ted.placeholder((128, 128), "float64"), ted.placeholder((128, 8), "float64")
    f = ted.compile([a, b], ted.solve_triangular(a, b))
    assert "linalg.matmul" in f.ir("linalg")
    matrix, right = positive(128, 128), RNG.normal(size=(128, 8))
    np.testing.assert_allclose(
        f(matrix, right), np.linalg.solve(np.tril(matrix), right), rtol=1e-9, atol=1e-12
    )


@pytest.mark.slow
def test_steps_of_the_gradient_multiply_blocks() -> None:
    a, head = (ted.placeholder((128, 128), "float64") for _ in range(2))
    f = ted.compile([a, head], ted.differentiate(ted.cholesky(a), a, head=head)[0])
    assert f.ir("linalg").count("linalg.matmul") >= 3
    torch = pytest.importorskip("torch")
    matrix, cotangent = positive(128, 128), RNG.normal(size=(128, 128))
    x = torch.from_numpy(matrix).requires_grad_()
    symmetric = 0.5 * (x + x.mT)
    (wanted,) = torch.autograd.grad(
        torch.linalg.cholesky(symmetric), x, torch.from_numpy(cotangent)
    )
    found = f(matrix, cotangent)
    np.testing.assert_allclose(0.5 * (found + found.T), wanted, rtol=1e-9, atol=1e-12)


def test_few_rows_and_symbolic_ones_are_no_blocks() -> None:
    n = ted.size("n")
    assert blocked_factors.blocks_of(127) is None
    assert blocked_factors.blocks_of(n) is None
    assert blocked_factors.blocks_of(300) == blocked_factors.Blocks(15, 20)
    assert blocked_factors.blocks_of(131) == blocked_factors.Blocks(11, 12, 1)


@pytest.mark.parametrize("factor", [ted.cholesky, lambda a: ted.linalg.lu(a)[2]])
def test_rows_of_blocks_of_factors_fill_registers(factor) -> None:
    system = ted.function(factor).trace(np.zeros((300, 300), "f4")).system()
    assert (19, 16, 19, 16) in {tensor.shape for tensor in system.tensors()}


def test_times_of_a_recurrence_rise() -> None:
    with pytest.raises(FrontendError, match=r"time_axis of several has rising dims, got \(1, 0\)"):
        ted.recurrence((3, 4), lambda h, t, s: 1.0 * t, time_axis=(1, 0))
