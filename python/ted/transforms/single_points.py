"""Dims of one point: reductions over them are maps, and writes that leave them out are whole.

Before: m[i] = -inf;  m[i] = max(m[i], x[i, j]) for j < 1          After: m[i] = x[i, 0]
Before: d[i, 0] = h[i, 0] * y[i, 0]                 After: d[i, k] = h[i, 0] * y[i, 0] for k < 1
"""

from __future__ import annotations

from dataclasses import replace

from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.ir.equations import Equation, System, Tensor, identity, recurrent_tensors, rewrite_system
from ted.ir.scalar import Expr, dim, index, is_const, substitute

_NUMBERED = ("argmax", "argmin")  # the result is the number of a point, not its value


def map_single_points(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Make maps of equations over whole boxes, where one dim or more has one point only.

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
    """The equation without reduction dims, if each has one point and nothing else adds."""
    if equation.combiner in _NUMBERED or equation.parallel == equation.rank:
        return equation
    starts = tensor.fill == identity(equation.combiner, tensor.dtype)
    if not starts or not equation.covers(tensor.shape):
        return equation
    kept = equation.parallel
    dims = [dim(k) if k < kept else index(0) for k in range(equation.rank)]
    (body,) = substitute([equation.body], dims)
    return replace(_boxed(equation, equation.extents[:kept], kept, body), combiner="set")


def _boxed(equation: Equation, extents: tuple[Extent, ...], parallel: int, body: Expr) -> Equation:
    return replace(
        equation, extents=extents, parallel=parallel, domain=parameters.box(extents), body=body,
        write=tuple(dim(k) for k in range(parallel)), dim_names=(),
    )  # fmt: skip
