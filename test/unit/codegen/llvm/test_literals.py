"""Floating-point literals: the older spelling has the same bits, for every number and every NaN."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ted.codegen.llvm.literals import FORMATS, bits_of, nearest, rewrite_literals, spell
from ted.errors import CompileError

TYPES = {
    "half": (np.float16, np.uint16),
    "bfloat": (ml_dtypes.bfloat16, np.uint16),
    "float": (np.float32, np.uint32),
    "double": (np.float64, np.uint64),
}


def sample(name: str, count: int = 20_000) -> np.ndarray:
    """Bits of numbers of a format: all of two bytes, else random ones, subnormals among them."""
    unsigned = TYPES[name][1]
    width = 8 * np.dtype(unsigned).itemsize
    if width == 16:
        return np.arange(1 << 16, dtype=np.uint16)
    source = random.Random(0)
    bits = [source.getrandbits(width) for _ in range(count)]
    small = [source.getrandbits(FORMATS[name].mantissa) for _ in range(count // 10)]
    return np.array(bits + small, dtype=unsigned)


def finite(name: str) -> tuple[list[int], list[float]]:
    form, bits = FORMATS[name], sample(name)
    bits = bits[(bits & bits.dtype.type(form.infinity)) != form.infinity]
    values = bits.view(TYPES[name][0]).astype(np.float64)
    return [int(b) for b in bits], [float(v) for v in values]


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", TYPES)
def test_a_decimal_is_rounded_to_the_number_it_was_printed_for(name: str) -> None:
    digits = {"half": 6, "bfloat": 6, "float": 9, "double": 17}[name]
    for bits, value in zip(*finite(name), strict=True):
        assert bits_of(FORMATS[name], f"{value:.{digits}e}") == bits


@pytest.mark.parametrize("name", TYPES)
def test_bits_in_hexadecimal_are_taken_as_they_are(name: str) -> None:
    width = np.dtype(TYPES[name][1]).itemsize * 2
    for bits in map(int, sample(name)[::7]):
        assert bits_of(FORMATS[name], f"f0x{bits:0{width}X}") == bits


def test_halfway_goes_to_the_even_number() -> None:
    half = FORMATS["half"]
    assert nearest(half, 1 + Fraction(1, 1 << 11)) == 0x3C00
    assert nearest(half, 1 + Fraction(3, 1 << 11)) == 0x3C02
    assert nearest(half, Fraction(65519)) == 0x7BFF
    assert nearest(half, Fraction(65520)) == half.infinity
    assert nearest(half, Fraction(1, 1 << 25)) == 0
    assert nearest(half, Fraction(1, 1 << 25) + Fraction(1, 1 << 60)) == 1


@pytest.mark.parametrize("name", ["float", "double"])
def test_a_finite_number_is_spelled_as_a_double(name: str) -> None:
    for bits, value in zip(*finite(name), strict=True):
        assert spell(name, bits) == f"0x{struct.pack('>d', value).hex().upper()}"


def test_two_byte_types_are_spelled_by_their_bits() -> None:
    assert spell("half", 0x3C00) == "0xH3C00"
    assert spell("bfloat", 0xFF80) == "0xRFF80"


@pytest.mark.parametrize(
    ("literal", "half", "single"),
    [
        ("+inf", "0xH7C00", "0x7FF0000000000000"),
        ("-inf", "0xHFC00", "0xFFF0000000000000"),
        ("+qnan", "0xH7E00", "0x7FF8000000000000"),
        ("-qnan", "0xHFE00", "0xFFF8000000000000"),
        ("+nan(0x1)", "0xH7E01", "0x7FF8000020000000"),
        ("-snan(0x1)", "0xHFC01", "0xFFF0000020000000"),
    ],
)
def test_special_values_keep_sign_and_payload(literal: str, half: str, single: str) -> None:
    assert rewrite_literals(f"store half {literal}, ptr %p") == f"store half {half}, ptr %p"
    assert rewrite_literals(f"store float {literal}, ptr %p") == f"store float {single}, ptr %p"


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("%a = fmul float %x.1, 2.5", "%a = fmul float %x.1, 0x4004000000000000"),
        ("<2 x half> <half 0.1, half -2.0>", "<2 x half> <half 0xH2E66, half 0xHC000>"),
        ("splat (bfloat 1.0)", "splat (bfloat 0xR3F80)"),
        ("phi double [ 0.5, %a.1 ], [ +inf, %b ]",
         "phi double [ 0x3FE0000000000000, %a.1 ], [ 0x7FF0000000000000, %b ]"),
        ("fptrunc double 1.0 to float ; 1.5", "fptrunc double 0x3FF0000000000000 to float ; 1.5"),
        ('@s = constant [9 x i8] c"float 1.5", align 1', None),
        ('call float asm "add.f32 $0, $1, 0f1.5;", "=f,f"(float %x)', None),
        ('@"float 1.5" = external global float', None),
        ("br label %for.body.1.5", None),
        ("%r = add i32 %a, -17", None),
    ],
)  # fmt: skip
def test_a_literal_has_the_type_before_it_and_nothing_else_is_touched(
    line: str, rewritten: str | None
) -> None:
    assert rewrite_literals(line) == (line if rewritten is None else rewritten)


def test_a_literal_without_a_known_type_is_refused() -> None:
    with pytest.raises(CompileError, match=r"one of the types half, .*, got 1\.5 in 'fp128 1\.5'"):
        rewrite_literals("  fp128 1.5")
