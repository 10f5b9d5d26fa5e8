"""Take the divisions out of a chart by residue classes of its outer dims.

Expand: `q = m*u + c` as two dims (c again, if need be) when that leaves no division over u or c,
and no loop bound on c.
Clone: one chart per residue c otherwise, `q = m*u + c` with c a constant; classes without a point
vanish, and in the others loops that only skipped points have become shorter or gone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ted.domain import conversion, sets
from ted.domain.affine import Aff, Floor
from ted.domain.charts import Chart
from ted.domain.normalise import Normalised, normalise
from ted.domain.projection import drop_single_valued_loops, parametrise_targets

MAX_EXPANSION = 4096
MAX_EXPANDED_DIMS = 4
MAX_MODULUS = 8
MAX_CLASSES = 32
PERIODS_TO_CLONE = 4
"""A division in an access alone is taken out only along dims of at least so many periods."""


def expand_classes(chart: Chart, whole: Normalised) -> tuple[Chart, Normalised]:
    """Split outer dims into several wherever their divisions disappear by that; last dims first."""
    for index in reversed(range(chart.outer)):
        chart, whole = _expansion(chart, whole, range(index, index + 1)) or (chart, whole)
    return chart, whole


def _expansion(chart: Chart, whole: Normalised, dims: range) -> tuple[Chart, Normalised] | None:
    """Split one of `dims`, all made from the same dim, and so on until they see no division."""
    if len(dims) > 1 and _is_free_of_divisions(whole.chart, dims):
        return chart, whole
    if len(dims) == MAX_EXPANDED_DIMS:
        return None
    periods = _periods(whole, [*whole.shifts, *_plain_values(whole.chart.simplified())])
    for index in reversed(dims):
        limits = sets.dim_range(chart.domain, index)
        if limits and 1 < periods[index] <= min(MAX_EXPANSION, limits[1] - limits[0]):
            split = _split_dim(chart, index, periods[index])
            return _expansion(split, normalise(split), range(dims.start, dims.stop + 1))
    return None


def _split_dim(chart: Chart, index: int, period: int) -> Chart:
    """Replace a dim by `period * dim index + dim index + 1`, with the latter below the period."""
    rank = chart.rank + 1
    values = [sets.dim_aff(rank, k + (k > index)) for k in range(chart.rank)]
    values[index] = sets.linear(rank, [0] * index + [period, 1])
    residues = sets.within(sets.universe(rank), index + 1, 0, period - 1)
    return chart.substitute(rank, chart.outer + 1, values).restrict(residues).simplified()


def _is_free_of_divisions(chart: Chart, dims: range) -> bool:
    """No floor sees one of `dims`, and no loop is bounded by one after the first, a residue."""
    split, residues = set(dims), set(dims[1:])
    loops = set(range(chart.outer, chart.rank))
    if any(_floored_dims(value) & split for value in _plain_values(chart.simplified())):
        return False
    for constraint in itertools.chain(*conversion.conjunctions(chart.domain)):
        value = constraint.expression
        if _floored_dims(value) & split or (residues & value.dims and loops & value.dims):
            return False
    return True


def clone_classes(chart: Chart, whole: Normalised) -> list[Normalised]:
    """One chart per residue class, where that takes divisions or empty trips away."""
    periods = _clone_periods(whole)
    count = math.prod(periods)
    if max(periods, default=1) > MAX_MODULUS or not 1 < count <= MAX_CLASSES:
        return [whole]
    residues = itertools.product(*map(range, periods))
    classes = [n for some in residues for n in _class(chart, periods, some)]
    divisions = max((_divisions(n) for n in classes), default=0)
    if divisions < _divisions(whole) or sum(map(_trips, classes)) < _trips(whole):
        return classes
    return [whole]


def class_count(whole: Normalised) -> int:
    """The number of residue classes that would free a chart of divisions by bounds and accesses."""
    return math.prod(_clone_periods(whole))


def _clone_periods(whole: Normalised) -> list[int]:
    """The periods of loop bounds and strides, and of accesses along dims of many periods."""
    equalities = (
        c.expression
        for c in itertools.chain(*conversion.conjunctions(whole.chart.domain))
        if c.equality
    )
    periods = _periods(whole, [*whole.shifts, *equalities])
    accesses = _periods(whole, _plain_values(whole.chart.simplified()))
    ranges = sets.dim_ranges(whole.chart.outer_domain()) or []
    for k, (lower, upper) in enumerate(ranges):
        if upper - lower + 1 >= PERIODS_TO_CLONE * accesses[k]:
            periods[k] = math.lcm(periods[k], accesses[k])
    return periods


def _class(chart: Chart, periods: Sequence[int], residues: Sequence[int]) -> Iterator[Normalised]:
    values = sets.dim_affs(chart.rank)
    for k, (period, residue) in enumerate(zip(periods, residues, strict=True)):
        values[k] = sets.linear(chart.rank, [0] * k + [period], residue)
    members = chart.substitute(chart.rank, chart.outer, values)
    if members.domain.is_empty():
        return
    for part in drop_single_valued_loops(members):
        yield normalise(parametrise_targets(part))


def _periods(whole: Normalised, values: Sequence[Aff]) -> list[int]:
    return [math.lcm(*(v.period(k) for v in values)) for k in range(whole.chart.outer)]


def _plain_values(chart: Chart) -> list[Aff]:
    return [conversion.from_isl(value) for value in chart.values]


def _floored_dims(value: Aff) -> frozenset[int]:
    floored = (term.inner.dims for _, term in value.terms if isinstance(term, Floor))
    return frozenset[int]().union(*floored)


def _divisions(whole: Normalised) -> int:
    return sum(not value.is_affine for value in _plain_values(whole.chart.simplified()))


def _trips(whole: Normalised) -> int:
    ranges = sets.dim_ranges(whole.chart.outer_domain()) or []
    return math.prod(whole.extents) * math.prod(upper - lower + 1 for lower, upper in ranges)
