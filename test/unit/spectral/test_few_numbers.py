"""Every function of `ted.linalg` on small matrices by the interpreter: NumPy's, torch's slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted import linalg
from ted.errors import FrontendError
from ted.spectral import cofactors, jacobi, ranges
from unit.frontend.tracing import run

RNG = np.random.default_rng(4)
SQUARE, TALL, WIDE = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))
STACK = RNG.normal(size=(2, 2, 2))
LOST = np.outer([1.0, 2.0, -1.0], [1.0, 0.5])  # of rank 1
BIG = 1e200 * SQUARE[:2, :2]  # its squares overflow
THREES = RNG.normal(size=(2, 3, 3))
VECTORS = RNG.normal(size=(2, 3))
Function = Callable[[Any, Any], Any]

# What NumPy has too, of a matrix: a function of its `linalg` and the matrix.
MATRICES: dict[str, tuple[Function, np.ndarray]] = {
    **{f"norm {p}": (lambda la, a, p=p: la.matrix_norm(a, ord=p), STACK)
       for p in ("fro", "nuc", 1, -1, -2, np.inf, -np.inf)},
    **{f"norm {p}, kept": (lambda la, a, p=p: la.matrix_norm(a, keepdims=True, ord=p), WIDE)
       for p in (1, 2, np.inf)},
    **{f"vector norm {p}": (lambda la, a, p=p: la.vector_norm(a, axis=0, ord=p), WIDE)
       for p in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)},
    "norm of all": (lambda la, a: la.norm(a), STACK),
    "norm of a matrix": (lambda la, a: la.norm(a, 1), WIDE),
    "norm of two dims": (lambda la, a: la.norm(a, 1, (0, 2)), STACK),
    "norm of two dims, kept": (lambda la, a: la.norm(a, "fro", (0, 2), True), STACK),
    "norm of a dim": (lambda la, a: la.norm(a, np.inf, 1), STACK),
    **{f"cond {p}": (lambda la, a, p=p: la.cond(a, p), STACK)
       for p in (None, "fro", 1, -2, np.inf)},
    **{f"power {n}": (lambda la, a, n=n: la.matrix_power(a, n), SQUARE) for n in (-2, 0, 1, 3, 4)},
    "det": (lambda la, a: la.det(a), STACK),
    "det of rank 1": (lambda la, a: la.det(a), LOST[:2]),
    "slogdet": (lambda la, a: la.slogdet(a)[1], STACK),
    "its sign": (lambda la, a: la.slogdet(a)[0], STACK),
    "inv": (lambda la, a: la.inv(a), STACK),
    "singular values": (lambda la, a: la.svdvals(a), WIDE),
    "of squares that overflow": (lambda la, a: la.svdvals(a), BIG),
    "pinv": (lambda la, a: la.pinv(a), TALL),
    "pinv of rank 1": (lambda la, a: la.pinv(a), LOST),
    "pinv with a tolerance": (lambda la, a: la.pinv(a, rtol=0.7), STACK),
    "rank by a tolerance": (lambda la, a: la.matrix_rank(a, 1.0), STACK),
    "ranks by their tolerances": (lambda la, a: la.matrix_rank(a, rtol=np.array([0.9, 0.1])),
                                  STACK),
    "squares": (lambda la, a: la.lstsq(a, TALL[:, 1] ** 2, rcond=None)[0], TALL),
    "what is left": (lambda la, a: la.lstsq(a, TALL**2, rcond=None)[1], TALL),
    "rank of squares": (lambda la, a: la.lstsq(a, LOST, rcond=None)[2], LOST),
    "three singular values": (lambda la, a: la.svdvals(a), SQUARE),
    "solution": (lambda la, a: la.solve(a, VECTORS[0]), SQUARE),
    "solutions": (lambda la, a: la.solve(a, np.stack([STACK[0]] * 2)), STACK),
    "singular values of a batch": (lambda la, a: la.svdvals(a), THREES),
    "singular values of equal rows": (lambda la, a: la.svdvals(a), np.array([[1.0, 2], [2, 1]])),
    "norm of no columns": (lambda la, a: la.svdvals(a * [1, 0]), TALL),
    "a vector for a batch": (lambda la, a: la.solve(a, VECTORS[0]), THREES),
    "solutions of two dims of batches": (lambda la, a: la.solve(a[:, None], a[None]), THREES),
    "a chain": (lambda la, a: la.multi_dot([a, a.T, VECTORS[0] @ np.eye(3, 2)]), WIDE),
    "a chain of a vector": (lambda la, a: la.multi_dot([VECTORS[0], a.T, a]), WIDE),
    "cross": (lambda la, a: la.cross(a, VECTORS), WIDE),
    "cross of columns": (lambda la, a: la.cross(a, VECTORS.T, axis=0), WIDE.T),
}  # fmt: skip


@pytest.fixture(autouse=True)
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter makes every step of a loop; rotations of 3 rows are done after 4 sweeps."""
    monkeypatch.setattr(jacobi, "_SWEEPS", 4)


def test_values_are_those_of_numpy() -> None:
    arrays = [a for _, a in MATRICES.values()]

    def program(*tensors: Any) -> list[Any]:
        return [f(linalg, x) for (f, _), x in zip(MATRICES.values(), tensors, strict=True)]

    for (name, (f, a)), found in zip(MATRICES.items(), run(program, *arrays), strict=True):
        np.testing.assert_allclose(found, f(np.linalg, a), rtol=1e-9, atol=1e-11, err_msg=name)


def weighted(*results: Any) -> Any:
    """One number of several tensors."""
    return sum((r * r * (k + 2)).sum() for k, r in enumerate(results))


SLOPES: dict[str, tuple[Function, np.ndarray]] = {
    **{
        f"norm {p}": (lambda la, a, p=p: weighted(la.matrix_norm(a, ord=p)), WIDE)
        for p in ("fro", "nuc", 1, -1, np.inf)
    },
    "det": (lambda la, a: weighted(la.det(a)), STACK),
    "det of a batch": (lambda la, a: weighted(la.det(a)), THREES),
    "slogdet": (lambda la, a: weighted(la.slogdet(a)[1]), STACK),
    "inv": (lambda la, a: weighted(la.inv(a)), SQUARE),
    "solve": (lambda la, a: weighted(la.solve(a, a @ a + 1)), SQUARE),
    "singular values": (lambda la, a: weighted(la.svdvals(a)), WIDE),
    "pinv": (lambda la, a: weighted(la.pinv(a)), TALL),
    # What has no sign: squares of vectors.
    "vectors": (lambda la, a: weighted(*(x * x for x in la.svd(a, full_matrices=False))), TALL),
}


def test_slopes_are_those_of_torch() -> None:
    arrays = [a for _, a in SLOPES.values()]

    def program(*tensors: Any) -> list[Any]:
        pairs = zip(SLOPES.values(), tensors, strict=True)
        return [ted.grad(lambda x, f=f: f(linalg, x))(x) for (f, _), x in pairs]

    for (name, (f, a)), found in zip(SLOPES.items(), run(program, *arrays), strict=True):
        x: Any = torch.tensor(a, requires_grad=True)
        f(torch.linalg, x).backward()
        np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-8, atol=1e-9, err_msg=name)


def test_slopes_of_a_determinant_that_is_0_are_its_minors() -> None:
    a = SQUARE * [1, 1, 0]
    found = run(lambda x: ted.grad(linalg.det)(x), a)
    np.testing.assert_allclose(found[:, 2], np.cross(a[:, 0], a[:, 1]), rtol=1e-12)
    np.testing.assert_allclose(found[:, :2], 0, atol=1e-14)


def test_bases_are_orthonormal_and_factors_are_the_matrix() -> None:
    q, r, whole, upper, u, s, vh = run(
        lambda a: [*linalg.qr(a), *linalg.qr(a, "complete"), *linalg.svd(a)], TALL
    )
    np.testing.assert_allclose(q @ r, TALL, atol=1e-14)
    np.testing.assert_allclose(whole @ upper, TALL, atol=1e-14)
    np.testing.assert_allclose((u[:, :2] * s) @ vh, TALL, atol=1e-14)
    for basis in (q, whole, u, vh.T):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-14)
    assert whole.shape == u.shape == (4, 4)


def test_values_that_are_0_have_directions_all_the_same() -> None:
    a = SQUARE * [1, 0, 0]
    u, s, vh = run(linalg.svd, a)
    assert (s[1:] == 0).all()
    np.testing.assert_allclose((u * s) @ vh, a, atol=1e-14)
    for basis in (u, vh.T):
        np.testing.assert_allclose(basis.T @ basis, np.eye(len(basis)), atol=1e-14)


def test_vectors_that_any_basis_may_have_have_no_slope() -> None:
    further, lost = run(
        lambda a, b: [
            ted.grad(lambda a: ted.sum(linalg.svd(a)[0][:, 2:] ** 3))(a),
            ted.grad(lambda b: ted.sum(linalg.svd(b, full_matrices=False)[0] ** 3))(b),
        ],
        TALL, TALL * [1, 0],
    )  # fmt: skip
    assert np.isnan(further).all()
    assert np.isnan(lost).any()


SIZES = [0.0, 1e-320, 1e-310, 1e-200, 1e-100, 1.0, 3.0, 1e100, 1e200, 1.7e308, np.inf, np.nan]


def test_matrices_are_scaled_by_powers_of_two_into_the_range_of_squares() -> None:
    batch = np.array(SIZES)[:, None, None] * np.array([[1.0, -0.5], [0.25, 0.125]])
    near, back, whole = run(lambda a: ranges.scaled(a), batch)
    np.testing.assert_array_equal(whole.ravel(), np.isfinite(SIZES))
    finite = whole.ravel()
    assert np.isnan(back[~finite]).all()
    assert (near[~finite] == 0).all()
    np.testing.assert_array_equal(np.frexp(back[finite])[0], 0.5)  # exact
    np.testing.assert_array_equal(near[finite] * back[finite], batch[finite])
    largest = np.abs(near[finite][1:]).max((-2, -1))
    assert ((largest > 1e-160) & (largest < 1e160)).all()


def test_what_is_not_on_the_diagonal_is_nothing() -> None:
    x = np.arange(6.0).reshape(2, 3) + 1
    numbers, flags = run(
        lambda x: [cofactors._on_diagonal(x), ted.cast(cofactors._on_diagonal(x > 2), "int32")], x
    )
    np.testing.assert_array_equal(numbers, x[..., None] * np.eye(3))
    np.testing.assert_array_equal(flags, (x > 2)[..., None] * np.eye(3))


def test_products_of_reflections_are_those_of_lapack() -> None:
    packed, tau = torch.geqrf(torch.tensor(TALL))
    wanted = torch.linalg.householder_product(packed, tau).numpy()
    found, narrow = run(
        lambda a, t: [linalg.householder_product(a, t),
                      linalg.householder_product(ted.cast(a, "float32"), t)],
        packed.numpy(), tau.numpy(),
    )  # fmt: skip
    np.testing.assert_allclose(found, wanted, atol=1e-14)
    np.testing.assert_allclose(narrow, wanted, atol=1e-6)
    assert narrow.dtype == np.float64


def test_exponentials_of_a_batch_take_the_squarings_that_each_needs() -> None:
    batch = np.stack([STACK[0] / 9, 30 * STACK[1]])
    wanted = torch.linalg.matrix_exp(torch.tensor(batch)).numpy()
    np.testing.assert_allclose(
        run(lambda a: linalg.expm(a, max_squarings=8), batch), wanted, rtol=1e-11
    )


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "cross": (lambda: linalg.cross(STACK, STACK), "cross: extents along axis -1 must be 3"),
    "norm": (lambda: linalg.matrix_norm(WIDE, ord=3), "matrix_norm: ord must be"),
    "norm of a vector": (lambda: linalg.matrix_norm(WIDE[0]), "takes at least 2 dims"),
    "two tolerances": (lambda: linalg.matrix_rank(WIDE, 1, 1), "tol or rtol may be given"),
    "mode": (lambda: linalg.qr(WIDE, "full"), "qr: mode: must be"),
    "scalar": (lambda: linalg.solve(SQUARE, ted.full((), 1.0)), "solve: b must fit"),
    "rows": (lambda: linalg.lstsq(TALL, WIDE), "lstsq: takes a"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_with_the_rule(name: str) -> None:
    made, text = BAD[name]
    with pytest.raises(FrontendError, match=text):
        made()
