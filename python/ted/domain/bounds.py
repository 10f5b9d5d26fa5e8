"""Exact answers about where an index function goes: inside a shape, between which values, twice.

All questions are decided over the integers, so divisions, skews and guards that interval analysis
gives up on are handled; each raises BudgetExhausted instead of a guess when it is too expensive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ted.domain import isl, parameters, sets
from ted.domain.budget import bounded, required, total_budget
from ted.domain.sizes import Extent


class Witness(NamedTuple):
    """A point of the domain at which component `dim` of an index has a `value` out of bounds."""

    point: tuple[int, ...]
    dim: int
    value: int
    sizes: tuple[tuple[str, int], ...] = ()
    """Sizes, as users write them, at which that happens."""


def out_of_bounds_witness(
    domain: isl.Set, index: Sequence[isl.PwAff], shape: Sequence[Extent]
) -> Witness | None:
    """The lexicographically first point of `domain` whose index leaves `shape`, or None.

    Raises: BudgetExhausted.
    """
    assert len(index) == len(shape), f"{len(index)} index values for {len(shape)} dims"
    domain = sets.anonymous(domain)
    values = [sets.anonymous_value(value) for value in index]
    found: list[Witness] = []
    for dim, (value, extent) in enumerate(zip(values, shape, strict=True)):
        with total_budget():
            bad = _outside(domain, value, extent)
            if bad.is_empty():
                continue
            bad, at = parameters.somewhere(bad)
            point = _first_point(bad)
            assert point is not None, "a set that is not empty has a point"
            reached = value_at(parameters.value_at(value, at), point)
            found.append(Witness(point, dim, reached, parameters.sizes_at(at)))
    return min(found, default=None)


def _outside(domain: isl.Set, value: isl.PwAff, extent: Extent) -> isl.Set:
    rank = sets.rank_of(domain)
    end = parameters.extent_value(rank, extent)
    below, beyond = value.lt_set(parameters.extent_value(rank, 0)), value.ge_set(end)
    known = parameters.promises(rank, parameters.parameters_of(beyond))
    return domain.intersect(known).intersect(below.union(beyond))


def _first_point(points: isl.Set) -> tuple[int, ...] | None:
    """The lexicographic minimum, or just some point where finding the minimum costs too much."""
    if points.is_empty():
        return None
    return sets.point_of(bounded(points.lexmin) or points)


def value_at(value: isl.PwAff, point: Sequence[int]) -> int:
    """The value of a piecewise function at an integer point of its domain."""
    at = isl.Point.zero(sets.space(len(point)))
    for k, coordinate in enumerate(point):
        at = at.set_coordinate_val(sets.SET, k, isl.Val(coordinate))
    return sets.to_int(value.eval(at))


def index_range(domain: isl.Set, value: isl.PwAff) -> tuple[int, int] | None:
    """The least and greatest value over the domain; None when the domain is empty or unbounded.

    Raises: BudgetExhausted.
    """
    values = image(domain, [value])
    return None if required(values.is_empty) else required(sets.dim_range, values, 0)


def image(domain: isl.Set, index: Sequence[isl.PwAff]) -> isl.Set:
    """The set of index values over the domain.

    Raises: BudgetExhausted.
    """
    return required(sets.anonymous_map(domain, index).range)


def writing(domain: isl.Set, index: Sequence[isl.PwAff], part: isl.Set) -> isl.Set:
    """The points of the domain whose index is in `part`.

    Raises: BudgetExhausted.
    """

    def inside() -> isl.Set:
        reached = sets.anonymous_map(domain, index).intersect_range(sets.anonymous(part)).domain()
        return sets.anonymous(domain).intersect(reached).coalesce()

    return required(inside)


def is_injective(domain: isl.Set, index: Sequence[isl.PwAff]) -> bool:
    """Whether no two points of the domain have the same index.

    Raises: BudgetExhausted.
    """
    return required(sets.anonymous_map(domain, index).is_injective)


def is_disjoint(one: isl.Set, other: isl.Set) -> bool:
    """Whether two sets share no point.

    Raises: BudgetExhausted.
    """
    return required(sets.anonymous(one).is_disjoint, sets.anonymous(other))


def is_subset(one: isl.Set, other: isl.Set) -> bool:
    """Whether every point of the first set is in the second.

    Raises: BudgetExhausted.
    """
    return required(sets.anonymous(one).is_subset, sets.anonymous(other))


def not_overwritten(
    domain: isl.Set,
    write: Sequence[isl.PwAff],
    later_domain: isl.Set,
    later_write: Sequence[isl.PwAff],
) -> isl.Set:
    """The points of `domain` whose written element `later_write` does not write again.

    Raises: BudgetExhausted.
    """
    later = image(later_domain, later_write)

    def kept() -> isl.Set:
        lost = sets.anonymous_map(domain, write).intersect_range(later).domain()
        return sets.anonymous(domain).subtract(lost).coalesce()

    return required(kept)
