"""Scalar functions of NumPy and comparisons within a tolerance, of whole tensors and in lambdas.

Before: ted.isclose(a, b)      After: (a == b) | (|a - b| <= atol + rtol |b|) & isfinite(b)
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ted.frontend import checks
from ted.frontend.elementwise import (
    absolute,
    cast,
    floor_divide,
    isfinite,
    isinf,
    isnan,
    maximum,
    minimum,
    remainder,
    round,
    sin,
    trunc,
    vectorize,
    where,
)
from ted.frontend.operators import logaddexp
from ted.frontend.reductions import all as all_of
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import FLOAT32, FLOAT64

# From here on derivatives of sin(x) / x cancel no digits; nearer to 0 its series has them, with the
# factors (2k)(2k + 1) from the last term to the first.
_NEAR = 0.5
_FACTORS = tuple(2.0 * k * (2 * k + 1) for k in range(11, 0, -1))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b|, or both are the same infinity; NaN are alike if asked.

    Raises: FrontendError for a tolerance that is no number.
    """
    relative = checks.number(rtol, "isclose: rtol")
    least = checks.number(atol, "isclose: atol")
    alike = checks.flag(equal_nan, "isclose: equal_nan")

    @vectorize
    def close(a: Any, b: Any) -> Any:
        x, y = _in_floats(a), _in_floats(b)
        near = absolute(x - y) <= least + relative * absolute(y)
        found = (a == b) | (near & isfinite(b))
        return found | (isnan(a) & isnan(b)) if alike else found

    return close(a, b)


def _in_floats(x: Any) -> Any:
    """Integers in float64, in which differences do not wrap around."""
    dtype = getattr(x, "dtype", None)
    return x if dtype is None or dtype.is_float else cast(x, "float64")


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close, as `isclose` says.

    Raises: FrontendError as `isclose`.
    """
    return all_of(isclose(a, b, rtol, atol, equal_nan))


@vectorize
def isposinf(x: Any) -> Any:
    """Whether x is infinity."""
    return isinf(x) & (x > 0)


@vectorize
def isneginf(x: Any) -> Any:
    """Whether x is negative infinity."""
    return isinf(x) & (x < 0)


@vectorize
def fmax(a: Any, b: Any) -> Any:
    """The greater of two, of which a NaN gives way to a number."""
    return where(isnan(a), b, where(isnan(b), a, maximum(a, b)))


@vectorize
def fmin(a: Any, b: Any) -> Any:
    """The lesser of two, of which a NaN gives way to a number."""
    return where(isnan(a), b, where(isnan(b), a, minimum(a, b)))


def float_power(a: Any, b: Any) -> Any:
    """a to the power of b in float64."""
    return cast(a, "float64") ** cast(b, "float64")


def divmod(a: Any, b: Any) -> tuple[Any, Any]:
    """a // b and a % b."""
    return floor_divide(a, b), remainder(a, b)


def modf(x: Any) -> tuple[Any, Any]:
    """The fraction of x, with its sign unless it is 0, and the whole part; of infinity it is 0."""
    whole = trunc(x)
    return where(isinf(x), 0.0, x - whole), whole


def frexp(x: Any) -> tuple[Any, Any]:
    """The mantissa of x in [0.5, 1), with its sign, and the exponent: x is mantissa * 2**exponent.

    The exponent is int32, and 0 of zeros, infinities and NaN, which are their own mantissas.  The
    slope of the mantissa is 2**-exponent.
    """
    return _mantissa(x), _exponent(x)


@vectorize
def _mantissa(x: Any) -> Any:
    return _parts(x)[0] if isinstance(x, Scalar) else math.frexp(x)[0]


@vectorize
def _exponent(x: Any) -> Any:
    return cast(_parts(x)[1], "int32") if isinstance(x, Scalar) else math.frexp(x)[1]


def _parts(x: Scalar) -> tuple[Any, Any]:
    """Mantissa and exponent by exact products with halved powers of two: 2**512, 2**256, ..."""
    kind = FLOAT64 if x.dtype == FLOAT64 else FLOAT32
    mantissa: Any = cast(x, kind)
    exponent: Any = 0
    powers = [(kind.exponent + 1) >> k for k in range(1, kind.exponent.bit_length() + 1)]
    tried = [(p, 2.0 ** (p - 1)) for p in (*powers, 1)]  # too large, and what makes it so
    tried += [(-p, 2.0**-p) for p in (powers[0], *powers)]
    is_plain = isfinite(mantissa) & (mantissa != 0)
    for power, limit in tried:
        size = absolute(mantissa)
        moves = is_plain & ((size >= limit) if power > 0 else (size < limit))
        mantissa = where(moves, mantissa * 2.0**-power, mantissa)
        exponent = exponent + where(moves, power, 0)
    return cast(mantissa, x.dtype if x.dtype.is_float else kind), exponent


@vectorize
def logaddexp2(a: Any, b: Any) -> Any:
    """log2(2 ** a + 2 ** b) without overflow."""
    return logaddexp(a * math.log(2.0), b * math.log(2.0)) / math.log(2.0)


@vectorize
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0 and 0 at other integers, with all derivatives."""
    near = absolute(x) < _NEAR
    square = (where(near, x, 0.0) * math.pi) ** 2
    series = functools.reduce(lambda total, k: 1.0 - square * total / k, _FACTORS, 1.0)
    far = where(near, 1.0, x)
    nearest = round(far)
    sine = sin((far - nearest) * math.pi) / (far * math.pi)  # an angle that is not rounded
    return where(near, series, where(round(0.5 * nearest) * 2 == nearest, sine, -sine))
