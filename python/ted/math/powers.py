"""`x ** y` as `2 ** (y log2 |x|)`, with the special cases of IEEE 754.

In f32 logarithm and power are polynomials in f64; in f64 the logarithm is a sum of two numbers.
Errors are within 1 unit in the last place. The polynomials are Chebyshev fits computed with 60
digits.
"""

from __future__ import annotations

from ted.math.arithmetic import Num, joined, like
from ted.math.elementary_functions import (
    INFINITY,
    LOG2_E,
    NAN,
    integer_part,
    mantissa_and_exponent,
    power_of_two,
)
from ted.math.float_formats import F64
from ted.mlir import ir, math

# log2(1 + f) / f on sqrt(1/2) <= 1 + f <= sqrt(2), within 2**-34.
_LOG2 = (
    1.442695040870856, -0.7213475209637739, 0.4808983601907742, -0.36067365521274786,
    0.28853739292451636, -0.24045434091354512, 0.2061728837581292, -0.18027099374536673,
    0.15878281778435305, -0.14348994441402418, 0.1449544004300994, -0.14145312593442405,
    0.07553753710775685,
)  # fmt: skip
_NOTHING = 2.0**-200  # times any number of f32, beside its logarithm; not times infinity or NaN
# 2**r on |r| <= 1/2, within 2**-28.
_EXP2 = (
    1.0, 0.6931472067342503, 0.2402265092256076, 0.05550327159647605, 0.00961805662050108,
    0.0013400454984126323, 0.00015461467905285986,
)  # fmt: skip
# (atanh(s) / s - 1 - z/3) / z**2 on 1 <= (1 + s) / (1 - s) <= sqrt(2), z = s*s.
_ATANH = (
    0.2, 0.14285714285714682, 0.11111111110827943, 0.09090909167696401, 0.07692297481259215,
    0.06667402346923655, 0.05853118169745603, 0.05861589311938259,
)  # fmt: skip
# (exp(r) - 1 - r) / r**2 on |r| <= ln(2)/2, within 2**-68: a term more than exp itself takes.
_EXP_TAIL = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
    0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06, 2.75572718102198e-07,
    2.5106274733573296e-08, 2.0915442297780116e-09,
)  # fmt: skip
_LARGEST = 708.0  # exp of it, and of its opposite, are normal numbers of f64
_THIRD = (1 / 3, 1.850371707708594e-17)


def pow_f32(x: Num, y: Num) -> Num:
    """IEEE `pow`: 1 for y = 0 or x = 1, NaN for a negative x and a fractional y."""
    kind = x.value.type
    wide = like(kind, ir.F64Type.get())
    a = x.abs()
    known = a.compare("oeq", 1.0) | y.compare("oeq", 0.0)  # 1, whatever the other is
    power = known.where(0.0, _log2(a, wide) * y.to(wide))
    power = power.least(300.0).most(-300.0)
    shifted = power + F64.magic
    p = (power - (shifted - F64.magic)).polynomial(_EXP2)
    bits = p.bits() + (shifted.bits() << F64.mantissa)  # times 2**n, and NaN stays what it is
    return _with_sign_of_power(x, y, bits.from_bits(wide).to(kind))


def _log2(a: Num, wide: ir.Type) -> Num:
    """log2(a) in f64 for a number of f32 that is not negative."""
    zero = a.compare("oeq", 0.0)
    a = a.to(wide)
    m, e = mantissa_and_exponent(a.bits(), a.value.type)
    f = m - 1.0
    logarithm = f.fma(f.polynomial(_LOG2), e)
    return zero.where(-INFINITY, a.fma(_NOTHING, logarithm))


def _with_sign_of_power(x: Num, y: Num, size: Num) -> Num:
    """NaN or a negative number for a negative x, by y."""
    whole = Num(math.FloorOp(y.value).result).compare("oeq", y)
    half = y * 0.5
    odd = whole & Num(math.FloorOp(half.value).result).compare("one", half)
    signed = (x.copysign_bit() & odd).where(-size, size)
    invalid = x.compare("olt", 0.0) & x.compare("ogt", -INFINITY) & whole.negated()
    return invalid.where(x.const(NAN), signed)


# ------------------------------------------------------------------ f64


def pow_f64(x: Num, y: Num) -> Num:
    """`pow` where `is_extreme` is false."""
    a = x.abs()
    high, low = _logarithm(a)
    power = y * high
    rest = y.fma(high, -power) + y * low
    shifted = power.fma(LOG2_E, F64.magic)
    n = shifted - F64.magic
    exact = n.fma(-F64.ln2_high, power)
    r, lost = joined(exact, n.fma(-F64.ln2_low, rest))
    p = (r + (r * r).fma(r.polynomial(_EXP_TAIL), lost)) + 1.0
    size = p * power_of_two(integer_part(shifted), x.value.type, F64)
    at_zero = y.compare("olt", 0.0).where(x.const(INFINITY), 0.0)
    at_zero = y.compare("oeq", 0.0).where(1.0, at_zero)
    return _with_sign_of_power(x, y, a.compare("oeq", 0.0).where(at_zero, size))


def is_extreme(x: Num, y: Num) -> Num:
    """Where a result may be no normal number, x is subnormal or no number, or y is none."""
    a = x.abs()
    beyond = (y * _logarithm(a)[0]).abs().compare("uge", _LARGEST)
    strange = (a.compare("olt", F64.tiny) | beyond) & a.compare("one", 0.0)
    return strange | a.compare("uge", INFINITY) | y.abs().compare("uge", INFINITY)


def _logarithm(a: Num) -> tuple[Num, Num]:
    """log(a) as a sum of two numbers, 2**-65 of it missing: log(m) = 2 atanh((m - 1) / (m + 1))."""
    m, e = mantissa_and_exponent(a.bits(), a.value.type)
    above, below = m - 1.0, m + 1.0
    below_low = m - (below - 1.0)
    inverse = 1.0 / below
    s = above * inverse
    s_low = ((-s).fma(below, above) - s * below_low) * inverse
    z = s * s
    z_low = s.fma(s, -z) + (s * 2.0) * s_low
    # t = 1/3 + z/5 + ..., then w = z t, both as sums of two numbers.
    t, t_low = joined(z.const(_THIRD[0]), z.fma(z.polynomial(_ATANH), _THIRD[1]))
    w = z * t
    w_low = z.fma(t, -w) + z.fma(t_low, z_low * t)
    s, s_low = s * 2.0, s_low * 2.0
    cubic = s * w
    cubic_low = s.fma(w, -cubic) + s.fma(w_low, s_low * w)
    total, lost = joined(e * F64.ln2_high, s)
    total, lost_too = joined(total, cubic)
    low = e.fma(F64.ln2_low, s_low + cubic_low) + (lost + lost_too)
    return joined(total, low)
