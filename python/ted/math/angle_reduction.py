"""Any large f64 as a multiple of pi/2 and a rest, by integers: for scalars, since so large are few.

x is an integer of 53 bits times a power of two, and of that power times 2/pi only 192 bits count:
those above are multiples of four quarter turns, those below add less than 2**-136 to the rest.
Source: M. Payne, R. Hanek, Radian reduction for trigonometric functions.
"""

from __future__ import annotations

import itertools

from ted.math.arithmetic import Num
from ted.mlir import arith, ir, vector
from ted.mlir.scalars import constant_from

# 64 zeros, then the first 1216 bits of 2/pi.
_TWO_OVER_PI = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_MANTISSA = 52
_SIGN = -(1 << 63)
# A number is its mantissa times 2**(e - 1075); bit 63 of the table has the weight 1, and the window
# starts at the bit whose product has the weight 2.
_FIRST = 63 - 1 - 1075


def quarter_turns_of_large(x: Num) -> tuple[Num, Num, Num]:
    """n, r and what r lacks, with x = n pi/2 + r modulo 2 pi, |r| <= pi/4, for 2**24 <= |x|."""
    bits = x.abs().bits()
    mantissa = (bits & ((1 << _MANTISSA) - 1)) | (1 << _MANTISSA)
    turns = _product(mantissa, _window((bits >> _MANTISSA) + _FIRST))
    quadrant = (turns[0] + (1 << 61)).shift_right(62)
    top = turns[0] - (quadrant << 62)
    negative = top >> 63  # in all bits
    high, low = _as_floats([word ^ negative for word in (top, *turns[1:])], x.value.type)
    high = high + (x - x)  # NaN for what is not finite
    r = high * _HALF_PI[0]
    rest = high.fma(_HALF_PI[0], -r) + high.fma(_HALF_PI[1], low * _HALF_PI[0])
    sign = (x.bits() ^ negative) & _SIGN
    r, rest = ((part.bits() ^ sign).from_bits(x.value.type) for part in (r, rest))
    return x.copysign_bit().where(quadrant.const(0) - quadrant, quadrant), r, rest


def _window(first: Num) -> list[Num]:
    """192 bits of the table from a bit on, as words, the highest first."""
    words = [word - (1 << 64) if word >> 63 else word for word in _TWO_OVER_PI]
    kind = ir.VectorType.get([len(words)], first.value.type)
    attributes = [ir.IntegerAttr.get(first.value.type, word) for word in words]
    table = constant_from(kind, ir.DenseElementsAttr.get(attributes, kind))
    place, shift = first >> 6, first & 63
    found = [_word(table, place + k) for k in range(4)]
    return [
        Num(arith.ShLIOp(a.value, shift.value).result) | b.shift_right(1).shift_right(shift ^ 63)
        for a, b in itertools.pairwise(found)
    ]


def _word(table: ir.Value, place: Num) -> Num:
    index = arith.IndexCastOp(ir.IndexType.get(), place.value).result
    dynamic = ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size()])
    return Num(vector.ExtractOp(table, [index], dynamic).result)


def _product(factor: Num, words: list[Num]) -> list[Num]:
    """The lowest 192 bits of a product, as words, the highest first."""
    (low, carry), (middle, above) = (
        (Num(v) for v in arith.MulUIExtendedOp(factor.value, word.value).results)
        for word in (words[2], words[1])
    )
    flag = ir.IntegerType.get_signless(1)
    added = arith.AddUIExtendedOp(middle.value.type, flag, middle.value, carry.value)
    overflow = Num(arith.ExtUIOp(factor.value.type, added.overflow).result)
    return [factor * words[0] + above + overflow, Num(added.sum), low]


def _as_floats(words: list[Num], kind: ir.Type) -> tuple[Num, Num]:
    """192 bits of which the highest has the weight 2, as a float and what it lacks."""
    halves = [half for word in words for half in (word.shift_right(32), word & ((1 << 32) - 1))]
    parts = [half.number_from(kind) * 2.0 ** -(30 + 32 * k) for k, half in enumerate(halves)]
    total, *others = parts
    lacking = total.const(0.0)
    for part in others:  # each is smaller than what is there, or that is 0
        joined = total + part
        lacking = lacking + ((total - joined) + part)
        total = joined
    return total, lacking
