"""The result of inverting a map: pieces of loops over a box, and products of independent pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ted.domain import affine, conversion, isl, sets
from ted.domain.affine import Aff
from ted.domain.charts import Chart
from ted.domain.normalise import Normalised
from ted.domain.sizes import GROWING, Extent
from ted.errors import DomainError
from ted.records import dataclass


@dataclass(frozen=True)
class Fibre:
    """A piece of an inverted index map: `out[write] += body(point)` over `domain`.

    The box of `extents` has first `parallel` dims q, then the loops t; `domain` lies in the box.
    `write` is injective in q and does not use t. For one target, the points run over the loops.
    """

    extents: tuple[Extent, ...]
    parallel: int
    domain: isl.Set
    write: tuple[Aff, ...]
    point: tuple[Aff, ...]

    @property
    def trips(self) -> Extent:
        """The number of points of the box."""
        return math.prod(self.extents)


def finish(whole: Normalised) -> Fibre:
    """Shift the outer dims of a normalised chart to zero and write its values as plain ones.

    A loop runs in the direction in which the first coordinate that it moves grows, so that large
    operands are read forwards and small ones (the last coordinates) backwards.

    Raises: DomainError when the points to fill are unbounded.
    """
    chart = whole.chart
    ranges = sets.dim_ranges(chart.outer_domain())
    if ranges is None:
        raise DomainError(f"gather form: every target must be bounded, got {chart.domain}")
    turned = _backward_loops(chart)
    values = [sets.linear(chart.rank, [0] * k + [1], lower) for k, (lower, _) in enumerate(ranges)]
    for k, extent in zip(range(chart.outer, chart.rank), whole.extents, strict=True):
        forward = sets.dim_aff(chart.rank, k)
        backward = sets.linear(chart.rank, [0] * k + [-1], extent - 1)
        values.append(backward if k in turned and extent < GROWING else forward)
    done = chart.substitute(chart.rank, chart.outer, values).simplified()
    extents = (*(upper - lower + 1 for lower, upper in ranges), *whole.extents)
    return Fibre(
        extents,
        chart.outer,
        done.domain,
        tuple(conversion.from_isl(value) for value in done.targets),
        tuple(conversion.from_isl(value) for value in done.points),
    )


def _backward_loops(chart: Chart) -> set[int]:
    values = [conversion.from_isl(value) for value in chart.points]
    turned: set[int] = set()
    for loop in range(chart.outer, chart.rank):
        factors = [value.coefficient(loop) for value in values]
        if next((factor for factor in factors if factor), 1) < 0:
            turned.add(loop)
    return turned


def product(
    pieces: Sequence[Fibre],
    target_dims: Sequence[Sequence[int]],
    point_dims: Sequence[Sequence[int]],
) -> Fibre:
    """The piece whose targets and points are those of independent `pieces` side by side.

    Piece n gives the targets `target_dims[n]` and the coordinates `point_dims[n]`. The new dims are
    ordered by the first target, and the loops by the first coordinate, that they appear in.
    """
    outer: list[tuple[int, int, int]] = []
    loops: list[tuple[int, int, int]] = []
    for n, piece in enumerate(pieces):
        for k in range(len(piece.extents)):
            if k < piece.parallel:
                outer.append((_first_use(k, piece.write, target_dims[n]), n, k))
            else:
                loops.append((_first_use(k, piece.point, point_dims[n]), n, k))
    order = sorted(outer) + sorted(loops)
    place = {(n, k): new for new, (_, n, k) in enumerate(order)}
    domain = sets.universe(len(order))
    write: dict[int, Aff] = {}
    point: dict[int, Aff] = {}
    for n, piece in enumerate(pieces):
        local = [place[n, k] for k in range(len(piece.extents))]
        project = [sets.dim_aff(len(order), new) for new in local]
        domain = domain.intersect(sets.preimage(piece.domain, len(order), project))
        renamed = [affine.dim(new) for new in local]
        for dim, value in zip(target_dims[n], piece.write, strict=True):
            write[dim] = value.substitute(renamed)
        for dim, value in zip(point_dims[n], piece.point, strict=True):
            point[dim] = value.substitute(renamed)
    return Fibre(
        tuple(pieces[n].extents[k] for _, n, k in order),
        len(outer),
        domain,
        tuple(write[dim] for dim in sorted(write)),
        tuple(point[dim] for dim in sorted(point)),
    )


def _first_use(dim: int, values: Sequence[Aff], places: Sequence[int]) -> int:
    uses = (place for value, place in zip(values, places, strict=True) if dim in value.dims)
    return min(uses, default=len(places))
