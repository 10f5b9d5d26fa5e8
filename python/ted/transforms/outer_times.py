"""Equations of inner steps that read at the time of the outer step and at earlier ones -> two.

Before: at times (t, s), `h[t, s] += w[u, r] * h[u, r]` for all (u, r) before (t, s)
After: `h[t, s] += w[t, r] * h[t, r]` for r < s; `h[t, s] += w[u, r] * h[u, r]` for u < t

A step of the inner recurrence works on the slices of the outer step, and what it reads of earlier
ones is known when it begins: the second sum is one that the outer step can make for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ted.domain.budget import BudgetExhausted
from ted.errors import VerifyError
from ted.ir.equations import Equation, System, Tensor, rewrite_system
from ted.ir.recurrences import Nest, Order, at_same_times, history_reads
from ted.ir.scalar import reads_data

DIVISIBLE = ("set", "add", "mul", "max", "min")  # the first of equal elements has a place in a sum

Domains = tuple[tuple[Any, ...], ...]  # the parts of each equation


def nests(order: Order, level: int = 1) -> Iterator[tuple[Nest, int]]:
    """The recurrences inside of a step, with the number of times around each."""
    for one in order:
        if isinstance(one, Nest):
            yield one, level
            yield from nests(one.order, level + 1)


def divided(system: System, orders: Sequence[Order]) -> System | None:
    """The system with such equations in parts, `orders` being its recurrences; None without any."""
    parts: dict[Tensor, Domains] = {}
    for nest, level in (found for order in orders for found in nests(order)):
        members = nest.tensors()
        for tensor in members:
            known = parts.get(tensor) or tuple((e.domain,) for e in tensor.equations)
            found = tuple(
                tuple(p for part in those for p in _parts(tensor, e, part, members, level))
                for e, those in zip(tensor.equations, known, strict=True)
            )
            if any(len(those) > 1 for those in found):
                parts[tensor] = found

    def visit(tensor: Tensor, equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
        if tensor not in parts:
            return equations
        pairs = zip(equations, parts[tensor], strict=True)
        return tuple(replace(e, domain=part) for e, those in pairs for part in those)

    return rewrite_system(system, visit)[0] if parts else None


def _parts(
    tensor: Tensor, equation: Equation, domain: Any, nest: Sequence[Tensor], level: int
) -> list[Any]:
    """The points of an equation by which of its reads are at the outer times that it writes."""
    parts = [domain]
    if equation.combiner not in DIVISIBLE:
        return parts
    try:
        for read, points in history_reads(equation, nest):
            if any(reads_data(read.args[at]) for at in read.attr.time_dims[:level]):
                continue
            here = at_same_times(tensor, equation, read, points, level)
            if not here.is_empty() and not points.is_subset(here):
                parts = [p for part in parts for p in (part.intersect(here), part.subtract(here))]
    except (BudgetExhausted, VerifyError):
        return [domain]
    return [part.coalesce() for part in parts if not part.is_empty()]
