"""Dims of one point: reductions do not run over them, and writes that leave them out are whole.

Before: m[i] = -inf;  m[i] = max(m[i], x[i, j]) for j < 1          After: m[i] = x[i, 0]
Before: d[i, 0] = h[i, 0] * y[i, 0]                 After: d[i, k] = h[i, 0] * y[i, 0] for k < 1
"""

from __future__ import annotations

from dataclasses import replace

from ted.domain import parameters, sets
from ted.domain.sizes import Extent
from ted.ir.equations import Equation, System, Tensor, identity, recurrent_tensors, rewrite_system
from ted.ir.expressions import Expr
from ted.ir.scalar import const, dim, index, is_const, substitute

_NUMBERED = ("argmax", "argmin")  # the result is the number of a point, not its value


def map_single_points(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Make maps of equations over whole boxes that have one point for each result.

    Returns also old tensor -> new tensor.
    """
    recurrent = recurrent_tensors(system.outputs)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if tensor in recurrent or len(equations) != 1:
            return equations
        (equation,) = equations
        if set(equation.extents[equation.parallel :]) - {1}:
            return equations
        return (_as_map(tensor, _over_all_dims(equation, tensor.shape)),)

    return rewrite_system(system, visit)


def drop_unit_reductions(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Reductions without the dims of one point, whatever they combine; also old -> new tensor."""
    recurrent = recurrent_tensors(system.outputs)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        return equations if tensor in recurrent else tuple(map(_without_unit_dims, equations))

    return rewrite_system(system, visit)


def _over_all_dims(equation: Equation, shape: tuple[Extent, ...]) -> Equation:
    """The equation with a dim for each one of the result, those of extent one too."""
    if equation.is_identity_write:
        return equation
    places: list[int] = []  # in the result, of each parallel dim
    for k, (subscript, extent) in enumerate(zip(equation.write, shape, strict=True)):
        if subscript == dim(len(places)):
            places.append(k)
        elif extent != 1 or not is_const(subscript, 0):
            return equation
    if len(places) != equation.parallel or not equation.is_box:
        return equation
    added = len(shape) - equation.parallel
    order = [*places, *(k + added for k in equation.reduction_dims)]
    extents: list[Extent] = [1] * (equation.rank + added)
    for old, new in enumerate(order):
        extents[new] = equation.extents[old]
    (body,) = substitute([equation.body], [dim(k) for k in order])
    return _boxed(equation, tuple(extents), len(shape), body)


def _as_map(tensor: Tensor, equation: Equation) -> Equation:
    """The equation without reduction dims, if each has one point and nothing else is combined."""
    starts = tensor.fill == identity(equation.combiner, tensor.dtype)
    if equation.combiner == "set" or not starts or not equation.covers(tensor.shape):
        return equation
    plain = replace(_without_unit_dims(equation), combiner="set")
    return replace(plain, body=const(0, tensor.dtype)) if equation.combiner in _NUMBERED else plain


def _without_unit_dims(equation: Equation) -> Equation:
    """The equation without reduction dims of one point; no point of the others changes number."""
    unit = [d for d in equation.reduction_dims if equation.extents[d] == 1]
    if not unit or equation.is_scatter:
        return equation
    kept = [d for d in range(equation.rank) if d not in unit]
    places = [index(0)] * equation.rank
    affs = [sets.constant_aff(len(kept), 0)] * equation.rank
    for new, old in enumerate(kept):
        places[old], affs[old] = dim(new), sets.dim_aff(len(kept), new)
    body, *write = substitute(equation.expressions, places)
    return replace(
        equation, extents=tuple(equation.extents[d] for d in kept), body=body, write=tuple(write),
        domain=sets.preimage(equation.domain, len(kept), affs), dim_names=(),
    )  # fmt: skip


def _boxed(equation: Equation, extents: tuple[Extent, ...], parallel: int, body: Expr) -> Equation:
    return replace(
        equation, extents=extents, parallel=parallel, domain=parameters.box(extents), body=body,
        write=tuple(dim(k) for k in range(parallel)), dim_names=(),
    )  # fmt: skip
