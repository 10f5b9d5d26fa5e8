"""Eigenvalues and eigenvectors of symmetric matrices, by Jacobi's rotations.

The rotations have no derivative of their own: that of the results is an expression of the results,
so that it has derivatives of every order.
"""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

from ted.api.custom import custom_vjp
from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.contraction import matmul
from ted.frontend.creation import eye
from ted.frontend.dims import matrix_transpose
from ted.frontend.elementwise import absolute, cast, sqrt, where
from ted.frontend.indexing import take_along_axis
from ted.frontend.layout import expand_dims
from ted.frontend.linear_algebra import square
from ted.frontend.reductions import max, sum
from ted.frontend.sorting import argsort
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import DType
from ted.spectral.equal_values import equal_pairs, joined, reported, shared_values, with_own
from ted.spectral.jacobi import orthogonal
from ted.spectral.ranges import inverse_gaps, scaled, widened


class Eigen(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def eigh(a: Any, UPLO: str = "L") -> Eigen:
    """Rising eigenvalues w and orthonormal columns v with a @ v = v * w, for a symmetric a.

    Only the lower triangle of `a` is read (the upper one for "U"), so gradients are those of its
    elements.  Vectors of equal eigenvalues are any basis, and signs are any: a gradient is right
    for what is the same for every choice.  Eigenvalues are equal to it where they differ by less
    than n roundings of the greatest.  There it is right for eigenvalues alone (of several that are
    equal the first is the least), and for vectors of others; what reads equal ones with their
    vectors has the slope NaN: `funm` has that of functions of matrices, `v * f(w) @ v.T`.
    Shapes: a (..., n, n), w (..., n), v as a; of float16 and bfloat16 computed in float32.
    Raises: FrontendError when `a` is not square or not of floats, or for another UPLO.
    Source: Giles, Collected Matrix Derivative Results for Forward and Reverse Mode, section 3.1.
    """
    full, dtype = symmetric(a, UPLO, "eigh")
    w, v = _joined(*eigensystem(full))
    return Eigen(cast(w, dtype), cast(v, dtype))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of `eigh`.

    Raises: FrontendError when `a` is not square or not of floats, or for another UPLO.
    """
    full, dtype = symmetric(a, UPLO, "eigvalsh")
    return cast(eigensystem(full)[0], dtype)


def symmetric(a: Any, triangle: str, what: str) -> tuple[Tensor, DType]:
    """The whole matrix of one triangle, of a type to compute in, and the type of results.

    Raises: FrontendError when `a` is not square or not of floats, or for another triangle.
    """
    a, dtype = widened(square(a, what), what)
    checks.one_of(triangle, ("L", "U"), f"{what}: UPLO")

    def element(*i: Any) -> Any:
        *head, j, k = i
        own = j >= k if triangle == "L" else j <= k
        return where(own, a[i], a[(*head, k, j)])

    return compute(a.shape, element, name="symmetric"), dtype


@custom_vjp
def eigensystem(a: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues and vectors of whole matrices of a type to compute in.

    Raises: FrontendError for symbolic sizes.
    """
    n = checks.integer(a.shape[-1], "eigh: n")
    a, back, whole = scaled(a)
    # All eigenvalues of a + shift are positive and of similar size: its singular vectors are its
    # eigenvectors, and those of rows that rotations have made orthogonal are the rows themselves.
    bound = max(sum(absolute(a), -1, keepdims=True), -2, keepdims=True)
    shift = where(bound > 0, 2 * bound, 1)
    rows = orthogonal(a + shift * eye(n, dtype=a.dtype), n, "eigh")
    v = matrix_transpose(rows / sqrt(sum(rows * rows, -1, keepdims=True)))
    w = sum(v * matmul(a, v), -2)
    order = argsort(w)
    w = take_along_axis(w, order, -1, mode="unchecked")
    v = take_along_axis(v, expand_dims(order, -2), -1, mode="unchecked")
    return w * back[..., 0], where(whole, v, nan)


def _joined(w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    return joined(w, [v], shared_values(w))


@eigensystem.defvjp
def _eigensystem_adjoint(_: Any, outputs: Any, heads: Any) -> Tensor:
    (w, v), (dw, dv) = _joined(*outputs), heads
    rows = matrix_transpose(v)
    equal = equal_pairs(w)
    turns = reported(inverse_gaps(w) * reported(matmul(rows, dv), with_own(equal)), equal)
    return matmul(v * expand_dims(dw, -2), rows) + matmul(matmul(v, turns), rows)
