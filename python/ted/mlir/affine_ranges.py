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
    expr = down(expr)
    if type(expr).__name__ in RULES:
        for part in operands_of(expr):
            yield from ranges_within(part, dims)
    yield range_within(expr, dims)
