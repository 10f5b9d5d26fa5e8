"""Index expressions that depend on data, with a dim of its own for each value of data.

Before: the index minimum(idx[t], int64(t - 1)) where idx[t] != 0, over t
After:  d1 where d1 == minimum(d2, t - 1) and d2 != 0 for some d2, over t and d1

What holds for all values of the new dims holds whatever the data is. Integers of data are read as
whole numbers: conversions between index and int64 are transparent, arithmetic on them, which may
wrap, is unknown.
"""

from __future__ import annotations

from typing import Any

from ted.domain import sets
from ted.ir.affine import where_possible
from ted.ir.dtypes import INDEX, INT64
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, compare, dim, index, is_const, land, lnot, lor, select

_SAME = ("minimum", "maximum")  # of integers, they wrap nothing
_OF_INDICES = ("add", "sub", "neg", "abs")


def value_where(e: Expr, condition: Expr, domain: Any) -> Any:
    """The points of the domain where a condition may hold, with the value of an index there.

    The value is one more dim, the last one.
    """
    rank = sets.rank_of(domain)
    lifted = _Lifted(rank + 1)
    value, holds = lifted.value(e), lifted.condition(condition)
    wider = lifted.first + len(lifted.unknowns)
    points = sets.preimage(domain, wider, [sets.dim_aff(wider, d) for d in range(rank)])
    holds = land(compare("eq", dim(rank), value), holds)
    return sets.project(where_possible(holds, points), range(rank + 1))


class _Lifted:
    """One walk over expressions; equal values of data get one dim."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.unknowns: dict[Expr, int] = {}

    def value(self, e: Expr) -> Expr:
        """A whole number as an index."""
        if e.op == "const":
            return index(e.attr)
        if e.op in ("dim", "size"):
            return e
        if e.op == "unchecked" or (e.op == "cast" and self._keeps_values(e)):
            return self.value(e.args[0])
        if e.op in _SAME or (e.dtype.is_index and e.op in _OF_INDICES):
            return apply(e.op, *map(self.value, e.args))
        if e.dtype.is_index and e.op == "mul" and any(map(is_const, e.args)):
            return apply(e.op, *map(self.value, e.args))
        if e.op in ("floordiv", "mod") and is_const(e.args[1]) and e.args[1].attr > 0:
            return apply(e.op, *map(self.value, e.args))
        if e.op == "select":
            return select(self.condition(e.args[0]), *map(self.value, e.args[1:]))
        return dim(self.first + self.unknowns.setdefault(e, len(self.unknowns)))

    def _keeps_values(self, e: Expr) -> bool:
        source = e.args[0].dtype
        return source.kind in ("index", "int") and e.dtype in (INDEX, INT64)

    def condition(self, e: Expr) -> Expr:
        """A condition; what compares no whole numbers stays as it is."""
        if e.op == "not":
            return lnot(self.condition(e.args[0]))
        if e.op in ("and", "or"):
            return (land if e.op == "and" else lor)(*map(self.condition, e.args))
        if e.op in ("lt", "le", "eq", "ne") and e.args[0].dtype.kind in ("index", "int"):
            return compare(e.op, *map(self.value, e.args))
        return e
