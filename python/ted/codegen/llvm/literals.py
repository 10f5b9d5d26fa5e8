"""Floating-point literals of LLVM 24 text -> the hexadecimal ones that LLVM 22 reads.

The MLIR binding prints the IR of LLVM 24; llvmlite parses that of LLVM 22. All that differs in what
ted emits is the spelling of floating-point constants: `+inf`, `-qnan`, `+nan(0x1)`, `f0x3F800000`
are new, and a decimal is now rounded to its type, where LLVM 22 wants it exact. The oldest spelling
says the same in both: `0x` and the bits of the value as a double, `0xH` and `0xR` and the bits of a
half and a bfloat. A literal's type is the nearest type keyword before it on its line.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction

from ted.errors import CompileError
from ted.records import dataclass


@dataclass(frozen=True)
class Format:
    """A binary interchange format: one sign bit, `exponent` bits, `mantissa` bits."""

    exponent: int
    mantissa: int

    @property
    def bias(self) -> int:
        """What is added to an exponent to store it."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """Bits of +inf: every exponent bit."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def quiet(self) -> int:
        """The bit that makes a NaN quiet."""
        return 1 << (self.mantissa - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent + self.mantissa)


FORMATS = {
    "half": Format(5, 10),
    "bfloat": Format(8, 7),
    "float": Format(8, 23),
    "double": Format(11, 52),
}

# Names, strings and comments come first: what looks like a number inside them is none.
_TOKEN = re.compile(
    r"""(?P<opaque> [%@!\#$]?"[^"]*" | [%@!\#$][-\w$.]+ | ;.*$ )
      | (?P<type> \b(?:half|bfloat|float|double)\b )
      | (?P<literal> [+-](?:inf|qnan|s?nan\(0x[0-9a-fA-F]+\))(?![\w.])
                   | \bf0x[0-9a-fA-F]+\b
                   | (?<![\w.])[+-]?\d+\.\d*(?:[eE][+-]?\d+)? )""",
    re.VERBOSE,
)
_CANDIDATE = re.compile(r"[+-](?:inf|qnan|s?nan\()|\bf0x|\d\.")


def rewrite_literals(text: str) -> str:
    """Spell every floating-point literal of a module so that LLVM 22 reads the same value.

    Raises: CompileError on a literal whose type is none of half, bfloat, float, double.
    """
    lines = text.split("\n")
    return "\n".join(_rewrite_line(s) if _CANDIDATE.search(s) else s for s in lines)


def _rewrite_line(line: str) -> str:
    format_name = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal format_name
        token = match[0]
        if match["type"]:
            format_name = token
        if not match["literal"]:
            return token
        if not format_name:
            raise CompileError(
                "llvm: a floating-point literal must follow one of the types "
                f"{', '.join(FORMATS)}, got {token} in {line.strip()!r}"
            )
        return spell(format_name, bits_of(FORMATS[format_name], token))

    return _TOKEN.sub(replace, line)


def bits_of(form: Format, literal: str) -> int:
    """The bits that an LLVM 24 literal stands for."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    body = literal.lstrip("+-")
    sign = form.sign if literal.startswith("-") else 0
    if body == "inf":
        return sign | form.infinity
    if body == "qnan":
        return sign | form.infinity | form.quiet
    if body.startswith("nan("):
        return sign | form.infinity | form.quiet | int(body[4:-1], 16)
    if body.startswith("snan("):
        return sign | form.infinity | int(body[5:-1], 16)
    return sign | nearest(form, Fraction(body))


def nearest(form: Format, value: Fraction) -> int:
    """Bits of the number nearest to a value >= 0, ties to even; too large a value is infinity."""
    if value == 0:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    exponent = max(exponent, 1 - form.bias)  # subnormals share the least exponent
    significand = round(value / Fraction(2) ** (exponent - form.mantissa))
    # A significand of 2 ** mantissa and more carries its leading one into the exponent.
    bits = ((exponent + form.bias - 1) << form.mantissa) + significand
    return min(bits, form.infinity)


def spell(format_name: str, bits: int) -> str:
    """The literal of LLVM 22 with these bits."""
    if format_name == "half":
        return f"0xH{bits:04X}"
    if format_name == "bfloat":
        return f"0xR{bits:04X}"
    if format_name == "float":
        bits = _widened(bits)
    return f"0x{bits:016X}"


def _widened(bits: int) -> int:
    """The bits of a float -> those of the same value as a double."""
    single = FORMATS["float"]
    if bits & single.infinity != single.infinity:
        (value,) = struct.unpack(">f", bits.to_bytes(4, "big"))
        return int.from_bytes(struct.pack(">d", value), "big")
    # By hand: a conversion by the machine would make a signalling NaN quiet.
    sign, payload = bits >> 31, bits & ((1 << 23) - 1)
    return (sign << 63) | FORMATS["double"].infinity | (payload << 29)
