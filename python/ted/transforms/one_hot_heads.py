"""Rows of a Jacobian: a head that is one at a single place becomes a condition on indices.

Before: J[k, i, r] += h[k, j] * b[j, r]   (h one-hot)      After: J[k, i, r] = b[k, r]

The condition restricts the domain, and the fibre solver drops the dims that it fixes, so that a
Jacobian costs its own size, not its size times a dim.
"""

from __future__ import annotations

from dataclasses import replace

from ted.autodiff.support import Supports
from ted.ir.affine import decide_selects
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity_dims,
    rewrite_system,
    whole,
)
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, compare, const, land, load, rewrite, select
from ted.transforms.ted_scatter_to_gather import gather_forms
from ted.transforms.ted_simplify import simplify


def with_one_hot(system: System, head: Tensor) -> tuple[System, dict[Tensor, Tensor]]:
    """The system where `head[k..., i...]` is 1 if k = i, else 0; also old tensor -> new tensor."""
    supports = Supports()

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        chosen = tuple(_chosen(e, head) for e in equations)
        if all(a is b for a, b in zip(chosen, equations, strict=True)):
            return equations
        if len(chosen) == 1 and chosen[0].combiner == "set":
            chosen = (replace(chosen[0], combiner="add"),)
            tensor = replace(tensor, fill=0)
        return replace(tensor, equations=tuple(p for e in chosen for p in _restricted(e, supports)))

    outputs = tuple(_copied(t) if t is head else t for t in system.outputs)
    result, became = rewrite_system(replace(system, outputs=outputs), visit)
    untouched = [t for t, new in became.items() if new is t]
    result, cleaned = simplify(result, keep=untouched, alias_outputs=True)
    return result, {old: cleaned.get(new, new) for old, new in became.items()}


def _copied(head: Tensor) -> Tensor:
    """An equation that reads the head: where it is a result itself, there is none to rewrite."""
    read = whole(head.shape, load(head, identity_dims(len(head.shape))), head.location)
    return replace(head, equations=(read,))


def _chosen(equation: Equation, head: Tensor) -> Equation:
    """The equation with the elements of the head written out."""
    rank = len(head.shape) // 2

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load" or node.attr is not head:
            return None
        same = TRUE
        for row, place in zip(args[:rank], args[rank:], strict=True):
            same = land(same, compare("eq", row, place))
        return select(same, const(1, node.dtype), const(0, node.dtype))

    (body,) = rewrite([equation.body], visit)
    return equation if body is equation.body else replace(equation, body=body)


def _restricted(equation: Equation, supports: Supports) -> tuple[Equation, ...]:
    """An added equation on the points alone where it adds something."""
    if equation.combiner != "add":
        return (equation,)
    points = supports.of_value(equation.body, equation.domain)
    if equation.domain.is_subset(points):
        return (equation,)
    (body,) = decide_selects([equation.body], points)
    return gather_forms(replace(equation, parallel=0, domain=points, body=body))
