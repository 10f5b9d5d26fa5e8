"""Invert a quasi-affine index map: for each target `a`, all points `x` with `f(x) = a`, as loops.

Before: `out[f(x)] += body(x)` for x in a domain: a scatter.
After:  disjoint pieces `out[write(q)] += body(point(q, t))`: gathers, parallel over q, loops t.

The relation `{ (a, x) : f(x) = a }` is cut into disjoint basic sets (a clamp gives several), each
into independent factors. A factor is solved over the integers: Hermite form of its equalities,
loops with one value dropped, targets parametrised densely, loops shifted to zero, divisions taken
out by residue classes. Every step is a bijective change of dims, so each point of the domain occurs
in exactly one piece, once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from ted.domain import sets
from ted.domain.budget import TOTAL_OPERATIONS, BudgetExhausted, bounded, total_budget
from ted.domain.charts import Chart
from ted.domain.components import Factor, factors
from ted.domain.lattice import solve_equalities
from ted.domain.normalise import Normalised, normalise
from ted.domain.pieces import Fibre, finish, product
from ted.domain.projection import drop_single_valued_loops, integral, parametrise_targets
from ted.domain.residues import clone_classes, expand_classes

MAX_PIECES = 32
"""Residue classes are made only as long as a map has at most so many pieces."""
MAX_UNSPLIT_PIECES = 256
"""A map that needs more pieces than this without residue classes is given up."""


def solve_fibres(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int = 0, *, split: bool = True
) -> tuple[Fibre, ...]:
    """The fibres of `index` over a bounded `domain`, as disjoint pieces.

    The last `keep_last` dims stay plain loops where there is a choice. Without `split` no residue
    classes are made, so there are few pieces, with divisions in them.

    Raises: BudgetExhausted; DomainError when the domain is unbounded.
    """
    points = sets.anonymous(domain).to_str()
    values = tuple(sets.anonymous_value(value).to_str() for value in index)
    solved = _solve(points, values, keep_last, split)
    if isinstance(solved, BudgetExhausted):
        raise solved
    return solved


@lru_cache(maxsize=1024)
def _solve(
    domain: str, index: tuple[str, ...], keep_last: int, split: bool
) -> tuple[Fibre, ...] | BudgetExhausted:
    """The fibres by canonical text: a network repeats its shapes. Giving up is remembered too."""
    try:
        return _pieces(isl.Set(domain), [isl.PwAff(value) for value in index], keep_last, split)
    except BudgetExhausted as error:
        return error


def _pieces(
    domain: isl.Set, index: Sequence[isl.PwAff], keep_last: int, split: bool
) -> tuple[Fibre, ...]:
    targets, rank = len(index), sets.rank_of(domain)
    with total_budget():
        relation = sets.index_map(domain, index).reverse().wrap().flatten()
        parts = [factors(part) for part in sets.disjoint_parts(relation)]
    first_kept = targets + rank - keep_last
    solved = [[_solve_factor(f, targets, first_kept, split) for f in part] for part in parts]
    count = sum(math.prod(len(s.classes) for s in part) for part in solved)
    by_class = count <= MAX_PIECES
    result: list[Fibre] = []
    for part, solutions in zip(parts, solved, strict=True):
        target_dims = [[d for d in f.dims if d < targets] for f in part]
        point_dims = [[d - targets for d in f.dims if d >= targets] for f in part]
        choices = [s.classes if by_class else s.whole for s in solutions]
        if len(result) + math.prod(map(len, choices)) > MAX_UNSPLIT_PIECES:
            raise BudgetExhausted(f"gather form: at most {MAX_UNSPLIT_PIECES} pieces, needed more")
        chosen = itertools.product(*choices)
        result += [product(pieces, target_dims, point_dims) for pieces in chosen]
    return tuple(result)


@dataclass(frozen=True)
class _Solved:
    """The pieces of a factor without and with residue classes."""

    whole: tuple[Fibre, ...]
    classes: tuple[Fibre, ...]


def _solve_factor(factor: Factor, targets: int, first_kept: int, split: bool) -> _Solved:
    own_targets = sum(dim < targets for dim in factor.dims)
    kept = sum(dim >= first_kept for dim in factor.dims)
    solved = _solve_factor_text(factor.points.to_str(), own_targets, kept, split)
    if isinstance(solved, BudgetExhausted):
        raise solved
    return solved


@lru_cache(maxsize=4096)
def _solve_factor_text(
    points: str, targets: int, kept: int, split: bool
) -> _Solved | BudgetExhausted:
    """One factor under budgets of its own, so that the cache cannot decide what is given up."""
    try:
        with total_budget():
            charts = _charts(isl.Set(points), targets, kept)
        solved = [_whole_and_classes(chart, split) for chart in charts]
    except BudgetExhausted as error:
        return error
    whole = tuple(piece for piece, _ in solved)
    classes = tuple(piece for _, pieces in solved for piece in pieces)
    direct = bounded(_written_directly, isl.Set(points), targets)
    if direct is not None and 2 * direct.trips <= sum(piece.trips for piece in classes):
        return _Solved((direct,), (direct,))
    return _Solved(whole, classes)


def _written_directly(points: isl.Set, targets: int) -> Fibre | None:
    """The points themselves as outer dims, where no two of them have the same target.

    That is the better form when the targets lie so sparsely that a box around them is mostly empty.
    """
    rank = sets.rank_of(points)
    inverse = isl.Map.from_domain(points).move_dims(sets.OUT, 0, sets.IN, targets, rank - targets)
    if not inverse.is_single_valued():
        return None
    pieces = sets.pieces_of(isl.PwMultiAff.from_map(inverse.reverse()).coalesce())
    if len(pieces) != 1:
        return None
    ((_, function),) = pieces
    coordinates = rank - targets
    write = tuple(integral(function.get_aff(k)) for k in range(targets))
    domain = points.project_out(sets.SET, 0, targets).compute_divs()
    chart = Chart(domain, coordinates, write, tuple(sets.dim_affs(coordinates)))
    return finish(Normalised(chart, (), ()))


def _charts(points: isl.Set, targets: int, kept: int) -> list[Chart]:
    charts = [_solved_chart(part, targets, kept) for part in sets.disjoint_parts(points)]
    return [parametrise_targets(done) for chart in charts for done in _without_loops(chart)]


def _without_loops(chart: Chart) -> list[Chart]:
    half = TOTAL_OPERATIONS // 2
    return bounded(drop_single_valued_loops, chart, operations=half) or [chart]


def _whole_and_classes(chart: Chart, split: bool) -> tuple[Fibre, list[Fibre]]:
    """The piece of a chart, and the pieces of its residue classes (itself where there are none)."""
    with total_budget():
        normalised = normalise(chart)
        piece = finish(normalised)
    if not split:
        return piece, [piece]
    try:
        with total_budget():
            expanded, normalised = expand_classes(chart, normalised)
            piece = finish(normalised)
            classes = clone_classes(expanded, normalised)
            return piece, [finish(c) for c in classes] if len(classes) > 1 else [piece]
    except BudgetExhausted:
        return piece, [piece]


def _solved_chart(part: isl.BasicSet, targets: int, kept: int) -> Chart:
    """The coordinates of the points as functions of the targets and of as few loops as possible.

    Coordinates become functions of the rest in this order: long ones before short ones, which stay
    as loops, and those to be kept last.
    """
    rank = part.dim(sets.SET)
    whole = isl.Set.from_basic_set(part)

    def cost(dim: int) -> tuple[int, int, int]:
        limits = sets.dim_range(whole, dim)
        extent = limits[1] - limits[0] if limits else 0
        return (dim >= rank - kept, -extent, dim)

    solution = solve_equalities(part, targets, cost)
    values = solution.values
    return Chart(solution.domain.compute_divs(), targets, values[:targets], values[targets:])
