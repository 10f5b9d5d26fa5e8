"""Trigonometric functions and their inverses as straight-line code that LLVM vectorises.

Like `elementary_functions`: right at zeros, infinities, NaN and subnormal numbers, with the errors
of docs/accuracy.md. sin, cos and tan are right for every f32, however
large; in f64 an exact reduction has no short straight-line form, so that these stay calls of the C
library.
"""

from __future__ import annotations

import math

from ted.math.arithmetic import Num, like
from ted.math.elementary_functions import INFINITY, NAN, format_of
from ted.math.float_formats import F32, F64
from ted.mlir import ir
from ted.mlir import math as math_ops

# Polynomials of inverse functions: Chebyshev fits computed with 60 digits.
# asin(s) = s + s*z*P(z) for s <= 1/2, z = s*s.
ASIN_F32 = (
    0.16666666316763595, 0.07500098762726146, 0.04459803222965996, 0.03111615643856706,
    0.01707785937138728, 0.033805748308875325,
)  # fmt: skip
ASIN_F64 = (
    0.16666666666666669, 0.0749999999999834, 0.04464285714653523, 0.03038194412500875,
    0.022372173467043486, 0.017352380709839098, 0.01397138708310213, 0.011477517005507167,
    0.01033337215296726, 0.005413184483715509, 0.01751883397953867, -0.015032162599250314,
    0.028878362746452394,
)  # fmt: skip

# atan(t) = t + t*z*P(z) for |t| <= sqrt(2) - 1, z = t*t.
ATAN_F32 = (
    -0.3333333180635904, 0.19999548430737688, -0.1426417504904685, 0.10745673119016695,
    -0.0645729468770095,
)  # fmt: skip
ATAN_F64 = (
    -0.3333333333333333, 0.1999999999999981, -0.14285714285660686, 0.11111111105229463,
    -0.09090908756772165, 0.07692296459206163, -0.0666642623274607, 0.05878942802309088,
    -0.05230544856152321, 0.04551960948658271, -0.03457896160630883, 0.016294000728891745,
)  # fmt: skip

PI_HIGH, PI_LOW = 3.141592653589793, 1.2246467991473532e-16
PI_HIGH_F32, PI_LOW_F32 = 3.1415927410125732, -8.742277657347586e-08

# 2**(24 g) * 2/pi modulo 4 for g = 0 .. 4, as three parts: products of the first two, which have 29
# bits, with an f32 are exact in f64.
_TURNS = (
    (0.6366197690367699, 3.3308114738561656e-09, 2.276010073078396e-18),
    (3.4308817386627197, 4.9276286245847345e-09, 4.76073975187604e-18),
    (0.0826718881726265, 1.7096864618482144e-09, 2.8658837463471963e-18),
    (0.15368377417325974, 4.9375250554817285e-09, 1.1892889840965575e-17),
    (1.957837924361229, 1.995295734191771e-10, 8.306908000946013e-18),
)

# sin(r) = r + r*z*P(z) and cos(r) = 1 - z/2 + z*z*P(z) on |r| <= pi/4, z = r*r.
_SIN = (-0.1666666466392568, 0.008332748401714806, -0.00019587899536396134)
_COS = (0.041666664660645766, -0.0013888303106225739, 2.4547940868618788e-05)


def sin(x: Num) -> Num:
    """Sine of an f32."""
    quadrant, r = quarter_turns(x)
    return _signed_wave(quadrant, r, x.value.type)


def cos(x: Num) -> Num:
    """Cosine of an f32."""
    quadrant, r = quarter_turns(x)
    return _signed_wave(quadrant + 1, r, x.value.type)


def tan(x: Num) -> Num:
    """Tangent of an f32."""
    quadrant, r = quarter_turns(x)
    s, c = _waves(r.to(x.value.type))
    odd = (quadrant & 1).equals(1)
    return odd.where(c, s) / odd.where(-s, c)


def _signed_wave(quadrant: Num, r: Num, kind: ir.Type) -> Num:
    s, c = _waves(r.to(kind))
    wave = (quadrant & 1).equals(1).where(c, s)
    return (quadrant & 2).equals(2).where(-wave, wave)


def _waves(r: Num) -> tuple[Num, Num]:
    """sin and cos of |r| <= pi/4 in f32; sin keeps the sign of zero."""
    z = r * r
    s = (r * z).fma(z.polynomial(_SIN), r).abs().copysign(r)
    return s, (z * z).fma(z.polynomial(_COS), z.fma(-0.5, z.const(1.0)))


def quarter_turns(x: Num) -> tuple[Num, Num]:
    """n and r in f64 with x = n pi/2 + r modulo 2 pi, |r| <= pi/4; n as the low bits of an integer.

    A large x is an integer times 2**(24 g), and that power times 2/pi is only needed modulo 4.
    Source: M. Payne, R. Hanek, Radian reduction for trigonometric functions.
    """
    x = x.to(like(x.value.type, ir.F64Type.get()))
    scale, (first, second, third) = _window(x)
    y = x * scale
    product = y * first
    whole = product.fma(0.25, F64.magic) - F64.magic
    product = whole.fma(-4.0, product)
    tail = y * second
    shifted = (product + tail) + F64.magic
    turns = ((product - (shifted - F64.magic)) + tail) + y * third
    return shifted.bits(), turns * (math.pi / 2)


def _window(x: Num) -> tuple[Num, list[Num]]:
    """The factor that brings x below 2**48, and the parts of 2/pi that then belong to it."""
    size = x.abs()
    scale, parts = x.const(1.0), [x.const(part) for part in _TURNS[0]]
    for g in range(1, len(_TURNS)):
        beyond = size.compare("oge", 2.0 ** (24 * g + 24))
        scale = beyond.where(2.0 ** (-24 * g), scale)
        parts = [beyond.where(new, old) for new, old in zip(_TURNS[g], parts, strict=True)]
    return scale, parts


# ------------------------------------------------------------------ inverses


def _pi(x: Num) -> tuple[float, float]:
    return (PI_HIGH_F32, PI_LOW_F32) if format_of(x) is F32 else (PI_HIGH, PI_LOW)


def _asin_reduced(x: Num) -> tuple[Num, Num]:
    """Whether |x| > 1/2, and asin of |x|, there of sqrt((1 - |x|)/2) instead."""
    a = x.abs()
    far = a.compare("ogt", 0.5)
    z = far.where((1.0 - a) * 0.5, a * a)
    s = far.where(Num(math_ops.SqrtOp(z.value).result), a)
    return far, (s * z).fma(z.polynomial(ASIN_F32 if format_of(x) is F32 else ASIN_F64), s)


def asin(x: Num) -> Num:
    """Inverse sine; NaN outside [-1, 1]."""
    far, p = _asin_reduced(x)
    high, low = _pi(x)
    return far.where(high / 2 - p.fma(2.0, -low / 2), p).copysign(x)


def acos(x: Num) -> Num:
    """Inverse cosine; NaN outside [-1, 1]."""
    far, p = _asin_reduced(x)
    high, low = _pi(x)
    negative = x.compare("olt", 0.0)
    signed = negative.where(-p, p)
    near = high / 2 - (signed - low / 2)
    double = p * 2.0
    return far.where(negative.where(high - (double - low), double), near)


def _first_octants(small: Num, big: Num) -> Num:
    """atan(small / big) for 0 <= small <= big, 0 < big; not for two infinities."""
    high, low = _pi(big)
    steep = small.compare("ogt", big * (math.sqrt(2) - 1))
    t = steep.where(small - big, small) / steep.where(small + big, big)
    z = t * t
    p = (t * z).fma(z.polynomial(ATAN_F32 if format_of(t) is F32 else ATAN_F64), t)
    return steep.where(high / 4 + (p + low / 4), p)


def atan(x: Num) -> Num:
    """Inverse tangent."""
    a = x.abs()
    high, low = _pi(x)
    above = a.compare("ogt", 1.0)
    one = x.const(1.0)
    angle = _first_octants(above.where(one, a), above.where(a, one))
    return above.where(high / 2 - (angle - low / 2), angle).copysign(x)


def atan2(y: Num, x: Num) -> Num:
    """The angle of the point (x, y), in (-pi, pi], as IEEE 754 has it for zeros and infinities."""
    a, b = y.abs(), x.abs()
    high, low = _pi(x)
    above = a.compare("ogt", b)
    small, big = above.where(b, a), above.where(a, b)
    # Two infinities are an eighth of a turn; a sum of two large numbers must not overflow.
    infinite = small.compare("oeq", INFINITY)
    small, big = infinite.where(1.0, small), infinite.where(1.0, big)
    limit = 1e38 if format_of(x) is F32 else 1e308
    scale = big.compare("ogt", limit).where(x.const(0.25), 1.0)
    zero = big.compare("oeq", 0.0)
    angle = _first_octants(small * scale, zero.where(1.0, big * scale))
    angle = above.where(high / 2 - (angle - low / 2), angle)
    angle = x.copysign_bit().where(high - (angle - low), angle)
    unordered = y.compare("uno", x)
    return unordered.where(x.const(NAN), angle.copysign(y))
