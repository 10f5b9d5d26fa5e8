"""Singular values and vectors, by rotations and reflections.

What is computed has no derivative of its own: that of the results is an expression of the results,
so that it has derivatives of every order.
"""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

from ted.api.custom import custom_vjp
from ted.frontend import checks
from ted.frontend.contraction import matmul
from ted.frontend.creation import eye
from ted.frontend.creation import full as filled
from ted.frontend.dims import diagonal, matrix_transpose
from ted.frontend.elementwise import cast, sqrt, to_tensor, where
from ted.frontend.indexing import take_along_axis
from ted.frontend.joining import concatenate
from ted.frontend.layout import broadcast_to, expand_dims
from ted.frontend.locations import fail
from ted.frontend.reductions import sum
from ted.frontend.sorting import argsort
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import BOOL, DType
from ted.spectral.equal_values import equal_pairs, joined, reported, shared_values, with_own
from ted.spectral.jacobi import orthogonal
from ted.spectral.ranges import inverse_gaps, reciprocals, scaled, widened
from ted.spectral.reflections import reflected


def matrices(a: Any, what: str) -> tuple[Tensor, DType]:
    """Matrices of a type to compute in, and the type that they had.

    Raises: FrontendError for what is no matrix of floats, or of symbolic sizes.
    """
    a = to_tensor(a, f"{what}: a")
    if a.ndim < 2:
        fail(f"{what}: takes at least 2 dims, got shape {a.shape} ({a.name})")
    return widened(a, what)


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(a: Any, full_matrices: bool = True) -> SVD:
    """u, falling s >= 0 and vh with a = u * s @ vh, u and vh.T with orthonormal columns.

    Signs and bases for equal values are any: a gradient is right for what is the same for every
    choice and NaN otherwise, as `eigh` says.  So it is NaN for the further columns of full
    matrices, and, with more rows than columns or more columns than rows, for vectors of a value 0.
    Shapes: a (..., m, n), s (..., k), u (..., m, k), vh (..., k, n) with k = min(m, n); u and vh
    square for full matrices.
    Raises: FrontendError for what is no matrix of floats.
    Source: Giles, Collected Matrix Derivative Results for Forward and Reverse Mode, section 3.2.
    """
    a, dtype = matrices(a, "svd")
    full = checks.flag(full_matrices, "svd: full_matrices")
    u, s, vh = _svd(a, full)
    s, u, vh = joined(s, [u, vh], _shared(a, s))
    return SVD(cast(u, dtype), cast(s, dtype), cast(vh, dtype))


def svdvals(a: Any) -> Tensor:
    """The falling singular values of `svd`.

    Raises: FrontendError for what is no matrix of floats.
    """
    a, dtype = matrices(a, "svdvals")
    return cast(_svd(a, False)[1], dtype)


def _svd(a: Tensor, full: bool) -> Any:
    if a.shape[-2] < a.shape[-1]:
        u, s, vh = _tall_svd(matrix_transpose(a), full)
        return matrix_transpose(vh), s, matrix_transpose(u)
    return _tall_svd(a, full)


def _tall_svd(a: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of matrices with at least as many rows as columns."""
    u, s, vh = _factors(a)
    n = a.shape[-1]
    return (u if full else u[..., :n]), s, vh


@custom_vjp
def _factors(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    m, n = (checks.integer(extent, "svd: extent") for extent in a.shape[-2:])
    a, back, whole = scaled(a)
    q, r = reflected(a) if m > n else (None, a)
    # Rotations of the columns of r: what they are is kept beside them.
    unit = broadcast_to(eye(n, dtype=a.dtype), (*a.shape[:-2], n, n))
    rows = orthogonal(concatenate([matrix_transpose(r[..., :n, :]), unit], -1), n, "svd")
    s = sqrt(sum(rows[..., :n] ** 2, -1))
    order = argsort(s, descending=True)
    s = take_along_axis(s, order, -1, mode="unchecked")
    rows = take_along_axis(rows, expand_dims(order, -1), -2, mode="unchecked")
    directions = rows[..., :n] * expand_dims(where(s > 0, 1 / s, 0), -1)
    u, upright = reflected(matrix_transpose(directions))
    u = u * expand_dims(where(diagonal(upright) < 0, -1.0, 1.0), -2)
    u = u if q is None else concatenate([matmul(q[..., :n], u), q[..., n:]], -1)
    return where(whole, u, nan), s * back[..., 0], where(whole, rows[..., n:], nan)


def _shared(a: Tensor, s: Tensor) -> Tensor:
    """The values that others equal, and those of a rectangle that are 0."""
    shared = shared_values(s)
    return shared if a.shape[-2] == a.shape[-1] else shared | (reciprocals(s) == 0)


@_factors.defvjp
def _factors_adjoint(inputs: Any, outputs: Any, heads: Any) -> Tensor:
    (_, found, _), (dfull, ds, dvh) = outputs, heads
    s, full, vh = joined(found, [outputs[0], outputs[2]], _shared(inputs[0], found))
    n = s.shape[-1]
    u, du, dv = full[..., :n], dfull[..., :n], matrix_transpose(dvh)
    ut, row, column = matrix_transpose(u), expand_dims(s, -2), expand_dims(s, -1)
    equal = equal_pairs(s)
    # 1 / (s_k^2 - s_j^2)
    gaps = inverse_gaps(s) / where(column + row > 0, column + row, 1)

    def turned(x: Tensor) -> Tensor:
        x = reported(x, with_own(equal))
        return reported(gaps * (x - matrix_transpose(x)), equal)

    inner = turned(matmul(ut, du)) * row + column * turned(matmul(vh, dv))
    inner = reported(inner, equal)
    found = matmul(matmul(u, inner) + u * expand_dims(ds, -2), vh)
    if full.shape[-2] == n:
        return found
    return found + matmul(_beside(u, du, s), vh) + _further(dfull[..., n:])


def _beside(u: Tensor, du: Tensor, s: Tensor) -> Tensor:
    """What vectors move out of their span, over their values, which must not be 0."""
    by = broadcast_to(expand_dims(reciprocals(s), -2), du.shape)
    beside = reported(du - matmul(u, matmul(matrix_transpose(u), du)), by == 0)
    return reported(by * beside, by == 0)


def _further(head: Tensor) -> Tensor:
    """0, or NaN where columns that fill a basis have a cotangent."""
    lost = reported(head, filled(head.shape, True, BOOL))
    return sum(lost, (-2, -1), keepdims=True)
