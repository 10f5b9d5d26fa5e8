"""Cut a problem into independent ones: groups of dims that share no constraint.

A basic set is the product of its projections on the groups, so what is expensive in many dims
(fibres, counts, loop bounds) is done on a few dims at a time, and equal factors are solved once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ted.domain import conversion, isl, sets
from ted.records import dataclass


@dataclass(frozen=True)
class Factor:
    """The projection of a basic set on `dims`, in that order; all its divisions are explicit."""

    dims: tuple[int, ...]
    points: isl.Set


@dataclass(frozen=True)
class IndexFactor:
    """The `targets` of an index map that depend on the coordinates `dims` alone, and these."""

    targets: tuple[int, ...]
    dims: tuple[int, ...]
    domain: isl.Set
    index: tuple[isl.PwAff, ...]


def factors(part: isl.BasicSet) -> list[Factor]:
    """The factors of a non-empty basic set with explicit divisions; by their first dim."""
    groups = _groups(part.dim(sets.SET), _tied_dims(part))
    return [Factor(group, _projection(part, group)) for group in groups]


def index_factors(part: isl.BasicSet, index: Sequence[isl.PwAff]) -> list[IndexFactor]:
    """The factors of an index map on a non-empty basic set with explicit divisions.

    Dims are tied by the constraints of the domain and by common use in a component of the index.
    """
    rank = part.dim(sets.SET)
    used = [
        frozenset(k for k in range(rank) if value.involves_dims(sets.IN, k, 1)) for value in index
    ]
    result: list[IndexFactor] = []
    for group in _groups(rank, [*_tied_dims(part), *used]):
        own = tuple(k for k, dims in enumerate(used) if dims & set(group))
        result.append(_index_factor(part, index, own, group))
    fixed = tuple(k for k, dims in enumerate(used) if not dims)
    return [*result, _index_factor(part, index, fixed, ())] if fixed else result


def _index_factor(
    part: isl.BasicSet, index: Sequence[isl.PwAff], targets: tuple[int, ...], dims: tuple[int, ...]
) -> IndexFactor:
    rank, zero = part.dim(sets.SET), sets.constant_aff(len(dims), 0)
    place = {dim: new for new, dim in enumerate(dims)}
    values = [sets.dim_aff(len(dims), place[k]) if k in place else zero for k in range(rank)]
    others_zero = sets.multi_aff(len(dims), values)
    own = tuple(index[k].pullback_multi_aff(others_zero) for k in targets)
    return IndexFactor(targets, dims, _projection(part, dims), own)


def _projection(part: isl.BasicSet, dims: Sequence[int]) -> isl.Set:
    points = isl.Set.from_basic_set(part)
    for k in reversed(range(part.dim(sets.SET))):
        if k not in dims:
            points = points.project_out(sets.SET, k, 1)
    return points.compute_divs()


def _tied_dims(part: isl.BasicSet) -> list[frozenset[int]]:
    return [constraint.expression.dims for constraint in conversion.constraints(part)]


def _groups(rank: int, ties: Iterable[frozenset[int]]) -> list[tuple[int, ...]]:
    """The finest partition of the dims that keeps each tie together, by first dim."""
    groups = [frozenset((k,)) for k in range(rank)]
    for tied in ties:
        joined = frozenset[int]().union(*(group for group in groups if group & tied))
        groups = [group for group in groups if not group & tied]
        groups += [joined] if joined else []
    return sorted(tuple(sorted(group)) for group in groups)
