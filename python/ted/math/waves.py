"""sin, cos and tan of arguments that are not large, in the precision of the argument.

Multiples of pi or pi/2 are taken off in three parts (W. Cody, W. Waite, Software Manual for the
Elementary Functions) with fused operations: the first is exact, so that no digit is lost near a
zero of the function. Errors are within 1 unit in the last place in f64, 2 in f32. Where `is_large`
the functions of large arguments take other reductions, NaN and infinities included.
"""

from __future__ import annotations

from ted.math.angle_reduction import quarter_turns_of_large
from ted.math.arithmetic import Num, joined
from ted.math.elementary_functions import format_of
from ted.math.float_formats import F32
from ted.math.trigonometry import quarter_turns

# pi/2 as a sum of numbers of the format, each cut off, so that none is negative; and how large an
# argument may be.
_HALF_PI_F32 = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
_HALF_PI_F64 = (1.5707963267948966, 6.123233973412625e-17, 2.232414100745812e-25)
_LIMIT_F32, _LIMIT_F64 = 2.0**17, 2.0**24

# (sin(r) / r - 1) / z and (cos(r) - 1 + z/2) / z**2 on |r| <= pi/4, z = r*r, in f64.
# Source: Sun Microsystems, FDLIBM, k_sin.c and k_cos.c.
_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
# (sin(r) / r - 1) / z on |r| <= 1.01 pi/2: a Chebyshev fit computed with 60 digits.
_HALF_WAVE_F32 = (
    -0.16666666663591634, 0.008333332722332241, -0.00019841075395087603,
    2.7535627696512617e-06, -2.406103324533765e-08,
)  # fmt: skip
# (tan(r) / r - 1) / z on |r| <= 1.004 pi/4: a fit of the same kind.
_TANGENT_F32 = (
    0.3333333402255736, 0.13333224985287728, 0.05399576679879487, 0.0216109172028808,
    0.00999781034273696, 0.001128574690477407, 0.003876678545788231,
)  # fmt: skip
# The same in f64, by the exchange algorithm: test/fitted_polynomials.py.
_TANGENT_F64 = (
    0.3333333333333277, 0.13333333333415529, 0.05396825392623381, 0.02186948961943807,
    0.008863219016703661, 0.0035922904154315856, 0.0014547498094386994, 0.0005950992362778843,
    0.0002222776140774955, 0.00013673700004304958, -2.6685465956495653e-05, 8.972849548144636e-05,
    -4.5026208130683964e-05, 2.0899382466672907e-05,
)  # fmt: skip
_TWO_OVER_PI = 0.6366197723675814


def is_large(x: Num) -> Num:
    """Where the functions of this module are not right."""
    return x.abs().compare("ugt", _LIMIT_F32 if format_of(x) is F32 else _LIMIT_F64)


def sin(x: Num) -> Num:
    """Sine."""
    if format_of(x) is F32:
        shifted = x.fma(_TWO_OVER_PI / 2, F32.magic)
        return _half_wave(x, shifted - F32.magic, shifted.bits())
    return _signed(*_reduced(x))


def cos(x: Num) -> Num:
    """Cosine."""
    if format_of(x) is F32:  # sin(x + pi/2): the multiple of pi is a half above an integer
        shifted = (x.fma(_TWO_OVER_PI / 2, 0.5)) + F32.magic
        return _half_wave(x, (shifted - F32.magic) - 0.5, shifted.bits())
    quadrant, r, low = _reduced(x)
    return _signed(quadrant + 1, r, low)


def tan(x: Num) -> Num:
    """Tangent."""
    return tan_reduced(*_reduced(x))


def sin_of_large(x: Num) -> Num:
    """Sine of a large f64."""
    return _signed(*quarter_turns_of_large(x))


def cos_of_large(x: Num) -> Num:
    """Cosine of a large f64."""
    quadrant, r, low = quarter_turns_of_large(x)
    return _signed(quadrant + 1, r, low)


def tan_of_large(x: Num) -> Num:
    """Tangent of a large f64."""
    return tan_reduced(*quarter_turns_of_large(x))


def tan_of_any(x: Num) -> Num:
    """Tangent of any f32."""
    quadrant, wide = quarter_turns(x)
    r = wide.to(x.value.type)
    low = (wide - r.to(wide.value.type)).to(x.value.type)
    return tan_reduced(quadrant, r, low)


def _half_wave(x: Num, n: Num, turns: Num) -> Num:
    """sin(x - n pi) in f32, with the other sign where `turns` is odd."""
    r, less = x, -n
    for part in _HALF_PI_F32:
        r = less.fma(2 * part, r)
    z = r * r
    wave = (r * z).fma(z.polynomial(_HALF_WAVE_F32), r).abs().copysign(r)
    return (wave.bits() ^ (turns << 31)).from_bits(x.value.type)


def _reduced(x: Num) -> tuple[Num, Num, Num]:
    """n, r and what r lacks, with x = n pi/2 + r, |r| <= pi/4; n as the low bits of an integer."""
    form = format_of(x)
    shifted = x.fma(_TWO_OVER_PI, form.magic)
    n = shifted - form.magic
    return shifted.bits(), *(_rest_f32 if form is F32 else _rest_f64)(x, n)


def _rest_f32(x: Num, n: Num) -> tuple[Num, Num]:
    first, second, third = _HALF_PI_F32
    r = (-n).fma(first, x)  # exact: few bits are left of both
    product = n * second
    lost = n.fma(second, -product)
    near = r - product
    low = ((r - near) - product) - lost
    return near, (-n).fma(third, low)


def _rest_f64(x: Num, n: Num) -> tuple[Num, Num]:
    """The second part has 28 bits, so that its products are exact, and so is a small `near`.

    Where `near` is not small it is at least half of r, and their difference is exact instead.
    """
    first, second, third = _HALF_PI_F64
    less = -n
    r = less.fma(first, x)  # exact: few bits are left of both
    near = less.fma(second, r)
    return near, less.fma(third, less.fma(second, r - near))


def _sine_rest(r: Num, z: Num, low: Num) -> Num:
    """sin(r + low) - r, in f64."""
    return (r * z).fma(z.polynomial(_SINE), (z * -0.5).fma(low, low))


def _cosine_parts(r: Num, z: Num, low: Num) -> tuple[Num, Num]:
    """1 - z/2 and what is to be added to be cos(r + low)."""
    near = z.fma(-0.5, z.const(1.0))
    lost = z.fma(-0.5, 1.0 - near)
    return near, (z * z).fma(z.polynomial(_COSINE), r.fma(-low, lost))


def _signed(quadrant: Num, r: Num, low: Num) -> Num:
    z = r * r
    s = (r + _sine_rest(r, z, low)).abs().copysign(r)
    near, rest = _cosine_parts(r, z, low)
    wave = (quadrant & 1).equals(1).where(near + rest, s)
    return (wave.bits() ^ ((quadrant & 2) << 62)).from_bits(r.value.type)


def tan_reduced(quadrant: Num, r: Num, low: Num) -> Num:
    """tan(r + low), or -1 over it where the quadrant is odd."""
    odd = (quadrant & 1).equals(1)
    size = (_tangent_f32 if format_of(r) is F32 else _tangent_f64)(odd, r, low)
    return size.abs().copysign(odd.where(-r, r))


def _tangent_f32(odd: Num, r: Num, low: Num) -> Num:
    """tan(r + low), or 1 over it."""
    z = r * r
    size = r + (r * z).fma(z.polynomial(_TANGENT_F32), z.fma(low, low))
    return odd.where(1.0 / size, size)


def _tangent_f64(odd: Num, r: Num, low: Num) -> Num:
    """tan(r + low), or 1 over it, which what the rounded tangent lacks corrects."""
    third, *others = _TANGENT_F64
    z = r * r
    cube = r * z
    near = cube.fma(third, r)
    low = low.fma(z.fma(1.6, 1.0), cube.fma(third, r - near))  # tan'(r) as far as it is seen
    size, lost = joined(near, (cube * z).fma(z.polynomial(tuple(others)), low))
    inverse = 1.0 / size
    lacking = (-inverse).fma(lost, (-inverse).fma(size, 1.0))
    return odd.where(lacking.fma(inverse, inverse), size)
