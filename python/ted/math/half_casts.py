"""Conversions between f32 and the bits of f16 and bf16, in integer arithmetic on any vector.

Every number extends exactly; rounding is to nearest, ties to even, subnormal numbers included,
which the instruction for bf16 of some CPUs takes for zero.
"""

from __future__ import annotations

from ted.math.arithmetic import Num, like
from ted.mlir import arith, ir

# f16 in f32: its exponent field moves by 15 - 127, its mantissa by 23 - 10.
_SHIFT = 13
_REBIAS = (127 - 15) << 23
_SIGN = 0x8000
_INFINITY_F32, _INFINITY_F16, _QUIET_F16 = 0x7F800000, 0x7C00, 0x7E00
_QUIET_BF16 = 0x40
_TOO_LARGE = (15 + 127 + 1) << 23  # 2**16
_LEAST_NORMAL = (127 - 14) << 23


def from_bf16_bits(bits: Num) -> Num:
    """bf16 is the upper half of f32."""
    return (_unsigned(bits) << 16).from_bits(_f32(bits))


def to_bf16_bits(x: Num) -> Num:
    """Add a half of the last place kept, less the last bit's own oddness, and cut."""
    bits = x.bits()
    upper = _logical(bits, 16)
    nearest = _logical(bits + 0x7FFF + (upper & 1), 16)
    return _low16(x.compare("uno", x).where(upper | _QUIET_BF16, nearest))


def from_f16_bits(bits: Num) -> Num:
    """The bits in their places are the number divided by 2**112, subnormal or not."""
    wide = _unsigned(bits)
    sign, rest = (wide & _SIGN) << 16, wide & (_SIGN - 1)
    scaled = ((rest << _SHIFT).from_bits(_f32(bits)) * 2.0**112).bits()
    special = (rest << _SHIFT) | _INFINITY_F32
    is_finite = _below(rest, _INFINITY_F16)
    return (is_finite.where(scaled, special) | sign).from_bits(_f32(bits))


def to_f16_bits(x: Num) -> Num:
    """By the size of the number; adding 1/2 rounds a subnormal result in the adder.

    Source: F. Giesen, float_to_half_fast3_rtne.
    """
    signed = x.bits()
    bits = signed & 0x7FFFFFFF
    sign = _logical(signed, 16) & _SIGN
    odd = _logical(bits, _SHIFT) & 1
    normal = _logical(bits - _REBIAS + ((1 << (_SHIFT - 1)) - 1) + odd, _SHIFT)
    half = x.const(0.5)
    small = (bits.from_bits(x.value.type) + half).bits() - half.bits()
    number = _below(bits, _LEAST_NORMAL).where(small, normal)
    special = x.compare("uno", x).where(bits.const(_QUIET_F16), _INFINITY_F16)
    return _low16(_below(bits, _TOO_LARGE).where(number, special) | sign)


def to_odd_f32(x: Num) -> Num:
    """An f64 in f32, inexact numbers with an odd last bit: rounded again, they are rounded once.

    Source: Boldo and Melquiond, When double rounding is odd.
    """
    near = x.to(like(x.value.type, ir.F32Type.get()))
    back = near.to(x.value.type)
    bits = near.bits()
    is_inexact = back.compare("one", x) & (bits & 1).equals(0)
    is_larger = back.abs().compare("ogt", x.abs())
    odd = is_larger.where(bits - 1, bits + 1)
    return is_inexact.where(odd, bits).from_bits(near.value.type)


def _f32(bits: Num) -> ir.Type:
    return like(bits.value.type, ir.F32Type.get())


def _unsigned(bits: Num) -> Num:
    kind = like(bits.value.type, ir.IntegerType.get_signless(32))
    return Num(arith.ExtUIOp(kind, bits.value).result)


def _low16(bits: Num) -> Num:
    kind = like(bits.value.type, ir.IntegerType.get_signless(16))
    return Num(arith.TruncIOp(kind, bits.value).result)


def _logical(bits: Num, places: int) -> Num:
    return Num(arith.ShRUIOp(bits.value, bits.const(places).value).result)


def _below(bits: Num, limit: int) -> Num:
    """Whether a number without sign bit is below another."""
    return Num(arith.CmpIOp(arith.CmpIPredicate.slt, bits.value, bits.const(limit).value).result)
