"""Determinants by factors, whose derivative is that of the determinant, not of the elimination.

Before: ted.linalg.slogdet(a)      After: signs and logarithms of the pivots of `lu`

The gradient is the inverse, by the same factors: d det(a) = det(a) * trace(inv(a) @ da).  Where
there is none, it is that of the polynomial: `cofactors`.
Source: Giles, An Extended Collection of Matrix Derivative Results, sections 2.2.4 and 2.3.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ted.api.custom import custom_vjp
from ted.frontend.dims import diagonal
from ted.frontend.elementwise import absolute, log, sign, stop_gradient
from ted.frontend.factorisations import lu
from ted.frontend.layout import expand_dims
from ted.frontend.linear_algebra import floats, square
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import prod
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.spectral.cofactors import cofactors, parity, product_of_pivots, times_inverse


@rounded_once
def det(a: Any) -> Tensor:
    """The determinant, by `lu`.

    Derivatives are those of the polynomial at any matrix, one without an inverse, too.  Of more
    than 64 rows, or a symbolic number of them, only first ones are: further ones are NaN there.
    So are all where more than 15 pivots are 0, but for matrices that lack a rank of more than 15.
    Shapes: a (..., n, n), result (...).
    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "det"), "det")
    rows, low, up = lu(stop_gradient(a))
    return _determinant(a, rows, low, up)


class LogDeterminant(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


@rounded_once
def slogdet(a: Any) -> LogDeterminant:
    """The sign of the determinant and the logarithm of its magnitude, by `lu`.

    Shapes: a (..., n, n), results (...).
    Raises: FrontendError when `a` is not square or not of floats.
    """
    a = floats(square(a, "slogdet"), "slogdet")
    rows, low, up = lu(stop_gradient(a))
    signs = prod(sign(diagonal(up)), -1) * parity(rows, up)
    return LogDeterminant(signs, _logarithm(a, rows, low, up))


@custom_vjp
def _determinant(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    del a, low  # whose product with `rows` is `up`
    return product_of_pivots(rows, up)


@_determinant.defvjp
def _determinant_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return expand_dims(heads[0], (-2, -1)) * cofactors(*inputs), None, None, None


@custom_vjp
def _logarithm(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    del a, rows, low
    return sum_over(log(absolute(diagonal(up))), -1)


@_logarithm.defvjp
def _logarithm_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return times_inverse(heads[0], *inputs), None, None, None
