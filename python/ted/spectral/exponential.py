"""The exponential of a matrix, by a quotient of polynomials and squarings."""

from __future__ import annotations

from math import nan
from typing import Any

from ted.api.control_flow import while_loop
from ted.frontend import checks
from ted.frontend.contraction import matmul
from ted.frontend.creation import arange, eye
from ted.frontend.elementwise import absolute, cast, left_shift, stop_gradient, where
from ted.frontend.layout import expand_dims
from ted.frontend.linear_algebra import square
from ted.frontend.reductions import any, max, sum
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import INT64
from ted.spectral.ranges import widened
from ted.spectral.solutions import solve

# Of the quotient of degree 13, and the norm up to which it errs by less than a rounding of float64.
_COEFFICIENTS = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_REACH = 5.371920351148152


def expm(a: Any, max_squarings: int = 16) -> Tensor:
    """The exponential of square matrices, exp(a / 2^k) squared k times.

    k is the least with a norm of a / 2^k below 5.4; NaN where that is above `max_squarings`.
    Shapes: a (..., n, n), result alike.
    Raises: FrontendError when `a` is not square or not of floats, or `max_squarings` no integer.
    Source: Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, section 2.
    """
    a, dtype = widened(square(a, "expm"), "expm")
    most = checks.integer(max_squarings, "expm: max_squarings")
    size = max(sum(absolute(stop_gradient(a)), -2), -1)
    reached = cast(left_shift(1, arange(most + 1)), a.dtype) * _REACH
    count = sum(cast(expand_dims(size, -1) > reached, INT64), -1)
    scale = cast(left_shift(1, count), a.dtype)
    small = _quotient(a / expand_dims(scale, (-2, -1)))

    def going(state: Any) -> Tensor:
        return any(count > state[0])

    def step(state: Any) -> Any:
        k, x = state
        return k + 1, where(expand_dims(count > k, (-2, -1)), matmul(x, x), x)

    found = while_loop(going, step, (0, small), max_steps=most, truncate=True)[1]
    known = expand_dims(size <= _REACH * 2.0**most, (-2, -1))
    return cast(where(known, found, nan), dtype)


def _quotient(a: Tensor) -> Tensor:
    """p(a) / p(-a), of its even and odd parts."""
    b, unit = _COEFFICIENTS, eye(a.shape[-1], dtype=a.dtype)
    a2 = matmul(a, a)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)

    def part(k: int) -> Tensor:
        high = float(b[k + 12]) * a6 + float(b[k + 10]) * a4 + float(b[k + 8]) * a2
        low = float(b[k + 6]) * a6 + float(b[k + 4]) * a4 + float(b[k + 2]) * a2
        return matmul(a6, high) + low + float(b[k]) * unit

    odd, even = matmul(a, part(1)), part(0)
    return solve(even - odd, even + odd)
