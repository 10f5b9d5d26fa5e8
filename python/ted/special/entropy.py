"""Logarithms with products, for entropies and odds."""

from __future__ import annotations

import math
from typing import Any

from ted.frontend.elementwise import log, log1p, sqrt, where
from ted.special.arguments import elementwise


def _product(x: Any, y: Any, logarithm: Any, least: float) -> Any:
    none = (x == 0) & ((y <= least) | (y == math.inf))  # elsewhere the product is 0 by itself
    return where(none, 0.0, x * logarithm(where(none, least + 1, y)))


@elementwise
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0 and y is a number."""
    return _product(x, y, log, 0.0)


@elementwise
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0 and y is a number."""
    return _product(x, y, log1p, -1.0)


@elementwise
def entr(x: Any) -> Any:
    """-x log(x), 0 at 0, minus infinity to the left of it."""
    inside = x > 0
    value = -x * log(where(inside, x, 1.0))
    return where(inside, value, where(x == 0, sqrt(x), where(x < 0, -math.inf, math.nan)))


@elementwise
def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y), 0 at x = 0 and y >= 0, infinite elsewhere outside of x > 0 and y > 0."""
    inside = (x > 0) & (y > 0)
    top, bottom = where(inside, x, 1.0), where(inside, y, 1.0)
    near = (top < 2 * bottom) & (bottom < 2 * top)
    close = log1p(where(near, top - bottom, 0.0) / bottom)
    value = top * where(near, close, log(top) - log(bottom))
    endless = where((x > 0) & (y == 0), -x * log(y), math.inf)
    outside = where((x == 0) & (y >= 0), -sqrt(x), endless)  # with the slope of a logarithm of 0
    return where(inside, value, where((x != x) | (y != y), math.nan, outside))


@elementwise
def logit(p: Any) -> Any:
    """log(p / (1 - p)), the inverse of `expit`; NaN outside of [0, 1]."""
    near = (p > 0.25) & (p < 0.75)
    middle = where(near, p, 0.5)
    return where(near, log1p((2 * middle - 1) / (1 - middle)), log(p) - log1p(-p))
