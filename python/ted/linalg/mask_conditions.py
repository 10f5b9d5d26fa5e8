"""Affine constraints as conditions in the body of an equation, and back.

Before: `i - j >= 0` and a value      After: `arith.select` on `arith.cmpi sge` of two `ted.index`
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ted.domain.linear import Form, term
from ted.linalg.subdomain import Constraint
from ted.mlir import arith, ir
from ted.mlir.affine_forms import linear
from ted.mlir.queries import constant_of, defining, is_zero
from ted.mlir.scalars import all_of, constant, index


def dims_of(rank: int) -> list[ir.Value]:
    """The values of all dims."""
    i64, kind = ir.IntegerType.get_signless(64), ir.IndexType.get()
    return [
        ir.Operation.create(
            "ted.index", results=[kind], attributes={"dim": ir.IntegerAttr.get(i64, k)}
        ).results[0]
        for k in range(rank)
    ]


def value_where(
    constraints: Sequence[Constraint], value: ir.Value, otherwise: float, dims: Sequence[ir.Value]
) -> ir.Value:
    """The value where all constraints hold."""
    tests = [_holds(c, dims) for c in constraints]
    test = all_of(tests)
    return arith.SelectOp(test, value, constant(value.type, otherwise)).result


def _holds(constraint: Constraint, dims: Sequence[ir.Value]) -> ir.Value:
    """`expr >= 0`, with what is subtracted on the other side."""
    form = linear(constraint.expr)
    assert form is not None, "only linear constraints become masks"
    left, right = (_sum(side, dims) for side in (form, form * -1))
    return arith.CmpIOp(arith.CmpIPredicate.sge, left, right).result


def _sum(form: Form[int], dims: Sequence[ir.Value]) -> ir.Value:
    """What the form adds; what it subtracts is left out."""
    terms = [
        dims[d] if f == 1 else arith.MulIOp(dims[d], index(f)).result
        for d, f in sorted(form.terms)
        if f > 0
    ]
    terms += [index(max(form.constant, 0))] if form.constant > 0 or not terms else []
    return reduce(_added, terms)


def _added(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.AddIOp(left, right).result


# ---- reading conditions --------------------------------------------------------------------------


def forms_of(constraints: Sequence[Constraint]) -> tuple[Form[int], ...]:
    """The constraints, which are linear, as forms that are at least 0."""
    forms = [linear(c.expr) for c in constraints]
    return tuple(f for f in forms if f is not None)


def zero_unless(value: ir.Value) -> list[Form[int]]:
    """Conditions, as far as they are known, without any of which a value of a body is 0."""
    op = defining(value, "arith.select")
    if op is None or not is_zero(op.operands[2]):
        return []
    return _conditions(op.operands[0])


# Predicates slt, sle, sgt, sge as `sign * (left - right) + constant >= 0`.
_COMPARISONS = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}


def _conditions(test: ir.Value) -> list[Form[int]]:
    op = defining(test)
    if op is not None and op.name == "arith.andi":
        return [f for operand in op.operands for f in _conditions(operand)]
    if op is None or op.name != "arith.cmpi":
        return []
    found = _COMPARISONS.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    left, right = map(_form, op.operands)
    if found is None or left is None or right is None:
        return []
    sign, constant_ = found
    return [(left - right) * sign + constant_]


def _form(value: ir.Value) -> Form[int] | None:
    """An index as a form over dims; None for what is none."""
    number = constant_of(value)
    if number is not None:
        return Form[int]() + number
    op = defining(value, "ted.index", "arith.addi")
    if op is None:
        return None
    if op.name == "ted.index":
        return term(ir.IntegerAttr(op.attributes["dim"]).value)
    left, right = map(_form, op.operands)
    return None if left is None or right is None else left + right
