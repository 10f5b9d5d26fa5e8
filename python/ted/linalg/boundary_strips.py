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
from ted.linalg.constraint_splitting import interior
from ted.linalg.contraction_forms import is_contraction
from ted.linalg.domain_forms import points
from ted.linalg.slices import written_slice
from ted.linalg.subdomain import Subdomain
from ted.mlir.affine_forms import dims_used

GROWTH = 1.35  # a padded box may have this many times the points of the contraction
FEW = 1 << 20  # so many products with zero cost less than more contractions do
MOST_FRAMES = 49


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
    for cell in product(*(pairwise(c) for c in cuts)):
        box = sets.bounding_box([(low, high - 1) for low, high in cell])
        inside = where.intersect(box)
        ranges = None if inside.is_empty() else sets.dim_ranges(inside)
        if ranges is None:
            continue
        lower = tuple(low for low, _ in ranges)
        yield subdomain.cut(lower, tuple(high - low + 1 for low, high in ranges))
