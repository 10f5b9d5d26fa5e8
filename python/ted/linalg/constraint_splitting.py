"""Parallel dims cut where constraints change their mind: each cell is simpler than the whole.

A window at the border of an image: `i + r - 1 >= 0` couples a parallel dim with a reduction. On the
interior, where it holds for every r, it is gone; at the border point i = 0 it says r >= 1, which is
a smaller box. So a padded window becomes dense subdomains with constant bounds; borders of more
than a few points stay one slab each, for loops with bounds that depend on i.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ted.domain.intervals import of_dim, of_form
from ted.domain.linear import term
from ted.linalg.subdomain import Constraint, Subdomain
from ted.mlir.affine_forms import linear

THIN = 2  # borders of at most this many points are cut into points

Interval = tuple[int, int]  # first point, number of points


def cells_of(subdomain: Subdomain, most: int) -> list[Subdomain]:
    """Disjoint parts that make up a subdomain; itself when there would be more than `most`."""
    for thin in (THIN, 0):
        cuts = [
            _intervals(subdomain, dim, thin) if dim in subdomain.parallel_dims else [(0, extent)]
            for dim, extent in enumerate(subdomain.extents)
        ]
        if prod(map(len, cuts)) <= most:
            return list(_cells(subdomain, cuts))
    return [subdomain]


def interior_and_slabs(subdomain: Subdomain) -> tuple[Subdomain, list[Subdomain]]:
    """The part inside of all borders, and what is around it: at most two slabs for each dim.

    A slab reaches over the borders of the dims behind its own, but not of those before.
    """
    slabs: list[Subdomain] = []
    lower, extents = [0] * subdomain.rank, list(subdomain.extents)
    for dim in subdomain.parallel_dims:
        first, last = interior(subdomain, dim)
        first = min(first, extents[dim])
        last = max(last, first - 1)
        for low, size in ((0, first), (last + 1, extents[dim] - last - 1)):
            if not size:
                continue
            at, sizes = [*lower], [*extents]
            at[dim], sizes[dim] = low, size
            slabs.append(subdomain.cut(tuple(at), tuple(sizes)))
        lower[dim], extents[dim] = first, last - first + 1
    inside = subdomain.cut(tuple(lower), tuple(extents)) if slabs else subdomain
    return inside, [s for s in slabs if not s.is_empty]


def _cells(subdomain: Subdomain, cuts: list[list[Interval]]) -> Iterator[Subdomain]:
    if all(len(c) == 1 for c in cuts):
        yield subdomain
        return
    for cell in product(*cuts):
        part = subdomain.cut(tuple(low for low, _ in cell), tuple(size for _, size in cell))
        if not part.is_empty:
            yield part


def _intervals(subdomain: Subdomain, dim: int, thin: int) -> list[Interval]:
    extent = subdomain.extents[dim]
    low, high = interior(subdomain, dim)
    if 2 * (high - low + 1) < extent:  # mostly border: a triangle, or a tensor of a few points
        return [(k, 1) for k in range(extent)] if extent <= 2 * thin else [(0, extent)]
    return [*_border(0, low, thin), (low, high - low + 1),
            *_border(high + 1, extent - high - 1, thin)]  # fmt: skip


def _border(first: int, size: int, thin: int) -> list[Interval]:
    if size <= thin:
        return [(first + k, 1) for k in range(size)]
    return [(first, size)]


def interior(subdomain: Subdomain, dim: int) -> Interval:
    """First and last value of the dim for which its constraints hold whatever the reductions."""
    low, high = 0, subdomain.extents[dim] - 1
    for constraint in _constraints(subdomain):
        found = _about(constraint, subdomain, dim)
        if found is None:
            continue
        factor, least = found  # factor * dim + least >= 0
        if factor > 0:
            low = max(low, -(least // factor))
        else:
            high = min(high, least // -factor)
    return low, high


def _constraints(subdomain: Subdomain) -> Iterator[Constraint]:
    yield from subdomain.domain
    for read in subdomain.reads:
        if read is not None:
            yield from read.guard


def _about(constraint: Constraint, subdomain: Subdomain, dim: int) -> Interval | None:
    """The factor of the dim and the least of the rest, when it is the only parallel dim in it."""
    form = linear(constraint.expr)
    if form is None or constraint.is_equality or not form[dim]:
        return None
    if form.dims.intersection(subdomain.parallel_dims) != {dim}:
        return None
    rest = form - term(dim) * form[dim]
    return form[dim], int(of_form(rest, [of_dim(e) for e in subdomain.extents])[0])
