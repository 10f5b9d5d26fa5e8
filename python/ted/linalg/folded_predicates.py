"""Conditions on indices in a body that have one answer on the whole box: their selects go.

Before: `select(0 < index(0), %a, %b)` over a box on which dim 0 is at least 1
After: `%a`

Steps of a recurrence are cut so that conditions on the time are of this kind.
"""

from __future__ import annotations

from ted.linalg.subdomain import Subdomain
from ted.mlir import arith, ir
from ted.mlir.affine_forms import value_range

Range = tuple[int, int]
_ANSWERS = {
    arith.CmpIPredicate.slt: lambda a, b: _order(a, b, strict=True),
    arith.CmpIPredicate.sle: lambda a, b: _order(a, b, strict=False),
    arith.CmpIPredicate.sgt: lambda a, b: _order(b, a, strict=True),
    arith.CmpIPredicate.sge: lambda a, b: _order(b, a, strict=False),
    arith.CmpIPredicate.eq: lambda a, b: _equal(a, b),
    arith.CmpIPredicate.ne: lambda a, b: _not(_equal(a, b)),
}


def decide_selects(subdomain: Subdomain) -> None:
    """Drop the selects of the subdomain's body, which is its own, that are decided on its box."""
    ranges: dict[ir.Value, Range] = {}
    known: dict[ir.Value, bool] = {}
    for view in list(subdomain.body.operations):
        op = view.operation
        if op.name == "arith.select" and op.operands[0] in known:
            op.results[0].replace_all_uses_with(op.operands[1 if known[op.operands[0]] else 2])
            op.erase()
            continue
        answer = _answer(op, ranges, known)
        if answer is not None:
            known[op.results[0]] = answer
        found = _range(op, ranges, subdomain)
        if found is not None:
            ranges[op.results[0]] = found
    for view in reversed(list(subdomain.body.operations)[:-1]):
        if not list(view.operation.results[0].uses):
            view.operation.erase()


def _range(op: ir.Operation, ranges: dict[ir.Value, Range], subdomain: Subdomain) -> Range | None:
    """The least and the largest value of an index."""
    if op.name == "ted.index":
        which = ir.IntegerAttr(op.attributes["dim"]).value
        return value_range(subdomain.coordinates[which], subdomain.extents)
    if op.name == "arith.constant" and isinstance(op.results[0].type, ir.IndexType):
        value = ir.IntegerAttr(op.attributes["value"]).value
        return value, value
    if op.name not in ("arith.addi", "arith.subi") or any(v not in ranges for v in op.operands):
        return None
    (low, high), (low2, high2) = (ranges[v] for v in op.operands)
    return (low + low2, high + high2) if op.name == "arith.addi" else (low - high2, high - low2)


def _answer(
    op: ir.Operation, ranges: dict[ir.Value, Range], known: dict[ir.Value, bool]
) -> bool | None:
    """The one value of a condition."""
    if op.name == "arith.cmpi" and all(v in ranges for v in op.operands):
        predicate = arith.CmpIPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
        rule = _ANSWERS.get(predicate)
        return None if rule is None else rule(*(ranges[v] for v in op.operands))
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
