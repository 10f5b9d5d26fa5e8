"""Split a basic set into independent factors: groups of dims that share no constraint.

The set is the product of its projections on the groups, so what is expensive in many dims (fibres,
counts) is done on a few dims at a time, and equal factors are solved once.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from ted.domain import conversion, sets


@dataclass(frozen=True)
class Factor:
    """The projection of a basic set on `dims`, in that order; all its divisions are explicit."""

    dims: tuple[int, ...]
    points: isl.Set


def factors(part: isl.BasicSet) -> list[Factor]:
    """The factors of a non-empty basic set with explicit divisions; by their first dim."""
    rank = part.dim(sets.SET)
    whole = isl.Set.from_basic_set(part)
    result: list[Factor] = []
    for group in _groups(part):
        points = whole
        for k in reversed(range(rank)):
            if k not in group:
                points = points.project_out(sets.SET, k, 1)
        result.append(Factor(tuple(sorted(group)), points.compute_divs()))
    return sorted(result, key=lambda factor: factor.dims)


def _groups(part: isl.BasicSet) -> list[frozenset[int]]:
    groups = [frozenset((k,)) for k in range(part.dim(sets.SET))]
    for constraint in conversion.constraints(part):
        tied = constraint.expression.dims
        joined = frozenset[int]().union(*(group for group in groups if group & tied))
        groups = [group for group in groups if not group & tied]
        groups += [joined] if joined else []
    return groups
