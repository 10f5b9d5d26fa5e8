"""Bessel functions of the orders 0 and 1.

I: the power series, all of whose terms are positive, to 20, and Hankel's asymptotic series beyond.
J: the integral of cos(n t - x sin t) over a period by a sum over equal steps, which errs by J of
the order of their number, to 25, and Hankel's series beyond.  All derivatives are those of these
expressions.
Source: Handbook of Mathematical Functions, 9.1.21, 9.2.5, 9.6.10, 9.7.1.
"""

from __future__ import annotations

import math
from typing import Any

from ted.frontend.elementwise import absolute, cos, exp, sin, sqrt, where
from ted.frontend.gamma_functions import series
from ted.special.arguments import elementwise, float64

_POWERS = 44  # terms of I at arguments below 20
_STEPS = 16  # of a quarter of a period, for J at arguments below 25


def _hankel(order: int, count: int) -> list[float]:
    """The numbers a(k) of the asymptotic series."""
    found = [1.0]
    for k in range(1, count):
        found.append(found[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return found


def _near_i(order: int, x: Any) -> Any:
    """I(x) for |x| < 20."""
    terms = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_POWERS)]
    value = series(0.25 * x * x, terms)
    return value * (0.5 * x) if order else value


def _far_ie(order: int, x: Any) -> Any:
    """exp(-x) I(x) for x >= 20."""
    terms = [(-1) ** k * a for k, a in enumerate(_hankel(order, 24))]
    return series(1 / x, terms) / sqrt(2 * math.pi * x)


def _i(order: int, x: Any, scaled: bool) -> Any:
    size = absolute(x)
    near = size < 20
    low, high = where(near, x, 0.0), where(near, 20.0, size)
    inner, outer = _near_i(order, low), _far_ie(order, high)
    if scaled:
        inner = inner * exp(-absolute(low))
        outer = where(size == math.inf, 0.0, outer)
    else:  # in two factors, as exp(x) is infinite a little before I is
        half = exp(0.5 * high)
        outer = where(size == math.inf, exp(size), outer * half * half)
    if order:
        outer = where(x < 0, -outer, outer)
    return where(near, inner, where(size >= 20, outer, math.nan))


@elementwise
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
    return _i(0, x, False)


@elementwise
def i0e(x: Any) -> Any:
    """exp(-|x|) i0(x)."""
    return _i(0, x, True)


@elementwise
def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 1."""
    return _i(1, x, False)


@elementwise
def i1e(x: Any) -> Any:
    """exp(-|x|) i1(x)."""
    return _i(1, x, True)


def _near_j(order: int, x: Any) -> Any:
    total = float64(0)
    for k in range(_STEPS + 1):
        s = math.sin(0.5 * math.pi * k / _STEPS)
        weight = (0.5 if k in (0, _STEPS) else 1.0) / _STEPS
        total = total + (sin(x * s) * (s * weight) if order else cos(x * s) * weight)
    return total


def _far_j(order: int, x: Any) -> Any:
    numbers, inverse = _hankel(order, 24), 1 / x
    square = inverse * inverse
    even = series(square, [(-1) ** k * a for k, a in enumerate(numbers[::2])])
    odd = inverse * series(square, [(-1) ** k * a for k, a in enumerate(numbers[1::2])])
    # cos and sin of x - pi / 4, without a rounded difference
    sine, cosine = sin(x), cos(x)
    c, s = cosine + sine, sine - cosine
    if order:  # of x - 3 pi / 4
        c, s = s, -c
    return (c * even - s * odd) / sqrt(math.pi * x)


def _j(order: int, x: Any) -> Any:
    size = absolute(x)
    near, endless = size < 25, size == math.inf
    outer = _far_j(order, where(near | endless, 25.0, size))
    if order:
        outer = where(x < 0, -outer, outer)
    value = where(near, _near_j(order, where(near, x, 0.0)), where(endless, 0.0, outer))
    return where(x != x, math.nan, value)


@elementwise
def j0(x: Any) -> Any:
    """The Bessel function of the first kind and order 0; errors are absolute near its zeros."""
    return _j(0, x)


@elementwise
def j1(x: Any) -> Any:
    """The Bessel function of the first kind and order 1; errors are absolute near its zeros."""
    return _j(1, x)
