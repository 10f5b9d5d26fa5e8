"""Several pieces of an inverted index map -> one whose domain says which of them a target is in.

Before: `out[0] += body(t)` over t <= 0, `out[q] += body(q)` over 0 < q < 7, and
`out[7] += body(t)` over t >= 7: the fibres of a clamp.
After:  `out[q] += body(t)` over q < 8 where `t <= q or q == 7` and `q <= t or q == 0`

A conjunction can say `or` over the targets: `(q - k + 8) // 8` is 1 from q = k on and 0 before, so
`t <= q + 9 * ((q + 1) // 8)` is the first of the two. The loops of such a piece have exact bounds;
nothing but the comparison of bounds is paid for having one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ted.domain import affine, conversion, isl, sets
from ted.domain.affine import Aff
from ted.domain.budget import bounded
from ted.domain.charts import Chart
from ted.domain.normalise import Normalised
from ted.domain.pieces import Fibre, finish

MAX_INTERVALS = 8
"""One target dim is cut into at most so many intervals with a convex fibre in each."""


def guarded_piece(domain: isl.Set, index: Sequence[isl.PwAff]) -> Fibre | None:
    """All fibres of `index` over a bounded `domain` as one piece, or None where none is found."""
    return bounded(_guarded_piece, domain, index, operations=20 * MAX_INTERVALS * 1000)


def _guarded_piece(domain: isl.Set, index: Sequence[isl.PwAff]) -> Fibre | None:
    pairs = sets.index_map(domain, index).reverse().wrap().flatten().compute_divs().coalesce()
    for target in range(len(index)):
        points = _conjunction(pairs, target)
        if points is not None and points.is_equal(pairs):
            return _direct(points, len(index))
    return None


def _direct(points: isl.Set, targets: int) -> Fibre | None:
    """The pairs themselves as outer dims and loops."""
    ranges = sets.dim_ranges(points)
    if ranges is None:
        return None
    rank = len(ranges)
    moved = [
        sets.linear(rank, [0] * k + [1], lower if k >= targets else 0)
        for k, (lower, _) in enumerate(ranges)
    ]
    dims = sets.dim_affs(rank)
    chart = Chart(points, targets, tuple(dims[:targets]), tuple(dims[targets:]))
    extents = tuple(upper - lower + 1 for lower, upper in ranges[targets:])
    return finish(Normalised(chart.substitute(rank, targets, moved), extents, ()))


def _conjunction(pairs: isl.Set, target: int) -> isl.Set | None:
    """The pairs by constraints that each hold on an interval of a target; None where not convex."""
    parts = sets.disjoint_parts(pairs)
    ranges = [sets.dim_range(isl.Set.from_basic_set(part), target) for part in parts]
    bounds = sorted({b for r in ranges if r is not None for b in (r[0], r[1] + 1)})
    if not 2 < len(bounds) <= MAX_INTERVALS + 1 or None in ranges:
        return None
    result = isl.Set.universe(pairs.get_space())
    for first, end in pairwise(bounds):
        there = sets.within(pairs, target, first, end - 1)
        convex = _convex(there)
        if convex is None:
            return None
        outside = _outside(target, (first, end), (bounds[0], bounds[-1]))
        for value in _halves(convex):
            if not _is_implied(value, target, (first, end)):
                result = result.intersect(_relaxed(pairs, value, outside))
    return sets.within(result, target, bounds[0], bounds[-1] - 1)


def _convex(points: isl.Set) -> isl.BasicSet | None:
    whole = points.coalesce().compute_divs()
    if whole.n_basic_set() == 1:
        return whole.get_basic_sets()[0]
    hull = points.simple_hull()
    return hull if isl.Set.from_basic_set(hull).is_equal(points) else None


def _halves(part: isl.BasicSet) -> list[Aff]:
    """What is not negative in a basic set; an equality is two inequalities."""
    found = conversion.constraints(part)
    values = [c.expression for c in found]
    return values + [-c.expression for c in found if c.equality]


def _is_implied(value: Aff, target: int, interval: tuple[int, int]) -> bool:
    """Whether a value depends on the target alone and is nowhere negative in an interval."""
    if not value.is_affine or value.dims - {target}:
        return False
    ends = (interval[0], interval[1] - 1)
    return min(value.evaluate([0] * target + [end]) for end in ends) >= 0


def _outside(target: int, interval: tuple[int, int], bounds: tuple[int, int]) -> Aff:
    """1 where a target dim between the bounds is outside an interval, else 0."""
    extent = bounds[1] - bounds[0]
    if extent == 1:
        return affine.constant(0)
    reached = [(affine.dim(target) - at + extent) // extent for at in interval]
    return 1 - reached[0] + reached[1]


def _relaxed(pairs: isl.Set, value: Aff, outside: Aff) -> isl.Set:
    """Where a value is not negative, or where its constraint is not meant."""
    rank = sets.rank_of(pairs)
    least = sets.to_int(pairs.min_val(conversion.to_isl(value, rank)))
    meant = value if least >= 0 else value + outside * -least
    zero = sets.constant_aff(rank, 0)
    return isl.Set.from_basic_set(conversion.to_isl(meant, rank).ge_basic_set(zero))
