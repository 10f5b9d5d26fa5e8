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

import numpy as np

from ted.frontend.elementwise import absolute, cos, log, log1p, round, sin, sqrt, vectorize, where
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import FLOAT32

_SHIFT = 8
_ROOT = 0.25  # as far from the roots of log gamma goes its series
_WHOLE = 2.0**53  # from here on all numbers of f64 are integers, and gamma can overflow
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# log gamma(2 + z) = z P(z): 1 - Euler's constant, then (-1)^k (zeta(k) - 1) / k.
_AT_TWO = (
    0.42278433509846713, 0.3224670334241132, -0.0673523010531981, 0.020580808427784546,
    -0.007385551028673986, 0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425,
    -0.00022315475845357939, 9.945751278180853e-05, -4.492623673813314e-05,
    2.050721277567069e-05, -9.439488275268397e-06, 4.374866789907488e-06,
    -2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07,
    2.1207184805554665e-07, -1.0043224823968099e-07,
)  # fmt: skip
_SLOPE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _in_f64(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function computed in f64 and rounded to the type of its argument."""

    @functools.wraps(function)
    def call(x: Any) -> Any:
        if not isinstance(x, Scalar):
            with np.errstate(all="ignore"):  # of which 1 / 0 is infinite
                return float(function(np.float64(x)))
        dtype = x.dtype if x.dtype.is_float else FLOAT32
        return function(x.astype("float64")).astype(dtype)

    return vectorize(call)


@_in_f64
def lgamma(x: Any) -> Any:
    """log |gamma(x)|; infinite at 0, -1, -2, ..., where its slope is that of `digamma`."""
    sine = absolute(sin(math.pi * (x - round(x))))
    below = x < 0.5
    endless = x == math.inf
    right = lgamma_right(where(below, 1 - x, where(endless, 1.0, x)))
    value = where(below, math.log(math.pi) - log(sine) - right, right)
    value = where(x == 0, -log(x), where(endless, math.inf * x, value))
    return where(x < -_WHOLE, where(x > -math.inf, math.inf + steep_zero(x), -math.inf * x), value)


@_in_f64
def digamma(x: Any) -> Any:
    """The derivative of `lgamma`; -infinity at 0, infinity at -0.0, NaN at -1, -2, ..."""
    rest = x - round(x)
    pole = rest == 0
    angle = math.pi * where(pole, 0.25, rest)
    inside = math.pi * cos(angle) / sin(angle)  # a tangent has no slopes where it is infinite
    cotangent = where(pole, where(x < 0, math.nan * x, 1 / x), inside)
    below = x < 0.5
    right = _digamma_right(where(below, 1 - x, x))
    return where(below, right - cotangent, right)


def steep_zero(x: Any) -> Any:
    """0 of a number, with the slope NaN: of a pole between slopes of both signs."""
    return sqrt(0.0 * x)


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
    """log gamma(x) of a scalar x > 0 of f64; around its roots 1 and 2 by a series, as a product."""
    at_one, at_two = absolute(x - 1) < _ROOT, absolute(x - 2) < _ROOT
    z = where(at_one, x - 1, where(at_two, x - 2, 0.0))
    near = z * series(z, _AT_TWO) - where(at_one, log1p(z), 0.0)
    return where(at_one | at_two, near, _lgamma_far(x))


def _lgamma_far(x: Any) -> Any:
    small, factors, y, inverse = shifted(x)
    tail = series(inverse * inverse, STIRLING) * inverse + (math.log(2 * math.pi) - 1) / 2
    high = (y - 0.5) * (log(y) - 1) + tail
    return where(small, high - log(functools.reduce(lambda a, b: a * b, factors)), high)


def _digamma_right(x: Any) -> Any:
    small, factors, y, inverse = shifted(x)
    z = inverse * inverse
    high = log(y) - 0.5 * inverse - z * series(z, _SLOPE)
    return where(small, high - functools.reduce(lambda a, b: a + b, [1 / f for f in factors]), high)
