"""Determinants by factors, whose derivative is that of the determinant, not of the elimination.

Before: ted.linalg.slogdet(a)      After: signs and logarithms of the pivots of `lu`

The gradient is the inverse, by the same factors: d det(a) = det(a) * trace(inv(a) @ da).
Source: Giles, An Extended Collection of Matrix Derivative Results, sections 2.2.4 and 2.3.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ted.api.custom import custom_vjp
from ted.frontend.axes import reduce_axis
from ted.frontend.compute import compute
from ted.frontend.creation import eye
from ted.frontend.dims import diagonal
from ted.frontend.element_types import finfo
from ted.frontend.elementwise import (
    absolute,
    cast,
    isfinite,
    isnan,
    log,
    maximum,
    sign,
    stop_gradient,
    where,
)
from ted.frontend.factorisations import lu
from ted.frontend.layout import broadcast_to, expand_dims
from ted.frontend.linear_algebra import floats, square
from ted.frontend.precision import rounded_once
from ted.frontend.reductions import all as all_of
from ted.frontend.reductions import max as max_over
from ted.frontend.reductions import prod
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import INT64
from ted.spectral.solutions import solution


@rounded_once
def det(a: Any) -> Tensor:
    """The determinant, by `lu`.

    Of a matrix without an inverse the gradient is right, where no more than 5 pivots are 0 (19 in
    f64), and the second derivative is not.
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
    signs = prod(sign(diagonal(up)), -1) * _parity(rows, up)
    return LogDeterminant(signs, _logarithm(a, rows, low, up))


@custom_vjp
def _determinant(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    del a, low  # whose product with `rows` is `up`
    pivots = diagonal(up)
    product = prod(pivots, -1)
    lost = isnan(product) & all_of(isfinite(pivots), -1)  # 0 times what has overflowed
    return where(lost, 0.0, product) * _parity(rows, up)


@_determinant.defvjp
def _determinant_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    (a, rows, low, up), (head,) = inputs, heads
    near = (rows, low, _regular(up))
    return _times_inverse(head * _determinant(a, *near), a, *near), None, None, None


@custom_vjp
def _logarithm(a: Tensor, rows: Tensor, low: Tensor, up: Tensor) -> Tensor:
    del a, rows, low
    return sum_over(log(absolute(diagonal(up))), -1)


@_logarithm.defvjp
def _logarithm_adjoint(inputs: Any, outputs: Any, heads: Any) -> tuple[Any, ...]:
    del outputs
    return _times_inverse(heads[0], *inputs), None, None, None


def _times_inverse(head: Tensor, a: Tensor, *factors: Tensor) -> Tensor:
    """`head` times the transposed inverse of `a`."""
    identity = broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    return expand_dims(head, (-2, -1)) * solution(a, identity, *factors, True)


def _regular(up: Tensor) -> Tensor:
    """Triangles with a rounding in place of each pivot that is 0.

    The gradient of a determinant is made of minors, which a matrix without an inverse has, too. All
    pivots may be 0 where one minor is not (a shift): a power of what stands there must not be 0.
    """
    kind = finfo(up.dtype)
    least = max_over(absolute(up), (-2, -1), keepdims=True) * kind.eps
    least = maximum(least, kind.smallest_normal)
    on = eye(up.shape[-1], dtype=up.dtype) > 0
    return where(on & (up == 0), least, up)


def _parity(rows: Tensor, like: Tensor) -> Tensor:
    """1 for an even permutation, -1 for an odd one: pairs in the wrong order are counted."""
    n = rows.shape[-1]
    r, s = reduce_axis(n, "r"), reduce_axis(n, "s")

    def element(*head: Any) -> Any:
        wrong = rows[(*head, r)] > rows[(*head, s)]
        return 1 - 2 * (sum_over(cast(wrong, INT64), axis=(r, s), where=r < s) % 2)

    return cast(compute(rows.shape[:-1], element, name="parity"), like.dtype)
