"""A contraction of which a padded box would be mostly zeros -> an interior and frames around it.

Before: `dX[i] += dY[i - r] * W[r]` over i < 57, r < 25 where 0 <= i - r < 33
After: the same over the interior, where every r takes part, and over strips at both ends, each with
the few r that reach it.

A dense contraction reads zeros outside its operand, which is cheap as long as they are few. Wide
kernels and dilations on small images make them many; strips are then cut until they are not.

A condition that no zeros stand for, as that of a triangle, holds on all of a strip but a last
piece: strips become dense contractions, and pieces of which each point is as the condition says.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import Any

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, total_budget
from ted.domain.counting import count_points
from ted.linalg.constraint_splitting import interior
from ted.linalg.contraction_forms import factor_about, is_contraction
from ted.linalg.domain_forms import points
from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.mlir.affine_forms import dims_used

Box = list[tuple[int, int]]  # for each dim the first, and the one behind the last
GROWTH = 1.35  # a padded box may have this many times the points of the contraction
FEW = 1 << 20  # so many products with zero cost less than more contractions do
MOST_FRAMES = 49
# Strips of a triangle: each is code of its own, which 4 million products more are worth.
MOST_STRIPS, STRIP = 8, 1 << 22


def frames(subdomain: Subdomain) -> list[Subdomain]:
    """Disjoint subdomains that make up the subdomain, itself where padding costs little."""
    if (
        prod(subdomain.extents) < FEW
        or not is_contraction(subdomain)
        or written_slice(subdomain) is None
    ):
        return [subdomain]
    guards = [c for r in subdomain.reads if r is not None for c in r.guard]
    if not guards and not subdomain.domain:
        return [subdomain]
    try:
        with total_budget():
            where = points(subdomain.extents, [*subdomain.domain, *guards])
        if any(factor_about(c, subdomain) is None for c in subdomain.domain):
            return _in_pieces(subdomain, where)
        wanted = count_points(where)
        return _framed(subdomain, where, max(GROWTH * wanted, wanted + FEW))
    except BudgetExhausted:
        return [subdomain]


def _framed(subdomain: Subdomain, where: Any, most: float) -> list[Subdomain]:
    """The subdomain cut into as few strips as bring the volume of its boxes down to `most`."""
    found, volume, last = [subdomain], prod(subdomain.extents), [[0, n] for n in subdomain.extents]
    for strips in range(1, MOST_FRAMES + 1):
        cuts = [_cuts(subdomain, dim, strips) for dim in range(subdomain.rank)]
        few = prod(len(c) - 1 for c in cuts) <= MOST_FRAMES
        if volume <= most or not few or (strips > 1 and cuts == last):
            break
        with total_budget():
            found = list(_tight_cells(subdomain, where, cuts))
        volume, last = sum(prod(p.extents) for p in found), cuts
    return found


def _in_pieces(subdomain: Subdomain, where: Any) -> list[Subdomain]:
    """Strips, each cut into sums to which the condition is nothing, and one to which it is."""
    strips = max(2, min(MOST_STRIPS, prod(subdomain.extents) // STRIP))
    cuts = [_cuts(subdomain, dim, strips) for dim in range(subdomain.rank)]
    if prod(len(c) - 1 for c in cuts) > MOST_FRAMES:
        return [subdomain]
    with total_budget():
        found = [
            _cut(subdomain, part)
            for cell in _tight_boxes(where, cuts)
            for part in _pieces(subdomain, where, cell)
        ]
    return found if any(not piece.domain for piece in found) else [subdomain]


def _pieces(subdomain: Subdomain, where: Any, cell: Box) -> Iterator[Box]:
    """The cell, cut where a summed dim has no more, or not yet, points outside of the condition."""
    outside = _box(cell).subtract(where)
    ranges = [] if outside.is_empty() else sets.dim_ranges(outside) or []
    for dim in subdomain.reduction_dims if ranges else ():
        (low, high), (first, last) = cell[dim], ranges[dim]
        for start, stop in ((low, first), (last + 1, high)):
            if start < stop and (start, stop) != (low, high):
                yield [*cell[:dim], (start, stop), *cell[dim + 1 :]]
        cell = [*cell[:dim], (max(low, first), min(high, last + 1)), *cell[dim + 1 :]]
    if not where.intersect(_box(cell)).is_empty():
        yield cell


def _cuts(subdomain: Subdomain, dim: int, strips: int) -> list[int]:
    """Where a dim is cut: around its interior, and on both sides into so many strips."""
    extent = subdomain.extents[dim]
    if dim not in subdomain.parallel_dims or not _is_bounded_by_others(subdomain, dim):
        return [0, extent]
    first, last = interior(subdomain, dim)
    low, high = sorted((min(max(first, 0), extent), min(max(last + 1, 0), extent)))
    before = [low * k // strips for k in range(strips)]
    after = [extent - (extent - high) * k // strips for k in range(strips)]
    return sorted({*before, low, high, *after})


def _is_bounded_by_others(subdomain: Subdomain, dim: int) -> bool:
    constraints = [
        *subdomain.domain,
        *(c for r in subdomain.reads if r is not None for c in r.guard),
    ]
    used = [dims_used(c.expr) for c in constraints]
    return any(dim in dims and dims & set(subdomain.reduction_dims) for dims in used)


def _tight_cells(subdomain: Subdomain, where: Any, cuts: list[list[int]]) -> Iterator[Subdomain]:
    """The cells between the cuts that have points, each cut to the box around them."""
    for box in _tight_boxes(where, cuts):
        yield _cut(subdomain, box)


def _tight_boxes(where: Any, cuts: list[list[int]]) -> Iterator[Box]:
    for cell in product(*(pairwise(c) for c in cuts)):
        inside = where.intersect(_box(list(cell)))
        ranges = None if inside.is_empty() else sets.dim_ranges(inside)
        if ranges is not None:
            yield [(low, high + 1) for low, high in ranges]


def _box(sides: Box) -> Any:
    return sets.bounding_box([(low, high - 1) for low, high in sides])


def _cut(subdomain: Subdomain, sides: Box) -> Subdomain:
    return subdomain.cut(tuple(low for low, _ in sides), tuple(end - low for low, end in sides))
