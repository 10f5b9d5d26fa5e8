"""Powers with integers as exponents, which are data: of integers exact, of floats with their sign.

Before: x ** n with n = 257, of bfloat16, which holds 256        After: -x ** n below 0
"""

from __future__ import annotations

from ted.ir import scalar
from ted.ir.dtypes import INT64, accumulator
from ted.ir.expressions import Expr
from ted.ir.scalar import FALSE


def of_integer(base: Expr, exponent: Expr) -> Expr:
    """An integer to a power of data, by squares for its bits: what is below 1 becomes 0.

    Before: a ** b        After: (a if b & 1 else 1) * (a**2 if b & 2 else 1) * ...
    """
    zero, one = (scalar.const(k, base.dtype) for k in (0, 1))
    found, square = one, base
    for k in range(base.dtype.bits - (not base.dtype.is_unsigned)):
        found = scalar.mul(found, scalar.select(_has_bit(exponent, k), square, one))
        square = scalar.mul(square, square)
    is_more = scalar.compare("ne", scalar.absolute(base), one)
    below = scalar.land(scalar.compare("lt", exponent, zero), is_more)
    return scalar.select(below, zero, found)


def of_float(base: Expr, exponent: Expr) -> Expr:
    """A float to a power that is an integer, which its type need not hold.

    Halves go by the type of their sums, which holds integers up to 2 ** 24. A greater exponent is
    rounded to an even one, as all floats of its size are: that of a magnitude, whose sign follows.
    """
    kind = base.dtype
    base = scalar.cast(base, accumulator(kind))
    exponent = scalar.cast(exponent, INT64) if exponent.dtype.is_index else exponent
    power = scalar.cast(exponent, base.dtype)
    is_rounded = _is_above(exponent, 2 ** (base.dtype.mantissa + 1))
    size = scalar.select(is_rounded, scalar.absolute(base), base)
    found = scalar.apply("pow", size, power)
    turns = scalar.land(scalar.land(is_rounded, _has_bit(exponent, 0)), _is_below(base))
    return scalar.cast(scalar.select(turns, scalar.neg(found), found), kind)


def _has_bit(value: Expr, position: int) -> Expr:
    bit = scalar.bits("bitand", value, scalar.const(1 << position, value.dtype))
    return scalar.compare("ne", bit, scalar.const(0, value.dtype))


def _is_above(value: Expr, limit: int) -> Expr:
    """Whether an integer has a magnitude above a limit."""
    least, most = value.dtype.range
    if value.op == "cast" and value.args[0].dtype.is_index:
        return FALSE  # no loop is that long
    most_of, least_of = (
        scalar.const(k, value.dtype) for k in (min(limit, most), max(-limit, least))
    )
    above, below = scalar.compare("lt", most_of, value), scalar.compare("lt", value, least_of)
    return scalar.lor(above if limit < most else FALSE, below if least < -limit else FALSE)


def _is_below(value: Expr) -> Expr:
    """Whether the sign of a float is set, that of a zero included."""
    zero, one = (scalar.const(k, value.dtype) for k in (0, 1))
    inverse = scalar.div(one, value)  # -inf for -0.0
    return scalar.lor(scalar.compare("lt", value, zero), scalar.compare("lt", inverse, zero))
