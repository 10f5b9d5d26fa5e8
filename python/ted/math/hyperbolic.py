"""Hyperbolic functions, their inverses and the cube root, as straight-line code.

Like `elementary_functions`: no branches, no calls, right at zeros, infinities, NaN, and where the
result is subnormal or overflows. Errors are within 3 units in the last place in f32 and 4 in f64.
"""

from __future__ import annotations

import math

from ted.math.arithmetic import Num
from ted.math.elementary_functions import (
    INFINITY,
    NAN,
    exponential_factors,
    format_of,
    integer_part,
    log1p,
    power_of_two,
    scaled,
    split,
)
from ted.math.float_formats import F32
from ted.mlir import math as math_ops

# sinh(x) = x + x*z*P(z) on |x| <= 1, z = x*x.
_SINH_F32 = (
    0.16666666646810355, 0.008333339681641011, 0.00019838100441792883, 2.8062904395183082e-06,
)  # fmt: skip
_SINH_F64 = (
    0.16666666666666666, 0.008333333333333333, 0.00019841269841269773, 2.7557319224040352e-06,
    2.5052108364053986e-08, 1.6059048396945078e-10, 7.646625318417251e-13, 2.8445276524447325e-15,
)  # fmt: skip
# The cube root within 1e-3 on 0.35 <= m <= 2.83.
_CUBE_ROOT = (
    0.42477586705169623, 1.0034112774365609, -0.6759488830408382, 0.3219159887964041,
    -0.08203186302383127, 0.008425878662282,
)  # fmt: skip


def _half_exp(a: Num) -> Num:
    """exp(a) / 2 for a >= 0, which overflows later than exp(a)."""
    q, s, t = exponential_factors(a)
    return scaled(q, s * 0.5, t)


def cosh(x: Num) -> Num:
    """Hyperbolic cosine."""
    h = _half_exp(x.abs())
    return h + 0.25 / h


def sinh(x: Num) -> Num:
    """Hyperbolic sine."""
    a = x.abs()
    h = _half_exp(a)
    z = x * x
    near = (x * z).fma(z.polynomial(_SINH_F32 if format_of(x) is F32 else _SINH_F64), x)
    return a.compare("olt", 1.0).where(near, (h - 0.25 / h).copysign(x))


_LARGE = 1e20  # its square is finite, and 1 is nothing beside it


def asinh(x: Num) -> Num:
    """Inverse hyperbolic sine, in f64."""
    a = x.abs()
    square = a * a
    near = a + square / (1.0 + _root(1.0 + square))
    return _log1p_or_double(a, near).copysign(x)


def acosh(x: Num) -> Num:
    """Inverse hyperbolic cosine, in f64; NaN below 1."""
    t = x - 1.0
    result = _log1p_or_double(x, t + _root(t * (t + 2.0)))
    return x.compare("olt", 1.0).where(x.const(NAN), result)


def _log1p_or_double(a: Num, near: Num) -> Num:
    """log(1 + near), or log(2 a) where a is large."""
    large = a.compare("ogt", _LARGE)
    return log1p(large.where(a, near)) + large.where(a.const(math.log(2)), 0.0)


def _root(x: Num) -> Num:
    return Num(math_ops.SqrtOp(x.value).result)


def atanh(x: Num) -> Num:
    """Inverse hyperbolic tangent, in f64; NaN outside [-1, 1]."""
    a = x.abs()
    return (log1p((a * 2.0) / (1.0 - a)) * 0.5).copysign(x)


def cbrt(x: Num) -> Num:
    """Cube root."""
    form = format_of(x)
    a = x.abs()
    f, e, unit = split(a)
    exponent = e * unit
    shifted = exponent.fma(1 / 3, form.magic)
    third = shifted - form.magic
    # The rest of the exponent is -1, 0 or 1; this is 2 to its power.
    m = (1.0 + f) * third.fma(-3.0, exponent).polynomial((1.0, 0.75, 0.25))
    y = _halley(m.polynomial(_CUBE_ROOT), m)
    y = y if form is F32 else _halley(y, m)
    root = (y * power_of_two(integer_part(shifted), x.value.type, form)).copysign(x)
    ordinary = a.compare("ogt", 0.0) & a.compare("olt", INFINITY)
    return ordinary.where(root, x)


def _halley(y: Num, m: Num) -> Num:
    """A step of Halley's method, which triples the digits of a cube root."""
    cube = y * y * y
    return y.fma((m - cube) / (cube * 2.0 + m), y)
