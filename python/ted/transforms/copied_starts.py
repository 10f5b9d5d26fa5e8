"""Recurrences that start from copies -> recurrences that read what was copied, step by step.

Before: T[i] = x[i];  T[i] += T[i + 1] * a[i]       for i < n - 1
After:  T[i] = x[i] + T[i + 1] * a[i] if i < n - 1 else x[i]

The gradient of a running sum is one: what its steps add to would be the copy of a whole tensor.
"""

from __future__ import annotations

from dataclasses import replace

from ted.domain import conversion, parameters
from ted.domain.budget import BudgetExhausted, required
from ted.ir.affine_attributes import conjunction_to_expr
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    identity_dims,
    recurrent_tensors,
    rewrite_system,
    whole,
)  # fmt: skip
from ted.ir.expressions import Expr
from ted.ir.scalar import add, select


def read_starts(system: System) -> tuple[System, dict[Tensor, Tensor]]:
    """Join the two equations of each such recurrence; also old tensor -> new tensor."""
    recurrent = recurrent_tensors(system.outputs)

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...] | Tensor:
        if tensor not in recurrent or len(equations) != 2 or not _is_known(tensor):
            return equations
        start, step = equations
        if not _is_copy(start, tensor, recurrent) or not _is_map(step, "add"):
            return equations
        condition = _condition(step, tensor)
        if condition is None:
            return equations
        body = select(condition, add(start.body, step.body), start.body)
        made = whole(tensor.shape, body, step.location)
        return replace(tensor, equations=(made,), fill=None)

    return rewrite_system(system, visit)


def _is_known(tensor: Tensor) -> bool:
    return all(isinstance(extent, int) for extent in tensor.shape) and tensor.dtype.kind != "bool"


def _is_map(equation: Equation, combiner: str) -> bool:
    """Whether an equation gives something to the element of its point, once."""
    here = identity_dims(equation.rank)
    is_once = equation.parallel == equation.rank and equation.write == here
    return is_once and equation.combiner == combiner and not equation.wishes


def _is_copy(equation: Equation, tensor: Tensor, recurrent: set[Tensor]) -> bool:
    """Whether an equation copies all of a tensor that is known before."""
    combiner = "add" if tensor.fill == 0 and equation.combiner == "add" else "set"
    body = equation.body
    is_copy = body.op == "load" and body.args == identity_dims(len(tensor.shape))
    if not is_copy or not _is_map(equation, combiner) or not equation.covers(tensor.shape):
        return False
    return body.attr not in recurrent and body.attr.shape == tensor.shape


def _condition(equation: Equation, tensor: Tensor) -> Expr | None:
    """Where a tensor's step adds something; None where that is no conjunction."""
    try:
        outside = equation.domain.gist(parameters.box(tensor.shape))
        found = list(required(conversion.conjunctions, outside))
    except BudgetExhausted:
        return None
    return conjunction_to_expr(found[0]) if len(found) == 1 else None
