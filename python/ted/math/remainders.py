"""The exact remainder of f32 division as straight-line code."""

from __future__ import annotations

from ted.math.arithmetic import Num
from ted.math.elementary_functions import INFINITY
from ted.mlir import math

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
