"""Elementary functions as straight-line code that LLVM vectorises: no branches, no calls.

Each function takes and gives a `Num` of f32 or f64 and is right at zeros, infinities, NaN, where
the result is subnormal or overflows. Errors are those of docs/accuracy.md, which the tests check on
dense grids.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ted.math.arithmetic import Num, element
from ted.math.float_formats import (
    ERF_FAR,
    ERF_FAR_CENTRE,
    ERF_FAR_END,
    ERF_SMALL,
    ERFC_SCALED,
    F32,
    F64,
    LOG_F32,
    LOG_F64,
    Format,
)
from ted.mlir import ir
from ted.mlir import math as math_ops

LOG2_E = 1.4426950408889634
# log10(e) as sums of two numbers of the format, both positive, so that infinity stays infinite.
LOG10_E, LOG10_E_F32 = (
    (0.4342944819032518, 1.098319650216765e-17), (0.4342944622039795, 1.9699272335463627e-08),
)  # fmt: skip
INFINITY, NAN = math.inf, math.nan


def format_of(x: Num) -> Format:
    """The constants of the type of x."""
    return _format_of_type(x.value.type)


def _format_of_type(kind: ir.Type) -> Format:
    return F32 if str(element(kind)) == "f32" else F64


def _reduce(x: Num) -> tuple[Num, Num]:
    """n + 2 bias as low bits of an integer, and r with x = n ln 2 + r, |r| <= ln(2)/2."""
    form = format_of(x)
    # Adding the magic number rounds to nearest in the float unit and needs no conversion, which
    # would be undefined for NaN.
    magic = form.magic + 2 * form.bias
    shifted = x.fma(LOG2_E, magic)
    n = shifted - magic
    r = n.fma(-form.ln2_high, x)
    return shifted.bits(), n.fma(-form.ln2_low, r)


def _magic_bits(form: Format) -> int:
    return ((form.bias + form.mantissa) << form.mantissa) | (1 << (form.mantissa - 1))


def integer_part(shifted: Num) -> Num:
    """The integer n of a float n + magic."""
    return shifted.bits() - _magic_bits(format_of(shifted))


def power_of_two(n: Num, kind: ir.Type, form: Format) -> Num:
    """2**n for an integer n among the exponents of normal numbers, or its low bits."""
    return ((n + form.bias) << form.mantissa).from_bits(kind)


def _expm1_reduced(r: Num) -> Num:
    """exp(r) - 1 on |r| <= ln(2)/2."""
    return (r * r).fma(r.polynomial(format_of(r).exp_tail), r)


def exponential_factors(x: Num) -> tuple[Num, Num, Num]:
    """q, s and t with exp(x) = (1 + q) s t, s and t powers of two."""
    form = format_of(x)
    biased, r = _reduce(x.least(form.exp_range[1]).most(form.exp_range[0]))
    return _expm1_reduced(r), *_two_powers(biased, x.value.type)


def _two_powers(biased: Num, kind: ir.Type) -> tuple[Num, Num]:
    """Factors of 2**n, n + 2 bias being given: half of that, rounded down and up, is their fields.

    Two factors reach every exponent, subnormal results and infinity included.
    """
    form = _format_of_type(kind)
    one = 1 << (form.mantissa - 1)
    fields = (2 * form.bias + 1) << form.mantissa
    moved = biased << (form.mantissa - 1)
    return (moved & fields).from_bits(kind), ((moved + one) & fields).from_bits(kind)


def scaled(q: Num, s: Num, t: Num) -> Num:
    """(1 + q) s t; only the last product may be rounded to fewer bits."""
    return q.fma(s, s) * t


def exp(x: Num) -> Num:
    """e to the x."""
    return scaled(*exponential_factors(x))


def expm1(x: Num) -> Num:
    """exp(x) - 1, exact for small x."""
    form = format_of(x)
    result = _half_expm1(x.least(form.expm1_range[1]).most(form.expm1_range[0])) * 2.0
    return x.abs().compare("olt", 1e-30).where(x, result)  # keeps the sign of zero and subnormals


def _half_expm1(x: Num) -> Num:
    """(exp(x) - 1) / 2, which overflows later than exp(x)."""
    form = format_of(x)
    biased, r = _reduce(x)
    scale = power_of_two(biased - (2 * form.bias + 1), x.value.type, form)
    return _expm1_reduced(r).fma(scale, scale - 0.5)


def exp2(x: Num) -> Num:
    """2 to the x."""
    form = format_of(x)
    low, high = -float(form.bias + form.mantissa + 2), float(form.bias + 2)
    x = x.least(high).most(low)
    magic = form.magic + 2 * form.bias
    shifted = x + magic
    r = (x - (shifted - magic)) * math.log(2)
    return scaled(_expm1_reduced(r), *_two_powers(shifted.bits(), x.value.type))


def split(x: Num) -> tuple[Num, Num, float]:
    """f, e and u with x = (1 + f) 2**(e u), sqrt(1/2) <= 1 + f < sqrt(2), 0 < x < infinity."""
    form, kind = format_of(x), x.value.type
    shift = form.mantissa + 1
    raised = (x * 2.0**shift).bits() - (shift << form.mantissa)
    bits = x.compare("olt", form.tiny).where(raised, x.bits())
    if form is F64:
        m, e = mantissa_and_exponent(bits, kind)
        return m - 1.0, e, 1.0
    e = (bits - form.sqrt_half) & -(1 << form.mantissa)
    return (bits - e).from_bits(kind) - 1.0, e.number_from(kind), 2.0**-form.mantissa


def mantissa_and_exponent(bits: Num, kind: ir.Type) -> tuple[Num, Num]:
    """m and e, sqrt(1/2) <= m < sqrt(2), from the bits of m 2**e in f64.

    AVX2 has no conversion of 64 bits, so that e becomes the low bits of a float.
    """
    bias = 2 * F64.bias + 1  # for exponents of subnormal numbers, too
    moved = bits + ((bias << F64.mantissa) - F64.sqrt_half)
    one = 1 << F64.mantissa
    number = moved.shift_right(F64.mantissa) | ((F64.bias + F64.mantissa) << F64.mantissa)
    m = (moved & (one - 1)) + F64.sqrt_half
    return m.from_bits(kind), number.from_bits(kind) - float(one + bias)


def log(x: Num) -> Num:
    """Natural logarithm."""
    form = format_of(x)
    f, e, unit = split(x)
    if form is F32:
        result = e.fma(unit * math.log(2), _log_mantissa(f))
    else:
        half_square, tail = _log_parts(f)
        tail = e.fma(unit * form.ln2_low, tail)
        result = e.fma(unit * form.ln2_high, f - (half_square - tail))
    return _log_edges(x, result)


def _log_edges(x: Num, result: Num) -> Num:
    finite = x.compare("olt", INFINITY).where(result, x)
    at_zero = x.compare("oeq", 0.0).where(x.const(-INFINITY), NAN)
    return x.compare("ogt", 0.0).where(finite, at_zero)


def log2(x: Num) -> Num:
    """Logarithm to the base 2."""
    f, e, unit = split(x)
    return _log_edges(x, _log_mantissa(f).fma(LOG2_E, e * unit))


def _log_mantissa(f: Num) -> Num:
    """log(1 + f) where the exponent is zero."""
    if format_of(f) is F32:
        return (f * f).fma(f.polynomial(LOG_F32), f)
    half_square, tail = _log_parts(f)
    return f - (half_square - tail)


def _log_parts(f: Num) -> tuple[Num, Num]:
    """f*f/2 and what makes log(1 + f) of f - f*f/2, in f64."""
    half_square = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    return half_square, s * z.fma(z.polynomial(LOG_F64), half_square)


def log10(x: Num) -> Num:
    """Logarithm to the base 10."""
    high, low = LOG10_E_F32 if format_of(x) is F32 else LOG10_E
    logarithm = log(x)
    return logarithm.fma(high, logarithm * low)


def log1p(x: Num) -> Num:
    """log(1 + x), exact for small x."""
    u = 1.0 + x
    # The rounding error of 1 + x, to first order. Source: HP-15C Advanced Functions Handbook.
    lost = x - (u - 1.0)
    result = log(u) + lost / u
    small = x.abs().compare("olt", 1e-30)
    finite = u.compare("olt", INFINITY).where(result, u)
    at_end = x.compare("oeq", -1.0).where(x.const(-INFINITY), finite)  # where u is 0
    return small.where(x, at_end)


def tanh(x: Num) -> Num:
    """Hyperbolic tangent."""
    form = format_of(x)
    t = _half_expm1((x.abs() * 2.0).least(20.0 if form is F32 else 44.0))
    return (t / (t + 1.0)).copysign(x)


def erf(x: Num) -> Num:
    """Error function."""
    if format_of(x) is F32:
        return erf_f32(x, exp)
    a = x.abs().least(ERF_FAR_END)
    near = x.fma((x * x).polynomial((ERF_SMALL[0] - 1.0, *ERF_SMALL[1:])), x)
    root = (a - ERF_FAR_CENTRE).polynomial(ERF_FAR)
    far = (-root).fma(root, 1.0).copysign(x)
    return a.compare("olt", 1.0).where(near, far)


# Source: N. Juffa, single-precision erf with two polynomials and one exponential.
_ERF_NEAR = (
    1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4,
)  # fmt: skip
_ERF_FAR = (
    -1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3, 3.83197126e-4,
    -1.72853470e-5,
)  # fmt: skip


def erf_f32(x: Num, exp: Callable[[Num], Num]) -> Num:
    """Error function in f32, from an exponential."""
    a = x.abs().least(4.0)
    near = (x * x).least(1.0).polynomial(_ERF_NEAR).fma(x, x)
    exponent = a.polynomial(_ERF_FAR).fma(a, -a)
    far = (1.0 - exp(exponent)).copysign(x)
    return a.compare("olt", 0.927734375).where(near, x.compare("uno", x).where(x, far))


def _erfc_positive(a: Num) -> Num:
    """erfc on 1/2 <= a <= 28, in f64."""
    q = (a - 3.0) / (a + 3.0)
    scaled = q.polynomial(ERFC_SCALED) / a.fma(2.0, 1.0)
    square = a * a
    lost = a.fma(a, -square)  # exp(-a*a) = exp(-square) * (1 - lost)
    return (exp(-square) * scaled) * (1.0 - lost)


def erfc(x: Num) -> Num:
    """1 - erf(x), exact where it is small."""
    a = x.abs()
    clamped = a.least(28.0).most(0.5)
    far = _erfc_positive(clamped)
    far = x.compare("olt", 0.0).where(2.0 - far, far)
    near = 1.0 - x * (x * x).least(1.0).polynomial(ERF_SMALL)
    result = a.compare("olt", 0.5).where(near, far)
    return x.compare("uno", x).where(x, result)


def rsqrt(x: Num) -> Num:
    """1 / sqrt(x)."""
    return 1.0 / Num(math_ops.SqrtOp(x.value).result)
