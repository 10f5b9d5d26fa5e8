"""The exact remainder of a division as straight-line code."""

from __future__ import annotations

from ted.math.arithmetic import Num, like
from ted.math.elementary_functions import INFINITY, format_of
from ted.mlir import ir, math

_STEPS = 6  # quotients of f32 are below 2**278, and a step removes at least 50 bits of one


def fmod(x: Num, y: Num) -> Num:
    """x - y * trunc(x / y) for f32 values in f64, with the sign of x.

    A multiple q*y with a rounded q leaves a rest of few bits, so that every subtraction is exact.
    """
    a, b = x.abs(), y.abs()
    inverse = 1.0 / b
    rest = a
    for _ in range(_STEPS):
        quotient = Num(math.TruncOp((rest * inverse).value).result)
        rest = (-quotient).fma(b, rest)
    rest = rest.compare("olt", 0.0).where(rest + b, rest)
    rest = rest.compare("oge", b).where(rest - b, rest)
    whole = b.compare("oeq", INFINITY) & a.compare("olt", INFINITY)
    return whole.where(x, rest.copysign(x))


def fmod_f32(x: Num, y: Num) -> Num:
    """The same for f32, in f64."""
    wide = like(x.value.type, ir.F64Type.get())
    return fmod(x.to(wide), y.to(wide)).to(x.value.type)


def fmod_of_near(x: Num, y: Num) -> Num:
    """The same in the format itself, for quotients that are integers of its digits.

    A rounded quotient is at most the next integer, so that the rest is right, or y too small.
    """
    b = y.abs()
    quotient = Num(math.TruncOp(_quotient(x, y).value).result)
    rest = (-quotient).fma(b, x.abs())
    return rest.compare("olt", 0.0).where(rest + b, rest).copysign(x)


def has_far_quotient(x: Num, y: Num) -> Num:
    """Where `fmod_of_near` is not right, NaN, infinities and a divisor of 0 included."""
    far = _quotient(x, y).compare("uge", 2.0 ** (format_of(x).mantissa + 1))
    return far | y.abs().compare("oeq", INFINITY)


def _quotient(x: Num, y: Num) -> Num:
    return x.abs() / y.abs()
