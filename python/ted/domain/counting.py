"""The exact number of points of a bounded set, without visiting them.

A set is cut into disjoint basic sets; in each, equalities and divisions are solved away, which
leaves polytopes, and those into factors that share no constraint: counts of factors multiply. One
dim is an interval. Of two, the inner one is an interval between quasi-affine bounds, summed in
closed form over the outer one. More dims are cut into slices along the shortest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ted.domain import conversion, isl, sets
from ted.domain.affine import Aff
from ted.domain.budget import BudgetExhausted, own_budget, required
from ted.domain.components import Factor, factors
from ted.domain.lattice import solve_equalities
from ted.domain.projection import integral
from ted.errors import DomainError

MAX_SLICES = 1024
"""More planes than this in a factor of three or more dims are not counted one by one."""
MAX_VISITS = 100_000
"""More values than this of a single strided dim are not visited one by one."""


class Count(NamedTuple):
    """A number of points; an upper bound of it unless `exact`."""

    points: int
    exact: bool


def count(points: isl.Set) -> Count:
    """The number of points, or the volume of bounding boxes where counting is too expensive.

    Raises: DomainError when the set is unbounded; BudgetExhausted.
    """
    try:
        return Count(count_points(points), True)
    except BudgetExhausted:
        parts = required(sets.disjoint_parts, sets.anonymous(points))
        return Count(sum(required(_box_volume, part) for part in parts), False)


def count_points(points: isl.Set) -> int:
    """The exact number of points.

    Raises: DomainError when the set is unbounded; BudgetExhausted.
    """
    text = sets.anonymous(points).to_str()
    counted = _count_text(text)
    if isinstance(counted, BudgetExhausted):
        raise counted
    return counted


@lru_cache(maxsize=4096)
def _count_text(text: str) -> int | BudgetExhausted:
    try:
        with own_budget():
            return _count_union(isl.Set(text))
    except BudgetExhausted as error:
        return error


def _count_union(points: isl.Set) -> int:
    parts = required(sets.disjoint_parts, points)
    polytopes = [polytope for part in parts for polytope in required(_polytopes, part)]
    return sum(math.prod(map(_count_factor, required(factors, p))) for p in polytopes)


def _polytopes(part: isl.BasicSet) -> list[isl.BasicSet]:
    """Sets with as many points, written with inequalities only; divisions become dims."""
    has_equalities = any(c.is_equality() for c in part.get_constraints())
    if not has_equalities and part.dim(sets.DIV) == 0:
        return [part]
    solved = solve_equalities(part, 0, lambda dim: (dim,)).domain
    return [polytope for simpler in sets.disjoint_parts(solved) for polytope in _polytopes(simpler)]


def _count_factor(factor: Factor) -> int:
    points = factor.points
    ranges = required(_bounded_ranges, points)
    lengths = [upper - lower + 1 for lower, upper in ranges]
    if len(lengths) == 1:
        return lengths[0]
    if len(lengths) == 2:
        return required(_count_plane, points, lengths.index(max(lengths)))
    planes = math.prod(sorted(lengths)[:-2])
    if planes > MAX_SLICES:
        raise BudgetExhausted(f"counting: at most {MAX_SLICES} slices, got {planes}")
    shortest = lengths.index(min(lengths))
    lower, upper = ranges[shortest]
    return sum(_count_union(_slice(points, shortest, at)) for at in range(lower, upper + 1))


def _bounded_ranges(points: isl.Set) -> list[tuple[int, int]]:
    ranges = sets.dim_ranges(points)
    if ranges is None:
        raise DomainError(f"counting: every dim must be bounded, got {points}")
    return ranges


def _slice(points: isl.Set, index: int, value: int) -> isl.Set:
    return points.fix_val(sets.SET, index, isl.Val(value)).project_out(sets.SET, index, 1)


def _count_plane(points: isl.Set, inner: int) -> int:
    """Sum the lengths of the intervals of dim `inner` over the other dim of a polygon."""
    relation = sets.as_function(points, inner)
    last, first = relation.lexmax_pw_multi_aff(), relation.lexmin_pw_multi_aff()
    return _total(last, 1) - _total(first, 0)


def _total(function: isl.PwMultiAff, plus: int) -> int:
    """The sum of a function of one dim over all its pieces, with `plus` added everywhere."""
    total = 0
    for points, value in sets.pieces_of(function):
        summand = conversion.from_isl(integral(value.get_aff(0))) + plus
        total += sum(_sum_over(part, summand) for part in sets.disjoint_parts(points))
    return total


def _sum_over(part: isl.BasicSet, value: Aff) -> int:
    """The sum of a quasi-affine value over a set of one dim: an arithmetic series per residue."""
    ((lower, upper),) = _bounded_ranges(isl.Set.from_basic_set(part))
    guard = conversion.constraints(part)
    period = value.period(0)
    length = upper - lower + 1
    if length <= period or part.dim(sets.DIV):
        if length > MAX_VISITS:
            raise BudgetExhausted(f"counting: at most {MAX_VISITS} strided values, got {length}")
        inside = (x for x in range(lower, upper + 1) if all(c.holds((x,)) for c in guard))
        return sum(value.evaluate((x,)) for x in inside)
    step = value.evaluate((lower + period,)) - value.evaluate((lower,))
    total = 0
    for start in range(lower, lower + period):
        terms = (upper - start) // period + 1
        total += terms * value.evaluate((start,)) + step * (terms * (terms - 1) // 2)
    return total


def _box_volume(part: isl.BasicSet) -> int:
    ranges = _bounded_ranges(isl.Set.from_basic_set(part))
    return math.prod(upper - lower + 1 for lower, upper in ranges)
