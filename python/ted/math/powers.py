"""`x ** y` in f32, computed as exp(y log x) in f64, with the special cases of IEEE 754."""

from __future__ import annotations

from ted.math.arithmetic import Num, like
from ted.math.elementary_functions import INFINITY, NAN, exp, log
from ted.mlir import ir, math


def pow_f32(x: Num, y: Num) -> Num:
    """IEEE `pow`: 1 for y = 0 or x = 1, NaN for a negative x and a fractional y."""
    kind = x.value.type
    wide = like(kind, ir.F64Type.get())
    power = log(x.abs().to(wide)) * y.to(wide)
    size = exp(power.least(1000.0).most(-1000.0)).to(kind)
    whole = Num(math.FloorOp(y.value).result).compare("oeq", y)
    half = y * 0.5
    odd = whole & Num(math.FloorOp(half.value).result).compare("one", half)
    negative = x.copysign_bit()
    signed = (negative & odd).where(-size, size)
    invalid = x.compare("olt", 0.0) & x.compare("ogt", -INFINITY) & whole.negated()
    result = invalid.where(x.const(NAN), signed)
    trivial = y.compare("oeq", 0.0) | x.compare("oeq", 1.0)
    at_one = x.compare("oeq", -1.0) & y.abs().compare("oeq", INFINITY)
    return (trivial | at_one).where(x.const(1.0), result)
