"""A small vocabulary over isl for sets with positional, unnamed dims.

Two dims that share a name are taken for one by text, by parsing and by some of isl's alignments,
which silently joins what must stay apart; so sets enter through `anonymous` and stay unnamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import gcd
from typing import Any

from ted.domain import isl

_DIMS = {"SET": "set", "IN": "in_", "OUT": "out", "DIV": "div", "PARAM": "param"}


def __getattr__(name: str) -> Any:
    if name not in _DIMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(isl.dim_type, _DIMS[name])
    return value


def space(rank: int, parameters: Sequence[str] = ()) -> isl.Space:
    """The space of unnamed points with `rank` coordinates, and of parameters by name."""
    return _space(rank, tuple(parameters))


@cache  # isl's values do not change, and islpy loses some bytes for each that a call takes
def _space(rank: int, parameters: tuple[str, ...]) -> isl.Space:
    result = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, len(parameters), rank)
    for k, name in enumerate(parameters):
        result = result.set_dim_name(isl.dim_type.param, k, name)
    return result


def _is_anonymous(named: isl.Space, rank: int) -> bool:
    return not named.has_tuple_name(isl.dim_type.set) and not any(
        named.has_dim_name(isl.dim_type.set, k) for k in range(rank)
    )


def _space_like(model: isl.Space, rank: int) -> isl.Space:
    """The space of unnamed points with `rank` coordinates and the parameters of another space."""
    return space(rank).align_params(model)


def universe(rank: int) -> isl.Set:
    """All integer points with `rank` coordinates."""
    return isl.Set.universe(space(rank))


def empty(rank: int) -> isl.Set:
    """No point, in the space of `rank` coordinates."""
    return isl.Set.empty(space(rank))


def rank_of(points: isl.Set | isl.BasicSet) -> int:
    """The number of coordinates of a set's points."""
    return points.dim(isl.dim_type.set)


def linear(rank: int, coefficients: Sequence[int], constant: int = 0) -> isl.Aff:
    """`constant + sum(coefficients[k] * dim k)` over points with `rank` coordinates."""
    result = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space(rank)))
    for k, factor in enumerate(coefficients):
        if factor:
            result = result.set_coefficient_val(isl.dim_type.in_, k, isl.Val(factor))
    return result.set_constant_val(isl.Val(constant)) if constant else result


@cache
def dim_aff(rank: int, index: int) -> isl.Aff:
    """The coordinate `index` of points with `rank` coordinates."""
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(space(rank)), isl.dim_type.set, index)


def dim_affs(rank: int) -> list[isl.Aff]:
    """Every coordinate of points with `rank` coordinates, the identity map."""
    return [dim_aff(rank, k) for k in range(rank)]


def constant_aff(rank: int, value: int) -> isl.Aff:
    """`value` at every point with `rank` coordinates."""
    return linear(rank, (), value)


def box(extents: Sequence[int]) -> isl.Set:
    """The points with `0 <= dim k < extents[k]`."""
    return _box(tuple(extents))


@lru_cache(maxsize=1000)
def _box(extents: tuple[int, ...]) -> isl.Set:
    return bounding_box([(0, extent - 1) for extent in extents])


def bounding_box(ranges: Sequence[tuple[int, int]]) -> isl.Set:
    """The points with `lower <= dim k <= upper` for `(lower, upper) = ranges[k]`."""
    result = isl.Set.universe(space(len(ranges)))
    for k, (lower, upper) in enumerate(ranges):
        result = within(result, k, lower, upper)
    return result


def within(points: isl.Set, index: int, lower: int, upper: int) -> isl.Set:
    """The points with `lower <= dim index <= upper`."""
    above = points.lower_bound_val(isl.dim_type.set, index, isl.Val(lower))
    return above.upper_bound_val(isl.dim_type.set, index, isl.Val(upper))


def multi_aff(rank: int, values: Sequence[isl.Aff]) -> isl.MultiAff:
    """The map from points with `rank` coordinates to the tuple of `values`."""
    result = isl.MultiAff.zero(space(rank).map_from_domain_and_range(space(len(values))))
    for k, value in enumerate(values):
        result = result.set_aff(k, value)
    return result


def preimage(points: isl.Set, rank: int, values: Sequence[isl.Aff]) -> isl.Set:
    """The points with `rank` coordinates that `values` sends into `points`."""
    return points.preimage_multi_aff(multi_aff(rank, values))


def anonymous(points: isl.Set) -> isl.Set:
    """The same points with all names of dims and tuples dropped."""
    rank, named = rank_of(points), points.get_space()
    if _is_anonymous(named, rank):
        return points
    unnamed_to_named = isl.MultiAff.zero(_space_like(named, rank).map_from_domain_and_range(named))
    for k in range(rank):
        unnamed_to_named = unnamed_to_named.set_aff(k, dim_aff(rank, k))
    return points.preimage_multi_aff(unnamed_to_named)


def anonymous_value(value: isl.PwAff | isl.Aff) -> isl.PwAff:
    """The same function with all names of dims and tuples dropped."""
    function = isl.PwAff.from_aff(value) if isinstance(value, isl.Aff) else value
    rank, named = function.dim(isl.dim_type.in_), function.get_domain_space()
    if _is_anonymous(named, rank):
        return function
    unnamed_to_named = isl.MultiAff.zero(_space_like(named, rank).map_from_domain_and_range(named))
    for k in range(rank):
        unnamed_to_named = unnamed_to_named.set_aff(k, dim_aff(rank, k))
    return function.pullback_multi_aff(unnamed_to_named)


def anonymous_map(domain: isl.Set, index: Sequence[isl.PwAff]) -> isl.Map:
    """`index_map` with all names of dims and tuples dropped."""
    return index_map(anonymous(domain), [anonymous_value(value) for value in index])


def index_map(domain: isl.Set, index: Sequence[isl.PwAff]) -> isl.Map:
    """The relation from the points of `domain` to the values of `index` there."""
    rank = rank_of(domain)
    if not index:
        return isl.Map.from_domain_and_range(domain, universe(0))
    # The domain at last: products of maps without constraints take a quarter of the time.
    first, *others = (isl.Map.from_pw_aff(value) for value in index)
    result = first
    for value in others:
        result = result.flat_range_product(value)
    result = result.intersect_domain(domain)
    assert result.dim(isl.dim_type.in_) == rank, (
        f"index over {result.dim(isl.dim_type.in_)} dims, domain has {rank}"
    )
    return result


def as_function(points: isl.Set, index: int) -> isl.Map:
    """The relation from the other coordinates of `points` to coordinate `index`."""
    return isl.Map.from_domain(points).move_dims(isl.dim_type.out, 0, isl.dim_type.in_, index, 1)


def pieces_of(function: isl.PwMultiAff) -> list[tuple[isl.Set, isl.MultiAff]]:
    """The pieces of a function; isl drops exceptions of the callback, so it does nothing else."""
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    function.foreach_piece(lambda part, value: pieces.append((part, value)))
    return pieces


def disjoint_parts(points: isl.Set) -> list[isl.BasicSet]:
    """Basic sets without common points that make up `points`, all divisions explicit.

    Coalescing comes before, since it may merge parts again; only `make_disjoint` promises that a
    point is counted once.
    """
    parts = points.compute_divs().coalesce().make_disjoint().compute_divs().get_basic_sets()
    return [part for part in parts if not part.is_empty()]


def dim_range(points: isl.Set, index: int) -> tuple[int, int] | None:
    """The least and greatest value of coordinate `index`, or None when it is unbounded."""
    lower, upper = points.dim_min_val(index), points.dim_max_val(index)
    if not (lower.is_int() and upper.is_int()):
        return None
    return to_int(lower), to_int(upper)


def dim_ranges(points: isl.Set) -> list[tuple[int, int]] | None:
    """The bounding box of a set, or None when some coordinate is unbounded."""
    ranges: list[tuple[int, int]] = []
    for k in range(rank_of(points)):
        limits = dim_range(points, k)
        if limits is None:
            return None
        ranges.append(limits)
    return ranges


def dim_steps(points: isl.Set) -> list[range] | None:
    """The coordinates of a set of points that has some, with the step between them.

    None when one is unbounded.
    """
    ranges = dim_ranges(points)
    if ranges is None:
        return None
    parts = [isl.Set.from_basic_set(part) for part in points.get_basic_sets()]
    return [range(lower, upper + 1, _step(parts, k)) for k, (lower, upper) in enumerate(ranges)]


def _step(parts: Sequence[isl.Set], index: int) -> int:
    """The greatest step at which every coordinate of some sets is met: isl joins parts roughly."""
    found: list[tuple[isl.Set, int, int]] = []
    for part in parts:
        # By itself: where it follows another coordinate, `i = j mod 2`, isl says its step for a j.
        alone = part.project_out(isl.dim_type.set, index + 1, rank_of(part) - index - 1)
        alone = alone.project_out(isl.dim_type.set, 0, index)
        limits = dim_range(alone, 0)
        if limits is not None:
            found.append((alone, *limits))
    steps = [to_int(alone.get_stride(0)) for alone, lower, upper in found if lower < upper]
    return gcd(*steps, *(lower - found[0][1] for _, lower, _ in found)) or 1


def lattice(sides: Sequence[range]) -> isl.Set:
    """The points whose coordinate k is in `sides[k]`."""
    result = bounding_box([(side.start, side[-1]) for side in sides])
    for k, side in enumerate(sides):
        if side.step > 1:
            from_start = dim_aff(len(sides), k).add_constant_val(isl.Val(-side.start))
            result = result.intersect(from_start.mod_val(isl.Val(side.step)).zero_basic_set())
    return result


def flat_hull(points: isl.Set) -> isl.Set:
    """The points with the equalities, steps and bounds on single coordinates of some points."""
    hull = isl.Set.from_basic_set(points.affine_hull())
    sides = None if points.is_empty() else dim_steps(points)
    return hull if sides is None else hull.intersect(lattice(sides))


def to_int(value: isl.Val) -> int:
    """An integral isl value as a Python integer."""
    text = value.to_str()
    if not text:  # isl prints nothing, whatever its stub says, once a budget is spent
        raise isl.Error("maximal number of operations exceeded")
    assert "/" not in text, f"integer expected, got {text}"
    return int(text)


def point_of(points: isl.Set) -> tuple[int, ...] | None:
    """Some point of a set, or None when it is empty."""
    if points.is_empty():
        return None
    point = points.sample_point()
    return tuple(
        to_int(point.get_coordinate_val(isl.dim_type.set, k)) for k in range(rank_of(points))
    )


def project(points: isl.Set, dims: Sequence[int]) -> isl.Set:
    """The points' coordinates `dims` (ascending) alone, unnamed."""
    kept = list(dims)
    assert kept == sorted(set(kept)), f"ascending dims expected, got {kept}"
    points = anonymous(points)
    for k in reversed(range(rank_of(points))):
        if k not in kept:
            points = points.project_out(isl.dim_type.set, k, 1)
    return anonymous(points)
