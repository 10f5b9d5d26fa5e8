"""Operators as functions, and functions of the sign: element by element, broadcast.

Before: ted.subtract(x, y)      After: x - y
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ted.frontend.element_types import FloatLimits, finfo, result_type
from ted.frontend.elementwise import (
    absolute,
    cast,
    exp,
    isfinite,
    isinf,
    isnan,
    log1p,
    maximum,
    operated,
    stop_gradient,
    vectorize,
    where,
)
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT64, INDEX, INT64

# Name -> Python's operator: what a function of two values is called by, and what it says.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "negative": operator.neg, "positive": operator.pos,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
_SIGNS = {"add": "a + b", "subtract": "a - b", "multiply": "a * b", "divide": "a / b",
          "less": "a < b", "less_equal": "a <= b", "greater": "a > b", "greater_equal": "a >= b",
          "equal": "a == b", "not_equal": "a != b"}  # fmt: skip


def _binary(name: str) -> Callable[[Any, Any], Any]:
    return operated(name, OPERATORS[name], f"{_SIGNS[name]}, element by element.")


add, subtract, multiply, divide = map(_binary, ("add", "subtract", "multiply", "divide"))
less, less_equal, greater, greater_equal, equal, not_equal = map(_binary, tuple(_SIGNS)[4:])


@vectorize
def negative(x: Any) -> Any:
    """-x."""
    return -x


@vectorize
def positive(x: Any) -> Any:
    """x, a number."""
    return +x


# ------------------------------------------------------------------ of real numbers


@vectorize
def real(x: Any) -> Any:
    """The real part: x itself, unless it is complex."""
    return +x


@vectorize
def conj(x: Any) -> Any:
    """The conjugate: x itself, unless it is complex."""
    return +x


@vectorize
def signbit(x: Any) -> Any:
    """Whether x is negative or -0.0; a NaN counts as positive."""
    if isinstance(x, Scalar) and not x.dtype.is_float:
        return x < 0
    return (x < 0) | ((x == 0) & (1 / x < 0)) if isinstance(x, Scalar) else math.copysign(1, x) < 0


@vectorize
def copysign(a: Any, b: Any) -> Any:
    """|a| with the sign of b, also of -0.0; a NaN counts as positive.

    The derivative in a is the sign by which |a| is multiplied, that in b is 0.
    """
    magnitude = absolute(a) * 1.0
    return where(signbit(b), -magnitude, magnitude)


@vectorize
def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) without overflow; both slopes are 1/2 where a = b, at -inf 0."""
    first = a >= b
    high, low = where(first, a, b) * 1.0, where(first, b, a) * 1.0
    known = isfinite(high)  # of infinite ones the distance is no number
    distance = where(known, low - high, 0.0)
    edge = where(high == -math.inf, -math.inf, maximum(a, b))  # as `logsumexp` of nothing but -inf
    return where(known, high + log1p(exp(distance)), edge)


@vectorize
def heaviside(x: Any, at_zero: Any) -> Any:
    """0 for negative x, 1 for positive, `at_zero` at 0, NaN for NaN; without a slope in x."""
    kind = x.dtype if isinstance(x, Scalar) and x.dtype.is_float else "float32"
    return where(x != x, math.nan, where(x == 0, at_zero, cast(x > 0, kind)))


def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """x, with numbers in place of NaN and of infinities, by default 0 and the largest of its type.

    Raises: FrontendError for a truth value as number, as numpy's `copy` is one.
    """
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if isinstance(value, bool):
            fail(f"nan_to_num: {name} must be a number, got {value!r}; nothing is written in place")
    dtype = x.dtype if isinstance(x, (Scalar, Tensor)) else FLOAT64
    if not dtype.is_float:
        return x
    most = (2.0 - 2.0**-dtype.mantissa) * 2.0**dtype.exponent
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf

    def number(v: Any) -> Any:
        return where(v != v, nan, where(v == math.inf, high, where(v == -math.inf, low, v)))

    return vectorize(number)(x)


# ------------------------------------------------------------------ neighbours
#
# `nextafter`: the float next to another one, by arithmetic that rounds in every type alike.
#
# Before: ted.nextafter(x, y)
# After: |x| + u (1 + 2 u) |x|, rounded; near 0 by the least distance


@vectorize
def nextafter(a: Any, b: Any) -> Any:
    """The float next to `a` on the way to `b`, and `b` where both are equal.

    It is NumPy's bit by bit, but of zeros of two signs in float16: there NumPy has `a`.

    As in torch, the derivative in a is 1, 0 where both are equal, and that in b is 0.

    Shapes: broadcast; of the float type in which both meet.
    Raises: FrontendError for integers.
    Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding to
    nearest", BIT 49 (2009), algorithm 2.
    """
    if not isinstance(a, Scalar) and not isinstance(b, Scalar):
        return math.nextafter(a, b)
    types = [x.dtype if isinstance(x, Scalar) else x for x in (a, b)]
    kind = result_type(*(INT64 if x == INDEX else x for x in types))
    if not kind.is_float:
        fail(f"nextafter: takes floats, got {kind}; write x.astype('float32')")
    x, y = cast(a, kind.name), cast(b, kind.name)
    one, limits = cast(1.0, kind.name), finfo(kind)
    sign = where(x < 0, -one, one)
    near = sign * _neighbour(absolute(x), where(y > x, sign, -sign), limits)
    near = where(isinf(x), sign * limits.max, near)  # on the way to what is not as large
    near = stop_gradient(near)
    has_slope = isfinite(x) & isfinite(near) & (near != 0)
    near = where(has_slope, near + (x - stop_gradient(x)), near)
    return where(isnan(x) | isnan(y), x + y, where(x == y, stop_gradient(y), near))


def _neighbour(size: Any, outwards: Any, limits: FloatLimits) -> Any:
    """The size next to one, away from 0 where `outwards` is 1, towards it where it is -1."""
    unit, least = limits.eps / 2, limits.smallest_normal * limits.eps
    more = unit * (1 + 2 * unit)
    middle = size / unit
    middle = (middle + outwards * (more * middle)) * unit
    near_zero = where(size < least / unit, size + outwards * least, middle)
    return where(size >= least / unit**2 / 2, size + outwards * (more * size), near_zero)
