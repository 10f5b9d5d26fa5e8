"""The logarithm of the gamma function and its derivative, as scalar expressions.

Stirling's series at an argument of at least 8, reached by the recurrence gamma(x + 1) = x gamma(x);
below 1/2 the reflection formula. Derivatives are those of the expressions: no rule of their own.
They compute in f64: errors are below 2e-14 max(1, |value|), and a digit more at each derivative.
Source: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 6.1.41, 6.3.18.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ted.frontend.elementwise import absolute, cos, log, round, sin, vectorize, where
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import FLOAT32

_SHIFT = 8
_WHOLE = 2.0**53  # from here on all numbers of f64 are integers, and gamma can overflow
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SLOPE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _in_f64(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function computed in f64 and rounded to the type of its argument."""

    @functools.wraps(function)
    def call(x: Any) -> Any:
        if not isinstance(x, Scalar):
            return function(float(x))
        dtype = x.dtype if x.dtype.is_float else FLOAT32
        return function(x.astype("float64")).astype(dtype)

    return vectorize(call)


@_in_f64
def lgamma(x: Any) -> Any:
    """log |gamma(x)|; infinite at 0, -1, -2, ..."""
    sine = absolute(sin(math.pi * (x - round(x))))
    below = x < 0.5
    right = lgamma_right(where(below, 1 - x, x))
    value = where(below, math.log(math.pi) - log(sine) - right, right)
    return where(x < -_WHOLE, -math.inf * x, value)


@_in_f64
def digamma(x: Any) -> Any:
    """The derivative of `lgamma`; -infinity at 0, infinity at -0.0, NaN at -1, -2, ..."""
    rest = x - round(x)
    pole = rest == 0
    angle = math.pi * where(pole, 0.25, rest)
    inside = math.pi * cos(angle) / sin(angle)  # a tangent has no slopes where it is infinite
    cotangent = where(pole, where(x < 0, math.nan, 1 / x), inside)
    below = x < 0.5
    right = _digamma_right(where(below, 1 - x, x))
    return where(below, right - cotangent, right)


def shifted(x: Any) -> tuple[Any, list[Any], Any, Any]:
    """Whether x < 8; then the factors x, x + 1, ..., and y = x + 8; else ones, and y = x; 1 / y."""
    small = x < _SHIFT
    low = where(small, x, 1.0)
    y = where(small, x + _SHIFT, x)
    return small, [low + k for k in range(_SHIFT)], y, 1 / y


def series(z: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial of z, the lowest power first."""
    return functools.reduce(lambda total, c: total * z + c, reversed(coefficients))


def lgamma_right(x: Any) -> Any:
    """log gamma(x) of a scalar x > 0 of f64."""
    small, factors, y, inverse = shifted(x)
    tail = series(inverse * inverse, STIRLING) * inverse + (math.log(2 * math.pi) - 1) / 2
    high = (y - 0.5) * (log(y) - 1) + tail
    return where(small, high - log(functools.reduce(lambda a, b: a * b, factors)), high)


def _digamma_right(x: Any) -> Any:
    small, factors, y, inverse = shifted(x)
    z = inverse * inverse
    high = log(y) - 0.5 * inverse - z * series(z, _SLOPE)
    return where(small, high - functools.reduce(lambda a, b: a + b, [1 / f for f in factors]), high)
