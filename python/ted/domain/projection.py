"""Shrink a chart's dims: loops that have one value only, and targets that fill a sublattice.

Before: `domain { (q, t) : 2t = q }`       After: `domain { (q) }`, t replaced by `q // 2`
Before: targets `(q0, q1)` with `q0 = q1`  After: targets `(q, q)`, a diagonal over one dim
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ted.domain import conversion, isl, sets
from ted.domain.budget import bounded
from ted.domain.charts import Chart
from ted.domain.lattice import solve_equalities


def drop_single_valued_loops(chart: Chart) -> list[Chart]:
    """Replace each loop dim that is a function of the others by that function.

    A loop that depends on q alone is dropped before one that depends on other loops too. A function
    in pieces splits the chart. What costs too much to decide stays a loop: right, with more trips.
    """
    for index, outer_only in _loops_to_try(chart):
        parts = bounded(_replace_if_function, chart, index, outer_only)
        if parts is not None:
            return [done for part in parts for done in drop_single_valued_loops(part)]
    return [chart]


def _loops_to_try(chart: Chart) -> Iterator[tuple[int, bool]]:
    """Loops that are no coordinate of the points first, so that those stay if one must."""
    coordinates = {conversion.from_isl(value).as_dim for value in chart.points}
    loops = sorted(range(chart.outer, chart.rank), key=lambda t: (t in coordinates, t))
    if len(loops) > 1:
        yield from ((t, True) for t in loops)
    yield from ((t, False) for t in loops)


def _replace_if_function(chart: Chart, index: int, outer_only: bool) -> list[Chart] | None:
    relation = sets.as_function(chart.domain, index)
    if outer_only:
        relation = relation.project_out(sets.IN, chart.outer, chart.rank - chart.outer - 1)
    if not relation.is_single_valued():
        return None
    pieces = sets.pieces_of(isl.PwMultiAff.from_map(relation).coalesce())
    rank = chart.rank - 1
    others = [k for k in range(chart.rank) if k != index]
    remaining = {old: sets.dim_aff(rank, new) for new, old in enumerate(others)}
    inputs = [remaining[k] for k in (range(chart.outer) if outer_only else others)]
    project = sets.multi_aff(rank, inputs)
    result: list[Chart] = []
    for part, value in pieces:
        # A value may be a fraction off its own piece; rounding keeps it where it counts.
        replaced = integral(value.get_aff(0)).pullback_multi_aff(project)
        values = [replaced if k == index else remaining[k] for k in range(chart.rank)]
        smaller = chart.substitute(rank, chart.outer, values)
        if len(pieces) > 1:
            smaller = smaller.restrict(part.preimage_multi_aff(project))
        if not smaller.domain.is_empty():
            result.append(smaller)
    return result


def integral(value: isl.Aff) -> isl.Aff:
    """The value rounded down; the value itself when it is integral by form."""
    return value if value.get_denominator_val().is_one() else value.floor()


def parametrise_targets(chart: Chart) -> Chart:
    """Give the affine hull of the targets its own dims: fewer of them, densely filled.

    The hull knows equations (a diagonal) and strides (`3q + 2`). Where its dims would not be
    determined by the target, the chart stays as it is.
    """
    return bounded(_parametrised, chart) or chart


def _parametrised(chart: Chart) -> Chart:
    targets = chart.outer_domain()
    hull = targets.affine_hull()
    if not any(c.is_equality() for c in hull.get_constraints()):
        return chart
    solution = solve_equalities(hull, 0, lambda dim: (dim,))
    outer = sets.rank_of(solution.domain)
    old = _ascending(solution.values, outer)
    change = sets.multi_aff(outer, old)
    new_to_old = isl.Map.from_multi_aff(change).intersect_range(targets)
    if outer > chart.outer or not new_to_old.is_injective():
        return chart
    rank = outer + chart.rank - chart.outer
    first = sets.multi_aff(rank, [sets.dim_aff(rank, k) for k in range(outer)])
    values = [value.pullback_multi_aff(first) for value in old]
    values += [sets.dim_aff(rank, k) for k in range(outer, rank)]
    return chart.substitute(rank, outer, values)


def _ascending(values: Sequence[isl.Aff], rank: int) -> list[isl.Aff]:
    """The same values with a dim negated where it makes the first value that it moves fall."""
    plain = [conversion.from_isl(value) for value in values]
    signs = [[value.coefficient(k) for value in plain if value.coefficient(k)] for k in range(rank)]
    turned = [
        sets.linear(rank, [0] * k + [-1 if moves and moves[0] < 0 else 1])
        for k, moves in enumerate(signs)
    ]
    change = sets.multi_aff(rank, turned)
    return [value.pullback_multi_aff(change) for value in values]
