"""Equivalent programs whose every equation the reverse sweep can differentiate.

* A product becomes a balanced tree of pairwise products, exact with any number of zeros at any
  order; dividing the product by a factor is not.
* A chain that mixes combiners, or reduces onto an initial value by max, min or mul, is cut: the
  reduction gets a tensor of its own and joins what came before in a pointwise equation.
* What is combined over no dim, with the identity, is the value itself.
* Points that a later `set` of the chain overwrites are dropped from the earlier equations.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ted.domain import bounds, parameters, sets
from ted.domain.budget import bounded
from ted.domain.sizes import Extent, Size, is_symbolic, surely_at_most
from ted.ir.affine import NotAffine, piecewise
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity,
    identity_dims,
    rewrite_system,
    row_major,
    whole,
)
from ted.ir.scalar import (
    add,
    apply,
    dim,
    index,
    load,
    mul,
    sub,
)  # fmt: skip

_SCALAR = {"max": "maximum", "min": "minimum", "mul": "mul"}


def expand_combiners(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Rewrite every float tensor into differentiable equations; also old tensor -> new tensor."""

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if not tensor.dtype.is_float:
            return equations
        return _expanded(replace(tensor, equations=equations)) or equations

    return rewrite_system(system, visit)


def _expanded(tensor: Tensor) -> Tensor | tuple[Equation, ...] | None:
    if not tensor.equations:
        return None
    *before, last = tensor.equations
    neutral = tensor.fill == identity(last.combiner, tensor.dtype)
    if last.combiner in _SCALAR and (before or not neutral):
        return _cut(tensor, tuple(before), last)
    if last.combiner == "mul" and last.parallel == last.rank and not last.is_scatter:
        return (replace(last, combiner="set"),)  # each element meets one value
    if last.combiner == "mul":
        return _product_tree(tensor, last)
    return _without_overwritten(tensor.equations)


def _cut(tensor: Tensor, before: tuple[Equation, ...], last: Equation) -> Tensor:
    """init (combiner) reduction, as a pointwise equation over two tensors."""
    start = replace(tensor, name=f"{tensor.name}_init", equations=before)
    start = _as_tensor(_expanded(start), start)
    part = replace(
        tensor, name=f"{tensor.name}_part", fill=identity(last.combiner, tensor.dtype),
        equations=(last,),
    )  # fmt: skip
    part = _as_tensor(_expanded(part), part)
    dims = tuple(dim(k) for k in range(len(tensor.shape)))
    body = apply(_SCALAR[last.combiner], load(start, dims), load(part, dims))
    return replace(tensor, fill=0, equations=(whole(tensor.shape, body, last.location),))


def _as_tensor(result: Tensor | tuple[Equation, ...] | None, old: Tensor) -> Tensor:
    if isinstance(result, Tensor):
        return result
    return old if result is None else replace(old, equations=result)


def _product_tree(tensor: Tensor, equation: Equation) -> Tensor | None:
    """Factors in one row per result, then halved until one is left."""
    if equation.is_scatter:
        return None
    if not equation.is_identity_write and tensor.time is not None:
        return None
    if equation.rank - equation.parallel > 1 and is_symbolic(equation.extents):
        return _product_by_rows(tensor, equation)
    level = _factors(tensor, equation)
    if isinstance(level.shape[-1], Size):
        level = _running(level)
    else:
        while level.shape[-1] > 1:
            level = _halved(level)
    return _last_of(tensor, level, level.shape[-1] - 1, equation)


def _product_by_rows(tensor: Tensor, equation: Equation) -> Tensor | None:
    """The last dim first: the row-major number of factors over several sizes is no affine one."""
    shape = equation.extents[:-1]
    last = replace(equation, parallel=len(shape), write=identity_dims(len(shape)))
    rows = replace(tensor, name=f"{tensor.name}_rows", shape=shape, fill=1, equations=(last,))
    rows = _as_tensor(_expanded(rows), rows)
    body = load(rows, identity_dims(len(shape)))
    rest = replace(whole(shape, body, equation.location, "mul"), parallel=equation.parallel)
    return _product_tree(tensor, replace(rest, write=equation.write))


def _last_of(tensor: Tensor, level: Tensor, place: Extent, equation: Equation) -> Tensor:
    body = load(level, (*identity_dims(equation.parallel), index(place)))
    last = whole(equation.extents[: equation.parallel], body, equation.location)
    if not equation.is_identity_write:  # what has no factor is 1, and may not be written at all
        written = sets.project(equation.domain, range(equation.parallel))
        last = replace(last, write=equation.write, domain=written)
        return replace(tensor, fill=1, equations=(last,))
    if surely_at_most(0, place):
        return replace(tensor, fill=0, equations=(last,))
    rank = equation.parallel  # there may be no factor: the product is the fill, 1
    some = parameters.extent_value(rank, place).ge_set(parameters.extent_value(rank, 0))
    return replace(tensor, equations=(replace(last, domain=last.domain.intersect(some)),))


def _running(level: Tensor) -> Tensor:
    """The products of ever more factors, where their number is a symbolic size."""
    time = len(level.shape) - 1
    here = identity_dims(len(level.shape))
    before = (*here[:time], sub(dim(time), index(1)))
    result = replace(level, name=f"{level.name}_run", fill=0, equations=(), time=time)
    start = whole(level.shape, load(level, here), level.location)
    step = whole(level.shape, mul(load(result, before), load(level, here)), level.location)
    first = start.domain.upper_bound_val(sets.SET, time, sets.isl.Val(0))
    result.equations = (
        replace(start, domain=first),
        replace(step, domain=step.domain.subtract(first).coalesce()),
    )
    return result


def _factors(tensor: Tensor, equation: Equation) -> Tensor:
    parallel = equation.parallel
    reductions = equation.extents[parallel:]
    write = (*identity_dims(parallel), row_major(equation))
    shape = (*equation.extents[:parallel], math.prod(reductions))
    factors = replace(equation, parallel=equation.rank, write=write, combiner="set")
    return replace(  # along the time of the result, whose parallel dims it has
        tensor, name=f"{tensor.name}_factors", shape=shape, fill=1, equations=(factors,),
        location=equation.location,
    )  # fmt: skip


def _halved(level: Tensor) -> Tensor:
    """Products of neighbours; an odd last element is passed on as it is."""
    *outer, length = level.shape
    place = level.equations[0].location
    dims = tuple(dim(k) for k in range(len(outer)))
    pairs = (*outer, length // 2)
    even = mul(dim(len(outer)), index(2))
    body = mul(load(level, (*dims, even)), load(level, (*dims, add(even, index(1)))))
    write = (*dims, dim(len(outer)))
    equations = [Equation(pairs, len(pairs), parameters.box(pairs), write, "set", body, place)]
    if length % 2:
        body, write = load(level, (*dims, index(length - 1))), (*dims, index(length // 2))
        shape = tuple(outer)
        equations.append(
            Equation(shape, len(shape), parameters.box(shape), write, "set", body, place)
        )
    shape = (*outer, (length + 1) // 2)
    return replace(level, name=f"{level.name}_2", shape=shape, fill=0, equations=tuple(equations))


def _without_overwritten(equations: tuple[Equation, ...]) -> tuple[Equation, ...] | None:
    """Each equation restricted to the points whose value no later `set` replaces."""
    kept = list(equations)
    for later, setter in enumerate(equations):
        if setter.combiner != "set":
            continue
        for earlier in range(later):
            kept[earlier] = _minus(kept[earlier], setter)
    changed = any(a is not b for a, b in zip(kept, equations, strict=True))
    return tuple(kept) if changed else None


def _minus(equation: Equation, setter: Equation) -> Equation:
    try:
        write = [piecewise(w, equation.domain) for w in equation.write]
        later = [piecewise(w, setter.domain) for w in setter.write]
    except NotAffine:
        return equation
    left = bounds.not_overwritten(equation.domain, write, setter.domain, later)
    return equation if bounded(equation.domain.is_subset, left) else replace(equation, domain=left)
