"""The values of an affine expression of MLIR and of its parts, by interval arithmetic.

As it is written, since that is what is computed: `(d0 * 7) mod 3` goes up to seven times d0, where
the quasi-affine function in it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ted.domain import intervals
from ted.domain.intervals import UNKNOWN, Interval
from ted.mlir import ir
from ted.mlir.affine_forms import down, linear, operands_of

RULES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "AffineAddExpr": intervals.add,
    "AffineMulExpr": intervals.mul,
    "AffineFloorDivExpr": intervals.floordiv,
    "AffineCeilDivExpr": intervals.ceildiv,
    "AffineModExpr": intervals.mod,
}
"""By the class of an expression of two operands."""
_BUILT: dict[str, Callable[[ir.AffineExpr, ir.AffineExpr], ir.AffineExpr]] = {
    "AffineAddExpr": ir.AffineExpr.get_add,
    "AffineMulExpr": ir.AffineExpr.get_mul,
    "AffineFloorDivExpr": ir.AffineExpr.get_floor_div,
    "AffineCeilDivExpr": ir.AffineExpr.get_ceil_div,
    "AffineModExpr": ir.AffineExpr.get_mod,
}


def range_within(
    expr: ir.AffineExpr, ranges: Sequence[Interval], rank: int | None = None
) -> Interval:
    """The values where dims, and with a `rank` then symbols, have these: exact if it is linear."""
    form = linear(expr, rank)
    if form is not None:
        return intervals.of_form(form, ranges)
    expr = down(expr)
    if isinstance(expr, ir.AffineSymbolExpr):
        return UNKNOWN
    left, right = (range_within(e, ranges, rank) for e in operands_of(expr))
    return RULES[type(expr).__name__](left, right)


def value_range(expr: ir.AffineExpr, extents: Sequence[int]) -> tuple[int, int]:
    """Least and largest value over the box 0 <= d < extents (bounds, if dims repeat)."""
    low, high = range_within(expr, [(0, extent - 1) for extent in extents])
    return int(low), int(high)


def ranges_within(expr: ir.AffineExpr, dims: Sequence[Interval]) -> Iterator[Interval]:
    """The interval of every part of an expression, its own last; symbols are without bound."""
    return (range_within(part, dims) for part in parts_of(expr))


def parts_of(expr: ir.AffineExpr) -> Iterator[ir.AffineExpr]:
    """All in an expression, as the classes that they are, itself last."""
    expr = down(expr)
    if type(expr).__name__ in RULES:
        for part in operands_of(expr):
            yield from parts_of(part)
    yield expr


def divided(expr: ir.AffineExpr) -> tuple[ir.AffineExpr, int] | None:
    """What is divided and by what, of a quotient or a remainder; None of another expression."""
    if not isinstance(expr, (ir.AffineFloorDivExpr, ir.AffineModExpr)):
        return None
    left, right = operands_of(expr)
    return (left, right.value) if isinstance(right, ir.AffineConstantExpr) else None


def settled_divisions(expr: ir.AffineExpr, extents: Sequence[int]) -> ir.AffineExpr:
    """The expression where quotients that are one number over the box are that number."""
    expr = down(expr)
    if type(expr).__name__ not in RULES or linear(expr) is not None:
        return expr
    parts = [settled_divisions(e, extents) for e in operands_of(expr)]
    built = down(_BUILT[type(expr).__name__](*parts))
    if (found := divided(built)) is None:
        return built
    whole, divisor = found
    quotient, last = (end // divisor for end in value_range(whole, extents))
    if quotient != last:
        return built
    if isinstance(built, ir.AffineModExpr):
        return down(whole - quotient * divisor)
    return down(ir.AffineExpr.get_constant(quotient))
