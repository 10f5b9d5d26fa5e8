"""An equation with a uniform choice -> a test, and a side of the equation behind each answer.

Before: `"ted.compute"(%p, %A, %B, %init)`, a sum of `select(%p[], a * b, 0)`
After: `scf.if %p { linalg.matmul } else { %init }`

Only where a side is little work and the other is not: short loops test quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ted.linalg.padding import Paddings
from ted.linalg.strategies import begun, lower_equation
from ted.linalg.subdomain import Subdomain, from_compute
from ted.linalg.uniform_choices import (
    adds_nothing,
    answers,
    condition_value,
    decide,
    is_constant,
    root_choice,
    uniform_values,
)
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.scalars import conditional
from ted.mlir.strategies import FORM, Choice, forget

FEW = 64  # points: a test in front of so few, and two loops for one, gain nothing
Values = list[ir.Value]


def tested_condition(subdomain: Subdomain) -> ir.Value | None:
    """The condition of a choice that is tested in front of the points; None for none."""
    condition = root_choice(subdomain.body, uniform_values(subdomain), {})
    if condition is None or prod(subdomain.extents) < FEW or not _is_worth_it(subdomain):
        return None
    return condition


def lower_with_branches(
    op: ir.Operation, paddings: Paddings,
    read: Callable[[ir.Operation], Subdomain] = from_compute,
) -> tuple[Values, Choice | None]:  # fmt: skip
    """Emit an equation, which is `read`; its new values, and the row of the side that computes.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    subdomain = read(op)
    condition = tested_condition(subdomain)
    if condition is None:
        return lower_equation(subdomain, paddings)
    subdomain = begun(subdomain)
    rows: list[Choice | None] = []

    def side(answer: bool) -> Values:
        copy = op.clone().operation
        one = replace(subdomain, body=copy.regions[0].blocks[0])
        same = uniform_values(one)
        value = root_choice(one.body, same, {})
        assert value is not None, "as in the original"
        one = decide(one, answers(one.body, same, {same[value]: answer}))
        results = list(one.inits)
        if is_constant(one.body):
            forget(copy, FORM)
        if not adds_nothing(one):
            results, row = lower_equation(one, Paddings())
            rows.append(row)
        copy.erase()
        return results

    types = [init.type for init in subdomain.inits]
    found = conditional(
        condition_value(subdomain, condition), types, lambda: side(True), lambda: side(False)
    )
    return found, rows[0] if rows else None


def _is_worth_it(subdomain: Subdomain) -> bool:
    """Whether a side of the choice is a number or an element, and the other is computed."""
    root = subdomain.body.operations[len(subdomain.body.operations) - 1].operands[0]
    op = defining(root, "arith.select")
    assert op is not None, "a choice"
    sides = [defining(v) for v in op.operands[1:]]
    short = [s is None or s.name == "arith.constant" for s in sides]
    return any(short) and (not all(short) or bool(subdomain.reduction_dims))
