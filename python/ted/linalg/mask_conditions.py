"""Affine constraints as conditions in the body of an equation, and back.

Before: `i - j >= 0` and a value      After: `arith.select` on `arith.cmpi sge` of two `ted.index`
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ted.domain.linear import Form, dot, term
from ted.linalg.subdomain import Constraint
from ted.mlir import arith, ir
from ted.mlir.affine_forms import linear
from ted.mlir.queries import defining, is_zero
from ted.mlir.scalars import constant, index


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
    test = reduce(_both, tests)
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


def _both(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.AndIOp(left, right).result


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


_COMPARISONS = {2: (-1, 1, -1), 3: (-1, 1, 0), 4: (1, -1, -1), 5: (1, -1, 0)}  # slt sle sgt sge


def _conditions(test: ir.Value) -> list[Form[int]]:
    op = defining(test)
    if op is not None and op.name == "arith.andi":
        return [f for operand in op.operands for f in _conditions(operand)]
    if op is None or op.name != "arith.cmpi":
        return []
    signs = _COMPARISONS.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    dims = [term(dim) for operand in op.operands if (dim := _dim(operand)) is not None]
    if signs is None or len(dims) < 2:
        return []
    return [dot(dims, signs[:2]) + signs[2]]


def _dim(value: ir.Value) -> int | None:
    op = defining(value, "ted.index")
    if op is None:
        return None
    return ir.IntegerAttr(op.attributes["dim"]).value
