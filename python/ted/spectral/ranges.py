"""Which matrices are taken, and in which range of numbers they are computed."""

from __future__ import annotations

from math import nan
from typing import Any

from ted.frontend import checks
from ted.frontend.compute import compute
from ted.frontend.creation import ones_like
from ted.frontend.element_types import finfo
from ted.frontend.elementwise import absolute, cast, isfinite, where
from ted.frontend.linear_algebra import floats
from ted.frontend.reductions import max
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT32, DType

_GUARD = 24  # bits that squares of small elements and sums of squares need at the ends of a range


def widened(a: Tensor, what: str) -> tuple[Tensor, DType]:
    """Matrices of a type to compute in, and the type that they had.

    Raises: FrontendError when they are not of floats, or of symbolic sizes.
    """
    a = floats(a, what)
    for extent in a.shape[-2:]:
        checks.integer(extent, f"{what}: extent")
    return (cast(a, FLOAT32) if a.dtype.bits < FLOAT32.bits else a), a.dtype


def rounding(a: Tensor) -> float:
    """The distance from 1 to the next number of its type."""
    return finfo(a.dtype).eps


def scaled(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix whose squares are in range, what turns its values back, and whether it is finite.

    The factor is a power of two.  For a matrix that is not finite it is NaN, and the matrix zero.
    Shapes: a (..., m, n), the others (..., 1, 1).
    """
    half = a.dtype.exponent // 2
    factor, limit = 2.0 ** (half + _GUARD), 2.0 ** (half - _GUARD)
    largest = max(absolute(a), (-2, -1), init=0, keepdims=True)
    whole = isfinite(largest)
    one = ones_like(largest)
    least, most = finfo(a.dtype).smallest_normal, 2.0 ** (a.dtype.exponent - _GUARD)
    small = where(largest < least, one * most, where(largest < 1 / limit, one * factor, one))
    by = where(largest > limit, one / factor, small)
    return where(whole, a * by, 0), where(whole, 1 / by, nan), whole


def reciprocals(x: Tensor) -> Tensor:
    """1 / x of falling numbers that are not negative, and 0 where n roundings hide one.

    Shapes: x (..., n), result alike.
    """
    return where(x > x.shape[-1] * rounding(x) * x[..., :1], 1 / x, 0)


def inverse_gaps(x: Tensor) -> Tensor:
    """1 / (x[k] - x[j]) at (j, k), and 0 where n roundings of the greatest hide the difference.

    Shapes: x (..., n), result (..., n, n).
    """
    n = x.shape[-1]
    hidden = n * rounding(x) * max(absolute(x), -1)

    def element(*i: Any) -> Any:
        *head, j, k = i
        gap = x[(*head, k)] - x[(*head, j)]
        return where(absolute(gap) > hidden[tuple(head)], 1 / gap, 0)

    return compute((*x.shape, n), element, name="inverse_gaps")
