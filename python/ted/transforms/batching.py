"""Add a leading dim to everything that depends on batched tensors, and share the rest.

Before: y[i] += a[i, r] * x[r]           After: y[b, i] += a[i, r] * x[b, r]   (x batched, a not)

Every equation gets one parallel dim in front, so gathers stay gathers, reductions keep the order of
their points, and a program is batched without looking at what it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.domain import parameters, sets
from ted.domain.sizes import Extent
from ted.ir.equations import Clock, Equation, Tensor, components, operands, with_expressions
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr
from ted.ir.scalar import dim, load, rewrite
from ted.records import dataclass


@dataclass(frozen=True)
class Batched:
    """A tensor that stands for another one; `axis` is its batch dim, None when all share it."""

    tensor: Tensor
    axis: int | None


def batch(
    outputs: Sequence[Tensor], given: Mapping[Tensor, Batched], extent: Extent
) -> dict[Tensor, Batched]:
    """What `given` and every tensor between it and the outputs become, `extent` times at once.

    Shapes: a batched tensor of shape s becomes one of shape (extent, *s).
    """
    found: dict[Tensor, Batched] = dict(given)
    changed: list[Tensor] = []
    for group in components(outputs):
        known = [found[o] for t in group for o in operands(t) if o in found]
        fresh = [t for t in group if t not in found]
        if not known:
            continue
        axis = 0 if any(b.axis is not None for b in known) else None
        found.update({t: Batched(_shell(t, axis, extent), axis) for t in fresh})
        changed += fresh
    for tensor in changed:
        new = found[tensor]
        new.tensor.equations = tuple(
            _equation(e, found, None if new.axis is None else extent) for e in tensor.equations
        )
    for tensor in changed:  # only now: a tensor of a recurrence without equations is its fill
        new = found[tensor]
        if new.axis is not None:
            new.tensor.equations = tuple(map(_with_exact_indices, new.tensor.equations))
    return found


def _shell(tensor: Tensor, axis: int | None, extent: Extent) -> Tensor:
    """The new tensor without its equations, which may read it."""
    if axis is None:
        return replace(tensor, equations=())
    new = replace(tensor, shape=(extent, *tensor.shape), equations=())
    new.clocks = [Clock(at + 1, reverse) for at, reverse in tensor.clocks]
    return new


def _equation(
    equation: Equation, found: Mapping[Tensor, Batched], extent: Extent | None
) -> Equation:
    """The equation reading the new tensors, over one more dim when `extent` is given."""
    shift = 0 if extent is None else 1

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "dim":
            return dim(node.attr + shift)
        if node.op != "load" or node.attr not in found:
            return None
        new = found[node.attr]
        if new.axis is not None:
            args = (*args[: new.axis], dim(0), *args[new.axis :])
        return load(new.tensor, args)

    expressions = rewrite(equation.expressions, visit)
    if extent is None:
        return with_expressions(equation, expressions)
    body, *write = expressions
    extents = (extent, *equation.extents)
    inner = [sets.dim_aff(len(extents), k + 1) for k in range(equation.rank)]
    points = sets.preimage(equation.domain, len(extents), inner)
    return replace(
        equation, extents=extents, parallel=equation.parallel + 1, body=body,
        write=(dim(0), *write), domain=points.intersect(parameters.box(extents)), dim_names=(),
    )  # fmt: skip


def _with_exact_indices(equation: Equation) -> Equation:
    return with_expressions(equation, exact_indices(equation.expressions, equation.extents))
