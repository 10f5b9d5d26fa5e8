"""The values of an affine expression of MLIR and of its parts, by interval arithmetic.

As it is written, since that is what is computed: `(d0 * 7) mod 3` goes up to seven times d0, where
the quasi-affine function in it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ted.domain import intervals
from ted.domain.intervals import UNKNOWN, Interval
from ted.mlir import ir

RULES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "AffineAddExpr": intervals.add,
    "AffineMulExpr": intervals.mul,
    "AffineFloorDivExpr": intervals.floordiv,
    "AffineCeilDivExpr": intervals.ceildiv,
    "AffineModExpr": intervals.mod,
}
"""By the class of an expression of two operands."""


def ranges_within(expression: Any, dims: Sequence[Interval]) -> Iterator[Interval]:
    """The interval of every part of an expression, its own last; symbols are without bound."""
    expression = expression.maybe_downcast()
    if isinstance(expression, ir.AffineConstantExpr):
        yield expression.value, expression.value
    elif isinstance(expression, ir.AffineDimExpr):
        yield dims[expression.position]
    elif isinstance(expression, ir.AffineSymbolExpr):
        yield UNKNOWN
    else:
        left = list(ranges_within(expression.lhs, dims))
        right = list(ranges_within(expression.rhs, dims))
        yield from (*left, *right)
        yield RULES[type(expression).__name__](left[-1], right[-1])
