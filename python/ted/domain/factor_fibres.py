"""Solve one factor of an inverted index map: a basic set of (target, point) pairs to pieces.

Hermite form of the equalities, loops with one value dropped, targets parametrised densely, loops
shifted to zero, divisions taken out by residue classes. Each step is a bijective change of dims;
an optional one is left out when its operation budget is spent.
"""

from __future__ import annotations

from ted.domain import isl, sets
from ted.domain.budget import TOTAL_OPERATIONS, BudgetExhausted, bounded, total_budget
from ted.domain.charts import Chart
from ted.domain.lattice import solve_equalities
from ted.domain.normalise import Normalised, normalise
from ted.domain.pieces import Fibre, finish
from ted.domain.projection import drop_single_valued_loops, integral, parametrise_targets
from ted.domain.residues import MAX_CLASSES, class_count, clone_classes, expand_classes
from ted.records import dataclass


@dataclass(frozen=True)
class Pieces:
    """The same fibres without and with residue classes, and the number of classes wanted."""

    whole: tuple[Fibre, ...]
    classes: tuple[Fibre, ...]
    wanted: int


def solve_factor(points: isl.Set, targets: int, keep_last: int, split: bool) -> Pieces:
    """The fibres over the first `targets` dims of a set of pairs (target, point).

    Raises: BudgetExhausted; DomainError when the set is unbounded.
    """
    with total_budget():
        charts = _charts(points, targets, keep_last)
    solved = [_whole_and_classes(chart, split) for chart in charts]
    whole = tuple(piece for piece, _, _ in solved)
    classes = tuple(piece for _, pieces, _ in solved for piece in pieces)
    if all(len(pieces) == 1 for _, pieces, _ in solved):
        classes = whole
    direct = bounded(_written_directly, points, targets)
    if direct is not None and 2 * direct.trips <= sum(piece.trips for piece in classes):
        return Pieces((direct,), (direct,), 1)
    return Pieces(whole, classes, sum(wanted for _, _, wanted in solved))


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


def _whole_and_classes(chart: Chart, split: bool) -> tuple[Fibre, list[Fibre], int]:
    """The piece of a chart, the pieces of its residue classes (itself where there are none), and
    how many there would be if there were no limit."""
    with total_budget():
        normalised = normalise(chart)
        piece = finish(normalised)
    if not split:
        return piece, [piece], 1
    try:
        with total_budget():
            expanded, normalised = expand_classes(chart, normalised)
            piece = finish(normalised)
            classes = clone_classes(expanded, normalised)
            if len(classes) > 1:
                return piece, [finish(c) for c in classes], len(classes)
            wanted = class_count(normalised)
            return piece, [piece], wanted if wanted > MAX_CLASSES else 1
    except BudgetExhausted:
        return piece, [piece], 1


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
