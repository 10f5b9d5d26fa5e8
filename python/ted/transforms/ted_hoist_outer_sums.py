"""Sums that steps of a recurrence do not wait for -> tensors that are made before these steps.

Before: at times (t, s), `h[t, s] += w[u, s] * h[u, 0]` for u < t, beside a sum of h[t, r], r < s
After: `before[t, s] += w[u, s] * h[u, 0]`, at once for all s; `h[t, s] += before[t, s]`; a sum over
both comes apart first (`outer_times.py`)

Before: `h[3*b + j] += x[b, j]` of a recurrence along h, a step of which performs some b and j
After: `before[3*b + j] += x[b, j]` ahead of all steps; `h[t] += before[t]`

So steps alike stay one loop: else a step would be code of its own for each time that is written.

So the gradient of a blocked factorisation, of which an adjoint is a sum of what the blocks before
it and its own contribute, multiplies matrices in the outer step, and not a row at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.domain.budget import BudgetExhausted
from ted.errors import VerifyError
from ted.ir.equations import (
    Equation,
    System,
    Tensor,
    components,
    identity_dims,
    is_recurrence,
    rewrite_system,
    whole,
)
from ted.ir.recurrences import at_same_times, history_reads, step_order
from ted.ir.rewriting import SystemPass
from ted.ir.scalar import dims_used, load
from ted.records import dataclass
from ted.transforms.outer_times import divided, nests


@dataclass(frozen=True)
class TedHoistOuterSums(SystemPass):
    """Let the sums of what is known before steps be made there."""

    def rewrite(self, system: System) -> System:
        """The system with tensors for such sums."""
        return hoist_outer_sums(system)


def hoist_outer_sums(system: System) -> System:
    """The system with a tensor of its own for sums that a recurrence does not wait for."""
    groups = [group for group in components(system.outputs) if is_recurrence(group)]
    nested = [(group, step_order(group)) for group in groups if any(t.inner for t in group)]
    in_parts = divided(system, [order for _, order in nested])
    if in_parts is not None:
        return hoist_outer_sums(in_parts)
    early = {t: _from_outside(t, group) for group in groups for t in group}
    for group, order in nested:
        for nest, level in nests(order):
            for tensor in nest.tensors():
                early[tensor] |= _early(tensor, group, nest.tensors(), level)
    early = {t: those for t, those in early.items() if those}
    if not early:
        return system

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        return _hoisted(tensor, equations, early[tensor]) if tensor in early else equations

    return rewrite_system(system, visit)[0]


def _early(tensor: Tensor, group: Sequence[Tensor], nest: Sequence[Tensor], level: int) -> set[int]:
    """Which equations of a tensor, all of them sums, wait for nothing of the same outer step."""
    equations = tensor.equations
    if any(e.combiner != "add" for e in equations[1:]):
        return set()
    known = {k for k, e in enumerate(equations) if any(s in group for s in e.sources)}
    found = {k for k in known if _is_early(tensor, equations[k], nest, level)}
    return found if len(found) < len(equations) else set()


def _from_outside(tensor: Tensor, group: Sequence[Tensor]) -> set[int]:
    """Which equations of a tensor know all before the first step, but write at times by parts."""
    equations, times = tensor.equations, tensor.time_dims
    if tensor.fill != 0 or any(e.combiner not in ("add", "set") for e in equations):
        return set()
    found = {
        k for k, e in enumerate(equations)
        if not any(s in group for s in e.sources)
        and any(len(dims_used(e.write[d])) > 1 for d in times)
    }  # fmt: skip
    stored = max((k for k, e in enumerate(equations) if k and e.combiner == "set"), default=-1)
    if not found >= set(range(stored + 1)):  # it may store over what stays
        return set()
    return found if len(found) < len(equations) else set()


def _is_early(tensor: Tensor, equation: Equation, nest: Sequence[Tensor], level: int) -> bool:
    if equation.combiner != "add" or not equation.reduction_dims or equation.is_scatter:
        return False
    try:
        return all(
            at_same_times(tensor, equation, read, points, level).is_empty()
            for read, points in history_reads(equation, nest)
        )
    except (BudgetExhausted, VerifyError):
        return False


def _hoisted(
    tensor: Tensor, equations: tuple[Equation, ...], early: set[int]
) -> tuple[Equation, ...]:
    sums = tuple(e for k, e in enumerate(equations) if k in early)
    rest = tuple(e for k, e in enumerate(equations) if k not in early)
    made = replace(tensor, name=f"{tensor.name}_before", fill=0, equations=sums, given_name="")
    body = load(made, identity_dims(len(tensor.shape)))
    added = whole(tensor.shape, body, sums[0].location, "add")
    return (rest[0], added, *rest[1:])
