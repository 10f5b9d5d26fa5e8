"""The gamma function itself, and the numbers that it counts: factorials and binomials.

Source: Handbook of Mathematical Functions, 6.1.17, 6.1.37 (Stirling), in two equal factors, so that
nothing overflows that the result does not, nor in the slope.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ted.frontend.elementwise import exp, log1p, power, round, sin, where
from ted.frontend.gamma_functions import STIRLING, series, shifted
from ted.special.arguments import elementwise
from ted.special.around_gamma import log_beta

_LAST = 172.0  # from here on gamma overflows
_SHIFT = _LAST / 2  # keeps the exponential in Stirling's formula above 1


def _gamma_right(x: Any) -> Any:
    """gamma(x) of a scalar x > 0 of f64."""
    over = x >= _LAST
    small, factors, y, inverse = shifted(where(over, 8.0, x))
    tail = series(inverse * inverse, STIRLING) * inverse
    large = y > 128  # a quotient of gamma and the exponential, as in the slope, overflows
    scaled = power(y, 0.5 * y - 0.25) * where(large, math.exp(-_SHIFT), 1.0)
    half = scaled * exp(0.5 * (tail - y) + where(large, _SHIFT, 0.0))
    value = math.sqrt(2 * math.pi) * half * half
    below = functools.reduce(lambda a, b: a * b, factors)
    return where(over, math.inf * x, where(small, value / where(small, below, 1.0), value))


def _gamma(x: Any) -> Any:
    left = x < 0.5
    right = _gamma_right(where(left, 1 - x, x))
    whole = round(x)
    pole = x == whole
    sine = sin(math.pi * where(pole, 0.5, x - whole)) * where(whole % 2 == 0, 1.0, -1.0)
    fits = right < math.inf
    reflected = where(fits, math.pi / sine / where(fits, right, 1.0), 0.0 * sine)
    value = where(left, reflected, right)
    ends = where(x == 0, 1 / x, math.nan * x)
    return where(left & pole, ends, value)


@elementwise
def gamma(x: Any) -> Any:
    """The gamma function; infinite at 0 with the sign of the zero, NaN at -1, -2, ..."""
    return _gamma(x)


@elementwise
def factorial(n: Any) -> Any:
    """gamma(n + 1), the product of 1, 2, ..., n; 0 for n < 0."""
    return where(n < 0, 0.0, _gamma(where(n < 0, 0.0, n) + 1))


@elementwise
def comb(N: Any, k: Any) -> Any:
    """How many sets of k elements N have, for all 0 <= k <= N; else 0."""
    inside = (k >= 0) & (k <= N)
    n, part = where(inside, N, 1.0), where(inside, k, 0.0)
    value = exp(-log1p(n) - log_beta(n - part + 1, part + 1))
    return where(inside, value, where((N == N) & (k == k), 0.0, math.nan))
