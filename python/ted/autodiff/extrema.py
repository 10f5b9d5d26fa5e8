"""Which points a maximum or minimum takes, and what part of its cotangent each of them gets.

    first:  y = max x[i, r]     dx[i, r] = where(r == argmax[i], dy[i], 0)
    even:   y = max x[i, r]     dx[i, r] = where(x[i, r] == y[i], dy[i] / count[i], 0)

A pointwise maximum is an operation of the body and has a rule there.  Counts and the divisions by
them are made once per result; what is compared is stored where that takes no more memory than what
the extremum reads.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ted.domain.sizes import Extent, surely_at_most
from ted.ir.dtypes import BOOL, INDEX, INT64, DType
from ted.ir.equations import Equation, Tensor, identity_dims, row_major, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, cast, compare, const, div, load, loads, select
from ted.records import dataclass


@dataclass(frozen=True)
class Taken:
    """The points that a reduction takes: where the condition holds; `count` for each result."""

    condition: Expr
    count: Tensor | None = None


def taken_points(tensor: Tensor, equation: Equation, origin: Tensor | None = None) -> Taken:
    """All points of a sum, those that reach the extremum of a maximum or minimum.

    Where `origin` has the same value, the search is over its equation, which finds that, too.
    """
    if equation.combiner not in ("max", "min") or equation.parallel == equation.rank:
        return Taken(TRUE)
    if equation.ties == "even" or equation.is_scatter:
        equal = compare("eq", equation.body, load(tensor, equation.write))
        condition = _stored(tensor, equation, equal)
        return Taken(condition, _count(tensor, equation, condition))
    argument = load(_argument(tensor, _searched(equation, origin)), equation.write)
    return Taken(compare("eq", cast(argument, INDEX), row_major(equation)))


def cotangent_of_points(
    tensor: Tensor, equation: Equation, cotangent: Tensor, origin: Tensor | None = None
) -> tuple[Expr, Expr]:
    """The condition under which a point has an adjoint, and the adjoint there."""
    taken, value = taken_points(tensor, equation, origin), load(cotangent, equation.write)
    if taken.count is None:
        return taken.condition, value
    if tensor.time is not None or not surely_at_most(tensor.size, _points(equation)):
        return taken.condition, div(value, load(taken.count, equation.write))
    here = identity_dims(len(tensor.shape))
    body = div(load(cotangent, here), load(taken.count, here))
    each = replace(
        cotangent, name=f"{cotangent.name}_each", fill=0,
        equations=(whole(tensor.shape, body, equation.location),),
    )  # fmt: skip
    return taken.condition, load(each, equation.write)


def taken_part(tensor: Tensor, equation: Equation, value: Expr) -> Expr:
    """What a point with the tangent `value` adds to that of its result."""
    taken = taken_points(tensor, equation)
    if taken.count is not None:
        value = div(value, load(taken.count, equation.write))
    return select(taken.condition, value, const(0, value.dtype))


def _points(equation: Equation) -> Extent:
    return math.prod(equation.extents)


def _stored(tensor: Tensor, equation: Equation, condition: Expr) -> Expr:
    """The condition as a tensor over all points, if it is no larger than what is read for it."""
    read = {r.attr for r in loads(equation.body)}
    fits = any(surely_at_most(_points(equation), t.size * max(t.dtype.bits // 8, 1)) for t in read)
    if tensor.time is not None or not fits:
        return condition
    points = replace(
        equation, parallel=equation.rank, write=identity_dims(equation.rank), combiner="set",
        body=condition, ties="first",
    )  # fmt: skip
    mask = Tensor(f"taken_{tensor.name}", equation.extents, BOOL, 0, (points,), equation.location)
    return load(mask, identity_dims(equation.rank))


def _count(tensor: Tensor, equation: Equation, condition: Expr) -> Tensor:
    """How many points reach the extremum of each result."""
    count = replace(equation, combiner="add", body=cast(condition, tensor.dtype))
    fill = _next_to_nothing(tensor.dtype)
    return replace(tensor, name=f"ties_{tensor.name}", fill=fill, equations=(count,))


def _next_to_nothing(dtype: DType) -> float:
    """A number that vanishes in a sum with one: where no point is taken, 0 / count is still 0."""
    return 2.0 ** -(2 * dtype.mantissa + 4)


def _searched(equation: Equation, origin: Tensor | None) -> Equation:
    """The equation of the origin, if it numbers the points of a reduction alike."""
    if origin is None or len(origin.equations) != 1:
        return equation
    (own,) = origin.equations
    alike = own.combiner == equation.combiner and not own.is_scatter
    same = own.extents[own.parallel :] == equation.extents[equation.parallel :]
    return own if alike and same else equation


def _argument(tensor: Tensor, equation: Equation) -> Tensor:
    """The tensor of the first index at which the extremum is reached."""
    search = replace(equation, combiner=f"arg{equation.combiner}")
    return replace(
        tensor, name=f"arg_{tensor.name}", dtype=INT64, fill=-1, equations=(search,),
        location=equation.location,
    )  # fmt: skip
