"""Functions around gamma: beta, incomplete gamma, exponential integral, zeta and polygamma.

Incomplete gamma functions are a power series left of 1; else one integral of an entire function,
int exp(a v - x expm1(v)) dv over v > 0 for the upper one, over v < 0 for the lower one, cut off
where it has fallen by exp(-45), by 48 points of Gauss and Legendre.  Derivatives with respect to
both arguments, of every order, are those of these expressions.
Sources: Handbook of Mathematical Functions, 6.5.2, 6.5.29, 5.1.1, 23.2.9 (Euler and Maclaurin).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ted.frontend import checks
from ted.frontend.axes import reduce_axis
from ted.frontend.elementwise import (
    absolute,
    cos,
    exp,
    expm1,
    log,
    log1p,
    maximum,
    minimum,
    power,
    round,
    sin,
    sqrt,
    stop_gradient,
    where,
)
from ted.frontend.gamma_functions import (
    STIRLING,
    digamma,
    lgamma,
    lgamma_right,
    series,
    steep_zero,
)
from ted.frontend.locations import fail
from ted.frontend.reductions import sum as sum_over
from ted.frontend.tensors import constant
from ted.special.arguments import elementwise, float64

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_FALL = 45.0  # an integrand is cut off where it is exp(-45) of its greatest value
_TERMS = 20  # of power series at arguments below 1


# ------------------------------------------------------------------ beta


def log_beta(a: Any, b: Any) -> Any:
    """log |beta|; of a large argument not by differences of large numbers."""
    small, large = minimum(a, b), maximum(a, b)
    far = (small > 0) & (large > 8) & (large < math.inf)
    low, high = where(far, small, 1.0), where(far, large, 8.0)
    total = low + high
    rest = (high - 0.5) * log1p(low / high) + low * (log(total) - 1)
    difference = _stirling(high) - _stirling(total) - rest
    return where(far, lgamma(low) + difference, lgamma(a) + lgamma(b) - lgamma(a + b))


def _stirling(x: Any) -> Any:
    """What Stirling's formula for lgamma(x) lacks, for x >= 8."""
    inverse = 1 / x
    return series(inverse * inverse, STIRLING) * inverse


@elementwise
def betaln(a: Any, b: Any) -> Any:
    """log |gamma(a) gamma(b) / gamma(a + b)|."""
    return log_beta(a, b)


@elementwise
def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b) for positive a and b, the magnitude for others."""
    return exp(log_beta(a, b))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of d dims, NaN for a <= (d - 1) / 2.

    Raises: FrontendError when d is no positive integer.
    """
    dims = checks.integer(d, "special.multigammaln: d")
    if dims < 1:
        fail(f"special.multigammaln: d must be at least 1, got {d}")

    def multigammaln(a: Any) -> Any:
        k = reduce_axis(dims, "k")
        total = sum_over(lgamma(a - 0.5 * k), axis=k)
        value = total + dims * (dims - 1) / 4 * math.log(math.pi)
        return where(a > 0.5 * (dims - 1), value, math.nan)

    return elementwise(multigammaln)(a)


# ------------------------------------------------------------------ incomplete gamma


@elementwise
def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function P(a, x), for a >= 0 and x >= 0."""
    return _checked(a, x, _both(a, x)[0], at_zero=0.0)


@elementwise
def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _checked(a, x, _both(a, x)[1], at_zero=1.0)


def _both(a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q where a > 0 and x > 0 are numbers."""
    a, x = where(a > 0, a, 1.0), where((x > 0) & (x < math.inf), x, 1.0)
    near, upper = x < 1, x >= a
    logarithm = lgamma_right(a)
    small = _near_zero(a, where(near, x, 0.5), logarithm)
    tail = _prefactor(a, x, logarithm) * _tail(where(near, 1.0, a), where(near, 1.0, x))
    lower = where(near, small, where(upper, 1 - tail, tail))
    return lower, where(near, 1 - small, where(upper, tail, 1 - tail))


def _checked(a: Any, x: Any, value: Any, at_zero: float) -> Any:
    """The value, those at the ends, and NaN outside."""
    start = where(x == 0, x, 0.0) ** a  # 0, with the slope 0, 1 or infinity that a makes of it
    start = at_zero + (1 - 2 * at_zero) * start
    value = where(x == 0, start, where(x == math.inf, 1 - at_zero, value))
    value = where(a == 0, where(x > 0, 1 - at_zero, math.nan), value)
    value = where(a == math.inf, where(x == math.inf, math.nan, at_zero), value)
    return where((a >= 0) & (x >= 0), value, math.nan)


def _near_zero(a: Any, x: Any, logarithm: Any) -> Any:
    """P(a, x) for x < 1: x ** a / gamma(a) times the sum of (-x) ** n / (n! (a + n))."""
    total = float64(0)
    for n in range(_TERMS, -1, -1):
        total = total * x + (-1.0) ** n / math.factorial(n) / (a + n)
    return exp(a * log(x) - logarithm) * total


def _prefactor(a: Any, x: Any, logarithm: Any) -> Any:
    """x ** a exp(-x) / gamma(a), for large a without differences of large numbers."""
    large = a > 8
    high = where(large, a, 8.0)
    ratio = (x - high) / high
    scaled = high * (log1p(ratio) - ratio) - _stirling(high)
    return where(
        large,
        sqrt(high / (2 * math.pi)) * exp(scaled),
        exp(where(large, 0.0, a * log(x) - x - logarithm)),
    )


def _tail(a: Any, x: Any) -> Any:
    """int exp(a v - x expm1(v)) dv over v > 0 where x >= a, over v < 0 elsewhere; x >= 1."""
    upper = x >= a
    ahead, behind = where(upper, x - a, 0.0), where(upper, 0.0, a - x)
    wide = 2 * _FALL / (ahead + sqrt(ahead * ahead + 2 * _FALL * x))
    up = where(x < _FALL, log1p(2 * _FALL / x), wide)
    slope = 2 * behind - _FALL
    root = sqrt(slope * slope + 8 * _FALL * a)
    down = 4 * _FALL / (where(slope > 0, slope, 0.0) + root)
    down = where(slope > 0, down, (root - slope) / (2 * where(slope > 0, 1.0, a)))
    end = stop_gradient(where(upper, up, -down))  # what is cut off has no slope worth counting
    r = reduce_axis(len(_POINTS), "r")
    points, weights = constant((_POINTS + 1) / 2), constant(_WEIGHTS / 2)
    v = end * points[r]
    total = sum_over(weights[r] * exp(a * v - x * expm1(v)), axis=r)
    return where(upper, end, -end) * total


@elementwise
def exp1(x: Any) -> Any:
    """The exponential integral E1(x), the integral of exp(-t) / t from x on; NaN for x < 0."""
    near = x < 1
    low = where(near & (x > 0), x, 0.5)
    total = float64(0)
    for n in range(_TERMS, 0, -1):
        total = (total + (-1.0) ** (n + 1) / (n * math.factorial(n))) * low
    high = where(near | (x == math.inf), 1.0, x)
    value = where(near, total - np.euler_gamma - log(low), exp(-high) * _tail(0 * high, high))
    value = where(x == 0, -log(x), where(x == math.inf, 0.0, value))
    return where(x >= 0, value, math.nan)


# ------------------------------------------------------------------ zeta


@functools.cache
def _bernoulli(count: int) -> tuple[float, ...]:
    """B(2j) / (2j)! for j = 1, 2, ..., count."""
    ratios = (2 * (-1) ** (j + 1) / (2 * math.pi) ** (2 * j) for j in range(1, count + 1))
    sums = (math.fsum(n ** (-2.0 * j) for n in range(1, 60)) for j in range(1, count + 1))
    return tuple(r * s for r, s in zip(ratios, sums, strict=True))


def _hurwitz(s: Any, q: Any) -> Any:
    """zeta(s, q) for s > 1 and q > 0; s is a scalar, or an integer, which makes products."""
    shift, coefficients = 10, (1 / 12, -1 / 720, *_bernoulli(12)[2:])
    total = sum((power(q + k, -s) for k in range(shift)), float64(0))
    y = q + shift
    end = power(y, -s)
    inverse = 1 / y
    factor, tail = s * inverse, float64(0)
    for j, c in enumerate(coefficients):
        tail = tail + factor * c
        factor = factor * ((s + 2 * j + 1) * (s + 2 * j + 2)) * (inverse * inverse)
    return total + end * (y / (s - 1) + 0.5 + tail)


@elementwise
def zeta(x: Any, q: Any = 1.0) -> Any:
    """The zeta function of Hurwitz, sum (k + q) ** -x, of Riemann for q = 1; x > 1 and q > 0.

    Infinite at x = 1 and at q = 0, NaN to the left of them.
    """
    inside = (x > 1) & (q > 0)
    ends = (x == math.inf) | (q == math.inf)
    value = _hurwitz(where(inside & (x < math.inf), x, 2.0), where(inside & (q < math.inf), q, 1.0))
    at_end = where(q == math.inf, 0.0, where(q > 1, 0.0, where(q == 1, 1.0, math.inf)))
    value = where(ends, at_end, value)
    pole = ((x == 1) & (q >= 0)) | ((q == 0) & (x > 1))
    at_pole = where(x == 1, 1 / (x - 1), 1 / absolute(q))
    return where(inside, value, where(pole, at_pole, math.nan))


def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of digamma, for n >= 1 infinite at 0, -1, -2, ...

    Raises: FrontendError when n is no integer from 0 to 100.
    """
    order = checks.integer(n, "special.polygamma: n")
    if not 0 <= order <= 100:
        fail(f"special.polygamma: n must be an integer from 0 to 100, got {n}")
    if order == 0:
        return digamma(x)
    size = (-1.0) ** (order + 1) * float(math.factorial(order))

    def polygamma(x: Any) -> Any:
        whole, left = round(x), x < 0
        pole = (x == whole) & (x <= 0) & (x > -math.inf)
        inside = (absolute(x) < math.inf) & ~pole
        right = size * _hurwitz(order + 1, where(inside, where(left, 1 - x, x), 1.0))
        angle = math.pi * where(inside & left, x - whole, 0.25)
        turned = (-1) ** order * right - _cotangent(order, cos(angle) / sin(angle))
        value = where(left, turned, right)
        at_pole = math.copysign(math.inf, size) + steep_zero(x)
        ends = where(pole, at_pole, where(x > 0, 0.0, math.nan))
        return where(inside, value, ends)

    return elementwise(polygamma)(x)


def _cotangent(order: int, c: Any) -> Any:
    """pi times the derivative of cot(pi x) of an order, of c = cot(pi x)."""
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        p = np.polynomial.Polynomial([-1.0, 0.0, -1.0]) * p.deriv()
    return math.pi ** (order + 1) * series(c, p.coef.tolist())
