"""A contraction of which a padded box would be mostly zeros -> an interior and frames around it.

Before: `dX[i] += dY[i - r] * W[r]` over i < 57, r < 25 where 0 <= i - r < 33
After: the same over the interior, where every r takes part, and over strips at both ends, each with
the few r that reach it.

A dense contraction reads zeros outside its operand, which is cheap as long as they are few. Wide
kernels and dilations on small images make them many; strips are then cut until they are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import Any

from ted.domain import sets
from ted.domain.budget import BudgetExhausted, total_budget
from ted.domain.counting import count_points
from ted.lowering.affine_forms import dims_used
from ted.lowering.cells import interior
from ted.lowering.contraction_forms import is_contraction
from ted.lowering.domain_forms import points
from ted.lowering.piece import Piece
from ted.lowering.slices import written_slice

GROWTH = 1.35  # a padded box may have this many times the points of the contraction
FEW = 1 << 20  # so many products with zero cost less than more contractions do
MOST_FRAMES = 49


def frames(piece: Piece) -> list[Piece]:
    """Disjoint pieces that make up the piece, itself where padding costs little."""
    if prod(piece.extents) < FEW or not is_contraction(piece) or written_slice(piece) is None:
        return [piece]
    guards = [c for r in piece.reads if r is not None for c in r.guard]
    if not guards and not piece.domain:
        return [piece]
    try:
        with total_budget():
            where = points(piece.extents, [*piece.domain, *guards])
        wanted = count_points(where)
        return _framed(piece, where, max(GROWTH * wanted, wanted + FEW))
    except BudgetExhausted:
        return [piece]


def _framed(piece: Piece, where: Any, most: float) -> list[Piece]:
    """The piece cut into as few strips as bring the volume of its boxes down to `most`."""
    found, volume, last = [piece], prod(piece.extents), [[0, n] for n in piece.extents]
    for strips in range(1, MOST_FRAMES + 1):
        cuts = [_cuts(piece, dim, strips) for dim in range(piece.rank)]
        few = prod(len(c) - 1 for c in cuts) <= MOST_FRAMES
        if volume <= most or not few or (strips > 1 and cuts == last):
            break
        with total_budget():
            found = list(_tight_cells(piece, where, cuts))
        volume, last = sum(prod(p.extents) for p in found), cuts
    return found


def _cuts(piece: Piece, dim: int, strips: int) -> list[int]:
    """Where a dim is cut: around its interior, and on both sides into so many strips."""
    extent = piece.extents[dim]
    if dim not in piece.parallel_dims or not _is_bounded_by_others(piece, dim):
        return [0, extent]
    first, last = interior(piece, dim)
    low, high = sorted((min(max(first, 0), extent), min(max(last + 1, 0), extent)))
    before = [low * k // strips for k in range(strips)]
    after = [extent - (extent - high) * k // strips for k in range(strips)]
    return sorted({*before, low, high, *after})


def _is_bounded_by_others(piece: Piece, dim: int) -> bool:
    constraints = [*piece.domain, *(c for r in piece.reads if r is not None for c in r.guard)]
    used = [dims_used(c.expr) for c in constraints]
    return any(dim in dims and dims & set(piece.reduction_dims) for dims in used)


def _tight_cells(piece: Piece, where: Any, cuts: list[list[int]]) -> Iterator[Piece]:
    """The cells between the cuts that have points, each cut to the box around them."""
    for cell in product(*(pairwise(c) for c in cuts)):
        box = sets.bounding_box([(low, high - 1) for low, high in cell])
        inside = where.intersect(box)
        ranges = None if inside.is_empty() else sets.dim_ranges(inside)
        if ranges is None:
            continue
        lower = tuple(low for low, _ in ranges)
        yield piece.cut(lower, tuple(high - low + 1 for low, high in ranges))
