"""Parallel dims cut where constraints change their mind: each cell is simpler than the whole.

A window at the border of an image: `i + r - 1 >= 0` couples a parallel dim with a reduction. On the
interior, where it holds for every r, it is gone; at the border point i = 0 it says r >= 1, which is
a smaller box. So a padded window becomes dense subdomains with constant bounds; borders of more
than a few points stay one slab each, for loops with bounds that depend on i.

So do indices turn at a few points: `x[(i + 3) mod n]` is x[i + 3], and x[i + 3 - n] behind, as
`x[max(i - 3, 3 - i)]` is x[3 - i] in front. What a quotient or an extreme is in the middle of the
box holds inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ted.domain.intervals import of_dim, of_form
from ted.domain.linear import Form, term
from ted.domain.size_ranges import Bound
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.affine_ranges import divided, parts_of
from ted.mlir.index_values import form_of
from ted.mlir.queries import defining

MOST_PARTS = 24
THIN = 2  # borders of at most this many points are cut into points

_EXTREMES = {"arith.maxsi": 1, "arith.minsi": -1}  # the sign of what the first has more

Interval = tuple[int, int]  # first point, number of points


def cells_of(subdomain: Subdomain, most: int) -> list[Subdomain]:
    """Disjoint parts that make up a subdomain; itself when there would be more than `most`."""
    for thin in (THIN, 0):
        cuts = _cuts(subdomain, thin)
        if prod(map(len, cuts)) <= most:
            return list(_cells(subdomain, cuts))
    return [subdomain]


def has_wide_borders(subdomain: Subdomain) -> bool:
    """Whether cells are many, or not all of them points or inside of all borders."""
    cuts = _cuts(subdomain, THIN)
    return prod(map(len, cuts)) > MOST_PARTS or any(
        size > 1 and not low <= first <= first + size - 1 <= high
        for dim in subdomain.parallel_dims
        for low, high in [interior(subdomain, dim)]
        for first, size in cuts[dim]
    )


def has_scattered_borders(subdomain: Subdomain) -> bool:
    """Whether elements of a border lie apart from each other in the result."""
    along = dims_used(subdomain.write[-1]) if subdomain.write else set()
    cuts = _cuts(subdomain, THIN)
    return any(1 < len(cuts[dim]) < subdomain.extents[dim] for dim in along)


def _cuts(subdomain: Subdomain, thin: int) -> list[list[Interval]]:
    return [
        _intervals(subdomain, dim, thin) if dim in subdomain.parallel_dims else [(0, extent)]
        for dim, extent in enumerate(subdomain.extents)
    ]


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
    for form in (*_bounds(subdomain), *_choices(subdomain)):
        found = _about(form, subdomain, dim)
        if found is None:
            continue
        factor, least = found  # factor * dim + least >= 0
        if factor > 0:
            low = max(low, -(least // factor))
        else:
            high = min(high, least // -factor)
    for first, last in _stretches(subdomain, dim):
        low, high = max(low, first), min(high, last)
    return low, high


def _stretches(subdomain: Subdomain, dim: int) -> Iterator[Interval]:
    """First and last value of the dim around its middle for which a quotient in a read is one."""
    extent = subdomain.extents[dim]
    ranges = [of_dim(e) for e in subdomain.extents]
    for read in subdomain.reads:
        for part in (p for e in (read.subscripts if read else ()) for p in parts_of(e)):
            whole, divisor = divided(part) or (part, 0)
            form = linear(whole) if divisor else None
            if form is None or not form[dim]:
                continue
            rest = of_form(form - term(dim) * form[dim], ranges)
            middle = [
                _stretch(form[dim], rest, divisor, k) for k in ((extent - 1) // 2, extent // 2)
            ]
            first, last = max(middle, key=lambda ends: ends[1] - ends[0])
            if 2 * (min(last, extent - 1) - max(first, 0) + 1) >= extent:
                yield first, last


def _stretch(factor: int, rest: tuple[Bound, Bound], divisor: int, point: int) -> Interval:
    """Where `(factor * d + rest) // divisor` is what it is at a point, whatever the rest."""
    quotient = (factor * point + int(rest[0])) // divisor
    least, most = quotient * divisor - int(rest[0]), (quotient + 1) * divisor - 1 - int(rest[1])
    if factor > 0:
        return -(-least // factor), most // factor
    return -(most // -factor), least // factor


def _bounds(subdomain: Subdomain) -> Iterator[Form[int]]:
    """What the conditions of the domain and of reads want to be at least 0."""
    guards = (c for read in subdomain.reads if read is not None for c in read.guard)
    for constraint in (*subdomain.domain, *guards):
        form = linear(constraint.expr)
        if form is not None and not constraint.is_equality:
            yield form


def _choices(subdomain: Subdomain) -> Iterator[Form[int]]:
    """What is at least 0 where maxima and minima of indices choose as in the middle of the box."""
    chosen: dict[ir.Value, Form[int]] = {}

    def leaf(value: ir.Value) -> Form[int] | None:
        op = defining(value, "ted.index")
        if op is None:
            return chosen.get(value)
        return linear(subdomain.coordinates[ir.IntegerAttr(op.attributes["dim"]).value])

    for op in (view.operation for view in subdomain.body.operations):
        if op.name not in _EXTREMES or not isinstance(op.results[0].type, ir.IndexType):
            continue
        a, b = (form_of(v, leaf) for v in op.operands)
        if a is None or b is None:
            continue
        more = (a - b) * _EXTREMES[op.name]
        first = (
            more.constant + sum(f * ((subdomain.extents[d] - 1) // 2) for d, f in more.terms) >= 0
        )
        chosen[op.results[0]] = a if first else b
        yield more if first else more * -1


def _about(form: Form[int], subdomain: Subdomain, dim: int) -> Interval | None:
    """The factor of the dim and the least of the rest, when it is the only parallel dim in it."""
    if not form[dim] or form.dims.intersection(subdomain.parallel_dims) != {dim}:
        return None
    rest = form - term(dim) * form[dim]
    return form[dim], int(of_form(rest, [of_dim(e) for e in subdomain.extents])[0])
