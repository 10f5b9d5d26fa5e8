"""Conditions on indices in a body that have one answer on the whole box: their selects go.

Before: `select(0 < index(0), %a, %b)` over a box on which dim 0 is at least 1
After: `%a`

Steps of a recurrence are cut so that conditions on the time are of this kind.
"""

from __future__ import annotations

from ted.linalg.subdomain import Subdomain
from ted.mlir import arith, ir
from ted.mlir.affine_ranges import value_range
from ted.mlir.index_values import Range, range_of
from ted.mlir.scalars import constant

_ANSWERS = {
    arith.CmpIPredicate.slt: lambda a, b: _order(a, b, strict=True),
    arith.CmpIPredicate.sle: lambda a, b: _order(a, b, strict=False),
    arith.CmpIPredicate.sgt: lambda a, b: _order(b, a, strict=True),
    arith.CmpIPredicate.sge: lambda a, b: _order(b, a, strict=False),
    arith.CmpIPredicate.eq: lambda a, b: _equal(a, b),
    arith.CmpIPredicate.ne: lambda a, b: _not(_equal(a, b)),
}


def decided_conditions(subdomain: Subdomain) -> dict[ir.Value, bool]:
    """The conditions in the body that have one answer on the subdomain's box."""
    ranges: dict[ir.Value, Range | None] = {}
    known = dict(subdomain.answers)
    for view in subdomain.body.operations:
        op = view.operation
        answer = _answer(op, ranges, known)
        if answer is not None and op.results[0] not in known:
            known[op.results[0]] = answer
        if op.name == "ted.index":
            which = ir.IntegerAttr(op.attributes["dim"]).value
            ranges[op.results[0]] = value_range(subdomain.coordinates[which], subdomain.extents)
    return known


def chosen(op: ir.Operation, decided: dict[ir.Value, bool]) -> ir.Value | None:
    """The operand that a select always is; None where it is none, or is not decided."""
    if op.name != "arith.select" or op.operands[0] not in decided:
        return None
    return op.operands[1 if decided[op.operands[0]] else 2]


def needed_operations(body: ir.Block, decided: dict[ir.Value, bool]) -> list[ir.Operation]:
    """The operations of a body that its values need, and reads at data, which may be errors."""
    *operations, terminator = [view.operation for view in body.operations]
    wanted: set[ir.Value] = set(terminator.operands)
    found: list[ir.Operation] = []
    for op in reversed(operations):
        if op.results[0] in wanted or op.name == "ted.load":
            value = chosen(op, decided)
            wanted.update(op.operands if value is None else [value])
            found.append(op)
    return found[::-1]


def decide_selects(subdomain: Subdomain) -> None:
    """Drop the selects of the subdomain's body, which is its own, that are decided on its box.

    So are the predicates of reads at data.
    """
    decided = decided_conditions(subdomain)
    for view in list(subdomain.body.operations):
        op = view.operation
        value = chosen(op, decided)
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            op.erase()
        elif op.name == "ted.load" and op.operands[1] in decided:
            with ir.InsertionPoint(op), op.location:
                op.operands[1] = constant(op.operands[1].type, decided[op.operands[1]])
    for view in reversed(list(subdomain.body.operations)[:-1]):
        if not list(view.operation.results[0].uses):
            view.operation.erase()


def _answer(
    op: ir.Operation, ranges: dict[ir.Value, Range | None], known: dict[ir.Value, bool]
) -> bool | None:
    """The one value of a condition."""
    if op.name == "arith.cmpi" and isinstance(op.operands[0].type, ir.IndexType):
        left, right = (range_of(v, ranges) for v in op.operands)
        predicate = arith.CmpIPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
        rule = _ANSWERS.get(predicate)
        return None if rule is None or left is None or right is None else rule(left, right)
    if op.name not in ("arith.andi", "arith.ori"):
        return None
    answers = [known.get(v) for v in op.operands]
    decisive = op.name == "arith.ori"
    if decisive in answers:
        return decisive
    return None if None in answers else not decisive


def _order(a: Range, b: Range, *, strict: bool) -> bool | None:
    """Whether a < b, or a <= b, for all values or for none."""
    if a[1] < b[0] or (not strict and a[1] == b[0]):
        return True
    if a[0] > b[1] or (strict and a[0] == b[1]):
        return False
    return None


def _equal(a: Range, b: Range) -> bool | None:
    if a[1] < b[0] or b[1] < a[0]:
        return False
    return True if a[0] == a[1] == b[0] == b[1] else None


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
