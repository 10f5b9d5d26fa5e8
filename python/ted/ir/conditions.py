"""Conditions over dims and data -> sets of points that surely contain where they hold."""

from __future__ import annotations

from typing import Any

from ted.domain import sets
from ted.ir.affine import NotAffine, condition_set
from ted.ir.scalar import Expr


def over_approximation(condition: Expr, domain: Any) -> Any:
    """The points where a condition may hold: comparisons of data count as true.

    The result lies in the space of `domain` and is not restricted to it.
    """
    try:
        return condition_set(condition, domain)
    except NotAffine:
        pass
    if condition.op == "and":
        one, other = (over_approximation(a, domain) for a in condition.args)
        return one.intersect(other)
    if condition.op == "or":
        one, other = (over_approximation(a, domain) for a in condition.args)
        return one.union(other)
    return sets.universe(sets.rank_of(domain))
