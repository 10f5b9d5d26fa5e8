"""Make every loop of a chart start at zero, with the smallest constant extent a shift can give.

Before: `t` in `ceil((q - 2) / 2) .. q // 2`   After: `t'` in `0 .. 1`, with `t = q // 2 - t'`
The shift is one of the loop's own bounds, its exact first or last value, or its constant minimum.
Its divisions are what the residue classes of `ted.domain.residues` are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ted.domain import conversion, isl, sets
from ted.domain.affine import Aff
from ted.domain.budget import bounded
from ted.domain.charts import Chart
from ted.domain.loops import bounds_of_constraint
from ted.domain.projection import integral
from ted.domain.sizes import GROWING
from ted.errors import DomainError
from ted.records import dataclass


@dataclass(frozen=True)
class Normalised:
    """A chart whose loop k runs within `range(extents[k])`."""

    chart: Chart
    extents: tuple[int, ...]
    shifts: tuple[Aff, ...]
    """The bound each loop was shifted by, in terms of the dims before it."""


@dataclass(frozen=True)
class _Bound:
    value: isl.Aff
    is_lower: bool
    extent: int

    @property
    def rank_order(self) -> tuple[int, bool, bool, bool, int]:
        """Small extents first, then lower bounds, then those without divisions, then short ones.

        Extents that grow with a size are equally long: their values at the largest are arbitrary.
        """
        plain = conversion.from_isl(self.value)
        at_largest = abs(plain.const) >= GROWING
        return (
            min(self.extent, GROWING),
            at_largest,
            not self.is_lower,
            not plain.is_affine,
            len(plain.terms),
        )


def normalise(chart: Chart) -> Normalised:
    """Shift the loops of a chart one after the other, outermost first.

    Raises: DomainError when a loop is unbounded.
    """
    loops = chart.domain.move_dims(sets.PARAM, 0, sets.SET, 0, chart.outer)
    if not loops.is_bounded():
        raise DomainError(f"gather form: every loop must be bounded, got {chart.domain}")
    extents: list[int] = []
    shifts: list[Aff] = []
    for index in range(chart.outer, chart.rank):
        candidates = list(_measured(chart, index))
        if not candidates:
            raise DomainError(f"gather form: every loop must be bounded, got {chart.domain}")
        best = min(candidates, key=lambda bound: bound.rank_order)
        loop = sets.dim_aff(chart.rank, index)
        chart = chart.replace_dim(
            index, best.value.add(loop) if best.is_lower else best.value.sub(loop)
        )
        extents.append(best.extent)
        shifts.append(conversion.from_isl(best.value))
    return Normalised(chart, tuple(extents), tuple(shifts))


def _measured(chart: Chart, index: int) -> Iterator[_Bound]:
    """Each different candidate with the extent the loop would have."""
    rank = chart.rank
    loop = sets.dim_aff(rank, index)
    seen: set[tuple[Aff, bool]] = set()
    for value, is_lower in _candidates(chart, index):
        key = (conversion.from_isl(value), is_lower)
        if key in seen:
            continue
        seen.add(key)
        first = [sets.dim_aff(rank, k) for k in range(value.dim(sets.IN))]
        bound = value.pullback_multi_aff(sets.multi_aff(rank, first))
        distance = loop.sub(bound) if is_lower else bound.sub(loop)
        largest = bounded(chart.domain.max_val, distance)
        if largest is not None and largest.is_int():
            yield _Bound(bound, is_lower, sets.to_int(largest) + 1)


def _candidates(chart: Chart, index: int) -> Iterator[tuple[isl.Aff, bool]]:
    """Bounds of a loop in terms of the dims before it, as `(value, is lower)`."""
    later = chart.rank - index - 1
    prefix = chart.domain.project_out(sets.SET, index + 1, later).compute_divs()
    smallest = prefix.dim_min_val(index)
    if smallest.is_int():
        yield sets.constant_aff(index, sets.to_int(smallest)), True
    before = [sets.dim_aff(index, k) for k in range(index)]
    no_loop = sets.multi_aff(index, [*before, sets.constant_aff(index, 0)])
    for constraint in prefix.simple_hull().get_constraints():
        if constraint.is_equality():
            continue
        for is_lower, value in bounds_of_constraint(constraint, index):
            yield value.pullback_multi_aff(no_loop), is_lower
    relation = sets.as_function(prefix, index)
    for extreme, is_lower in (
        (relation.lexmin_pw_multi_aff, True),
        (relation.lexmax_pw_multi_aff, False),
    ):
        value = bounded(_only_piece, extreme)
        if value is not None:
            yield value, is_lower


def _only_piece(extreme: Callable[[], isl.PwMultiAff]) -> isl.Aff | None:
    pieces = sets.pieces_of(extreme().coalesce())
    if len(pieces) != 1:
        return None
    ((part, value),) = pieces
    return integral(value.get_aff(0).gist(part))
