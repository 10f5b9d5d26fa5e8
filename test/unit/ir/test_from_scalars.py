"""Ops of arith and math read back as expressions: by the table, by their form, by their sign."""

from __future__ import annotations

import pytest

from ted import dialects
from ted.errors import VerifyError
from ted.ir import scalar
from ted.ir.dtypes import FLOAT32, INT32, UINT32, DType, with_sign_of
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.from_scalars import operation
from ted.mlir import ir


def element(name: str, dtype: DType) -> Expr:
    return scalar.load(Tensor(name, (), dtype), ())


X, Y, Z = (element(name, FLOAT32) for name in "xyz")
P, Q = (element(name, INT32) for name in "ij")


def read(text: str, *args: Expr) -> Expr:
    """The op of a text whose operands are %a, %b and %c, of floats, or %i and %j, of integers."""
    source = (
        f"func.func @f(%a: f32, %b: f32, %c: f32, %i: i32, %j: i32) {{\n  %r = {text}\n  return\n}}"
    )
    with dialects.make_context():
        module = ir.Module.parse(source)
        op = module.body.operations[0].regions[0].blocks[0].operations[0]
        return operation(op.operation, args)


def test_an_op_is_the_operation_that_spells_it() -> None:
    assert read("arith.addf %a, %b : f32", X, Y) is scalar.add(X, Y)
    assert read("math.tanh %a : f32", X) is scalar.apply("tanh", X)
    assert read("math.fma %a, %b, %c : f32", X, Y, Z) is scalar.add(scalar.mul(X, Y), Z)


def test_unordered_comparisons_hold_for_nan() -> None:
    less = scalar.compare("lt", X, Y)
    assert read("arith.cmpf olt, %a, %b : f32", X, Y) is less
    assert read("arith.cmpf uge, %a, %b : f32", X, Y) is scalar.lnot(less)


def test_a_remainder_is_read_from_its_form() -> None:
    multiple = scalar.mul(scalar.floordiv(P, Q), Q)
    assert read("arith.subi %i, %j : i32", P, multiple) is scalar.mod(P, Q)


def test_operations_without_a_sign_read_bits_without_one() -> None:
    bare = [scalar.cast(v, with_sign_of(v.dtype, UINT32)) for v in (P, Q)]
    assert read("arith.divui %i, %j : i32", P, Q) is scalar.floordiv(*bare)
    assert read("arith.divui %i, %j : i32", P, Q) is not scalar.floordiv(P, Q)


def test_an_op_without_a_word_is_named_with_what_it_stands_in() -> None:
    with pytest.raises(VerifyError, match=r"func.func: a body must .* got math.ctlz"):
        read("math.ctlz %i : i32", P)
