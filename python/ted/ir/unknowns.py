"""Index expressions that depend on data, with a dim of its own for each value of data.

Before: the index minimum(idx[t], int64(t - 1)) where idx[t] != 0, over t
After:  d1 where d1 == minimum(d2, t - 1) and d2 != 0 for some d2, over t and d1

What holds for all values of the new dims holds whatever the data is; they have the values that the
data can have (`data_ranges.py`). Integers of data are read as whole numbers: conversions to wider
types are transparent, arithmetic that may wrap is unknown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ted.domain import sets
from ted.domain.budget import bounded, own_budget
from ted.domain.sizes import Extent
from ted.ir.affine import condition_set, where_possible
from ted.ir.data_ranges import of_type, range_of, wraps
from ted.ir.dtypes import INDEX, INT64, UINT64
from ted.ir.expressions import Expr
from ted.ir.scalar import apply, compare, dim, index, is_const, land, lnot, lor, select

_SAME = ("minimum", "maximum")  # of integers, they wrap nothing
_SUMS = ("add", "sub", "neg", "abs")


def is_inside(e: Expr, extent: Extent, condition: Expr, domain: Any) -> bool:
    """Whether an index is in [0, extent) wherever a condition holds, whatever the data is."""
    holds, wider = _lifted(e, condition, domain)
    if holds.reads:  # it would keep what it reads
        return bounded(_proved, holds, wider, extent, domain) is True
    return _known(holds, wider, extent, domain)


@lru_cache(maxsize=4096)
def _known(holds: Expr, wider: int, extent: Extent, domain: Any) -> bool:
    """The same of equal questions, which a program and its passes ask often."""
    with own_budget():
        return bounded(_proved, holds, wider, extent, domain) is True


def _proved(holds: Expr, wider: int, extent: Extent, domain: Any) -> bool:
    points, value = _points(holds, wider, domain), dim(sets.rank_of(domain))
    inside = land(compare("le", index(0), value), compare("lt", value, index(extent)))
    return points.is_subset(condition_set(inside, points))


def value_where(e: Expr, condition: Expr, domain: Any) -> Any:
    """The points of the domain where a condition may hold, with the value of an index there.

    The value is one more dim, the last one.
    """
    return _points(*_lifted(e, condition, domain), domain)


def _lifted(e: Expr, condition: Expr, domain: Any) -> tuple[Expr, int]:
    """What holds of dims of the domain, of the value, and of data; how many these are."""
    rank = sets.rank_of(domain)
    lifted = _Lifted(rank + 1)
    value, holds = lifted.value(e), lifted.condition(condition)
    holds = land(compare("eq", dim(rank), value), lifted.in_range(holds))
    return holds, lifted.first + len(lifted.unknowns)


def _points(holds: Expr, wider: int, domain: Any) -> Any:
    rank = sets.rank_of(domain)
    points = sets.preimage(domain, wider, [sets.dim_aff(wider, d) for d in range(rank)])
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
        is_sum = e.op in _SUMS or (e.op == "mul" and any(map(is_const, e.args)))
        if e.op in _SAME or (is_sum and (e.dtype.is_index or not wraps(e))):
            return apply(e.op, *map(self.value, e.args))
        if e.op in ("floordiv", "mod") and is_const(e.args[1]) and e.args[1].attr not in (0, -1):
            return apply(e.op, *map(self.value, e.args))
        if e.op == "select":
            return select(self.condition(e.args[0]), *map(self.value, e.args[1:]))
        return dim(self.first + self.unknowns.setdefault(e, len(self.unknowns)))

    def _keeps_values(self, e: Expr) -> bool:
        source = e.args[0].dtype
        if source.kind not in ("index", "int", "bool"):
            return False
        always = e.dtype in (INDEX, INT64) and source != UINT64
        return always or not wraps(e)

    def in_range(self, condition: Expr) -> Expr:
        """The condition, and what is known of the values of data."""
        for e, number in self.unknowns.items():
            found, value = range_of(e), dim(self.first + number)
            if found != of_type(INDEX):  # then they are finite
                low, high = (index(int(end)) for end in found)
                between = land(compare("le", low, value), compare("le", value, high))
                condition = land(condition, between)
        return condition

    def condition(self, e: Expr) -> Expr:
        """A condition; what compares no whole numbers stays as it is."""
        if e.op == "not":
            return lnot(self.condition(e.args[0]))
        if e.op in ("and", "or"):
            return (land if e.op == "and" else lor)(*map(self.condition, e.args))
        if e.op in ("lt", "le", "eq", "ne") and e.args[0].dtype.kind in ("index", "int"):
            return compare(e.op, *map(self.value, e.args))
        return e
