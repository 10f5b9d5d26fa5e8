"""Points of a step by the answers to its conditions: bounds of loops instead of tests.

Before: at time t, `h[t, i] = select(i > t, x[i], select(i == t, root, 0))` for all i
After: `x[i]` for the i behind t, `root` for i = t, and 0 for those before

Conditions mix the time with other dims, so that no stretch of time has one answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ted.domain.budget import BudgetExhausted, total_budget
from ted.domain.linear import Form
from ted.linalg.domain_forms import points
from ted.linalg.folded_predicates import chosen, decided_conditions, needed_operations
from ted.linalg.subdomain import Constraint, Expr, Read, Subdomain
from ted.mlir import arith, ir
from ted.mlir.index_values import form_of
from ted.mlir.queries import defining

MOST = 6  # each part is a loop of its own
Part = tuple[Subdomain, Any]
_DIFFERENCES = {  # of a (predicate) b: the sign of b, what is added, whether it is to be zero
    arith.CmpIPredicate.slt: (1, -1, False),
    arith.CmpIPredicate.sle: (1, 0, False),
    arith.CmpIPredicate.sgt: (-1, -1, False),
    arith.CmpIPredicate.sge: (-1, 0, False),
    arith.CmpIPredicate.eq: (1, 0, True),
}


def decided_parts(subdomain: Subdomain, where: Any) -> list[Part]:
    """The points `where` in disjoint parts, few enough, on which conditions are decided."""
    if subdomain.combiner != "set" or subdomain.writes_at_data:
        return [(subdomain, where)]
    done: list[Part] = []
    waiting: list[Part] = [(subdomain, where)]
    try:
        with total_budget():
            while waiting:
                part, points_of_part = waiting.pop()
                split = None
                if len(done) + len(waiting) + 2 <= MOST:
                    split = _split(part, points_of_part)
                if split is None:
                    done.append((_without_unused(part), points_of_part))
                else:
                    waiting += split
    except BudgetExhausted:
        return [(subdomain, where)]
    return done


def _split(subdomain: Subdomain, where: Any) -> list[Part] | None:
    """The parts where the first condition that is not decided holds, and where it does not."""
    for test, inside in _open_conditions(subdomain):
        parts = [(_told(subdomain, test, answer), some) for answer, some in (
            (True, where.intersect(inside)), (False, where.subtract(inside)))]  # fmt: skip
        return [(part, some.coalesce()) for part, some in parts if not some.is_empty()]
    return None


def _open_conditions(subdomain: Subdomain) -> Any:
    """Conditions with a point set each: those of reads that the body needs, and of its selects."""
    decided = decided_conditions(subdomain)
    needed = needed_operations(subdomain.body, decided)
    for op in needed:
        constraint = None if op.results[0] in decided else _constraint(op, subdomain)
        if constraint is not None:
            yield op.results[0], points(subdomain.extents, (constraint,))
    used = _used(subdomain)
    for argument, read in zip(subdomain.body.arguments, subdomain.reads, strict=False):
        if read is not None and read.guard and argument in used:
            yield read.guard, points(subdomain.extents, read.guard)


def _constraint(op: ir.Operation, subdomain: Subdomain) -> Constraint | None:
    if op.name != "arith.cmpi" or not isinstance(op.operands[0].type, ir.IndexType):
        return None
    predicate = arith.CmpIPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
    if predicate not in _DIFFERENCES:
        return None
    sign, constant, is_equality = _DIFFERENCES[predicate]
    a, b = (_expression(v, subdomain) for v in op.operands)
    if a is None or b is None:
        return None
    return Constraint((b - a) * sign + constant, is_equality)


def _expression(value: ir.Value, subdomain: Subdomain) -> Expr | None:
    """An index of the body in the dims of the subdomain."""
    used: list[Expr] = []

    def leaf(value: ir.Value) -> Form[int] | None:
        op = defining(value, "ted.index")
        if op is None:
            return None
        used.append(subdomain.coordinates[ir.IntegerAttr(op.attributes["dim"]).value])
        return Form(0, ((len(used) - 1, 1),))

    form = form_of(value, leaf)
    if form is None:
        return None
    total: Expr = ir.AffineExpr.get_constant(form.constant)
    for k, factor in form.terms:
        total = total + used[k] * factor
    return total


def _told(subdomain: Subdomain, test: Any, answer: bool) -> Subdomain:
    """The subdomain where a condition of the body, or of reads, has this answer."""
    if isinstance(test, tuple):
        reads = [_decided_read(r, test, answer) for r in subdomain.reads]
        return replace(subdomain, reads=tuple(reads))
    return replace(subdomain, answers={**subdomain.answers, test: answer})


def _decided_read(read: Read | None, guard: Any, answer: bool) -> Read | None:
    if read is None or read.guard != guard:
        return read
    return replace(read, guard=()) if answer else None


def _used(subdomain: Subdomain) -> set[ir.Value]:
    """What the values of the body are made of, where conditions have these answers."""
    decided = decided_conditions(subdomain)
    found: set[ir.Value] = set(subdomain.body.operations[-1].operands)
    for op in needed_operations(subdomain.body, decided):
        value = chosen(op, decided)
        found.update(op.operands if value is None else [value])
    return found


def _without_unused(subdomain: Subdomain) -> Subdomain:
    """The subdomain without the reads that no value needs."""
    used = _used(subdomain)
    reads = [
        read if argument in used else None
        for argument, read in zip(subdomain.body.arguments, subdomain.reads, strict=False)
    ]
    return replace(subdomain, reads=tuple(reads))
