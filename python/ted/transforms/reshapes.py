"""Reshapes of symbolic sizes: their index divides by a size, which no integer set expresses.

Before: dX[f // m, f % m] += dY[f]          over f < n*m: a scatter, as far as isl knows
After:  dX[i, j] += dY[i*m + j]             over i < n, j < m: the same points by other dims

A row-major number of some dims, taken apart by the extents of some target dims of equal product, is
a bijection between the two boxes; so the target dims may be the ones that run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ted.domain import parameters, sets
from ted.domain.sizes import Extent, is_symbolic
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.scalar import add, dim, dims_used, floordiv, index, mod, mul, substitute


def by_targets(equation: Equation, shape: Sequence[Extent]) -> Equation | None:
    """The equation over the dims of the tensor it writes, where that is by a reshape; else None."""
    places = [k for k, w in enumerate(equation.write) if _divides_by_size(w)]
    if not places or not is_symbolic(shape):
        return None
    dims = sorted(dims_used(*(equation.write[k] for k in places)))
    sources, targets = [equation.extents[d] for d in dims], [shape[k] for k in places]
    if math.prod(sources) != math.prod(targets) or not _is_box_along(equation, dims):
        return None
    expected = unravelled(ravelled([dim(d) for d in dims], sources), targets)
    if expected != [equation.write[k] for k in places]:
        return None
    return _reindexed(equation, dims, places, targets)


def ravelled(at: Sequence[Expr], extents: Sequence[Extent]) -> Expr:
    """The row-major number of a point of a box."""
    position = index(0)
    for i, extent in zip(at, extents, strict=True):
        if extent != 1:
            position = add(mul(position, index(extent)), i)
    return position


def unravelled(position: Expr, extents: Sequence[Extent]) -> list[Expr]:
    """The point of a box with a row-major number."""
    wide = [k for k, extent in enumerate(extents) if extent != 1]
    at = [index(0)] * len(extents)
    for n, k in enumerate(wide):
        stride = math.prod(extents[later] for later in wide[n + 1 :])
        quotient = floordiv(position, index(stride))
        at[k] = quotient if n == 0 else mod(quotient, index(extents[k]))
    return at


def _divides_by_size(e: Expr) -> bool:
    """Whether a subscript is taken apart from, or put together to, a row-major number of sizes."""
    stack = [e]
    while stack:
        node = stack.pop()
        if node.op in ("mul", "floordiv", "mod") and all(a.op != "const" for a in node.args):
            return True
        stack.extend(node.args)
    return False


def _is_box_along(equation: Equation, dims: Sequence[int]) -> bool:
    """Whether the domain leaves the given dims their whole extents, whatever the others are."""
    free = equation.domain
    for d in dims:
        free = free.project_out(sets.SET, d, 1).insert_dims(sets.SET, d, 1)
    return parameters.box(equation.extents).intersect(free).is_subset(equation.domain)


def _reindexed(
    equation: Equation, dims: Sequence[int], places: Sequence[int], targets: Sequence[Extent]
) -> Equation:
    """The dims `dims` replaced by one for each target, at the end."""
    others = [d for d in range(equation.rank) if d not in dims]
    own = [dim(len(others) + k) for k in range(len(targets))]
    sources = unravelled(ravelled(own, targets), [equation.extents[d] for d in dims])
    values = [index(0)] * equation.rank
    for new, old in enumerate(others):
        values[old] = dim(new)
    for old, value in zip(dims, sources, strict=True):
        values[old] = value
    body, *write = substitute(equation.expressions, values)
    for place, target in zip(places, own, strict=True):
        write[place] = target
    extents = (*(equation.extents[d] for d in others), *targets)
    kept = sets.project(equation.domain, others).insert_dims(sets.SET, len(others), len(targets))
    domain = sets.anonymous(kept).intersect(parameters.box(extents))
    return replace(
        equation, extents=extents, parallel=0, domain=domain, body=body, write=tuple(write),
        dim_names=(),
    )  # fmt: skip
