"""Operations that leave their block for a function, and what takes their place there."""

from __future__ import annotations

from ted import dialects
from ted.mlir import arith, ir
from ted.mlir.queries import functions, operations
from ted.mlir.scratch_functions import alone

PROGRAM = """
func.func @f(%a: f32, %b: f32) -> (f32, f32) {
  %before = arith.negf %a : f32
  %sum = arith.addf %before, %b : f32
  %between = arith.mulf %a, %a : f32
  %twice = arith.addf %sum, %sum : f32
  %after = arith.subf %twice, %between : f32
  return %after, %sum : f32, f32
}
"""


def test_the_rest_is_not_seen_and_uses_what_is_made() -> None:
    with dialects.session():
        module = ir.Module.parse(PROGRAM)
        members = operations(module.operation, "arith.addf")
        with alone(members) as scratch:
            (function,) = functions(scratch)
            block = function.entry_block
            names = [op.operation.name for op in block.operations]
            assert names == ["arith.addf", "arith.addf", "func.return"]
            assert len(block.arguments) == 2  # %before and %b
            first = block.operations[0].operation
            with ir.InsertionPoint(first), first.location:
                made = arith.MulFOp(*block.arguments).result
            first.results[0].replace_all_uses_with(made)
            first.erase()
        assert module.operation.verify()
        (function,) = functions(module)
        ops = [op.operation for op in function.entry_block.operations]
        assert [op.name for op in ops] == [
            "arith.negf", "arith.mulf", "arith.mulf", "arith.addf", "arith.subf", "func.return",
        ]  # fmt: skip
        negated, _, product, doubled, difference, end = ops
        assert list(product.operands) == [negated.results[0], function.entry_block.arguments[1]]
        assert list(doubled.operands) == [product.results[0]] * 2
        assert difference.operands[0] == doubled.results[0]
        assert list(end.operands) == [difference.results[0], product.results[0]]


def test_one_operation_may_be_alone() -> None:
    with dialects.session():
        module = ir.Module.parse(PROGRAM)
        before = str(module)
        with alone(operations(module.operation, "arith.mulf")) as scratch:
            (function,) = functions(scratch)
            assert [op.operation.name for op in function.entry_block.operations] == [
                "arith.mulf", "func.return",
            ]  # fmt: skip
        assert str(module) == before
