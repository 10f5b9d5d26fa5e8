"""Operations in a function of their own for a while, so that work on them does not see the rest.

Before: ten operations among a thousand      After: a module with a function of the ten
The transform dialect verifies and numbers the whole function around each operation that it fuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ted.mlir import func, ir
from ted.mlir.queries import copied_with, in_block, operands_inside


@contextmanager
def alone(members: Sequence[ir.Operation]) -> Iterator[ir.Module]:
    """A module with a function of operations of a block; what is made of them takes their place.

    They are in the order of the block. What uses their results comes after the last one.
    """
    last, taken = members[-1], set(members)
    captured = _captured(members)
    results = [
        value
        for op in members
        for value in op.results
        if any(in_block(use.owner.operation, last.block) not in taken for use in value.uses)
    ]
    scratch = ir.Module.create(last.location)
    block = _copied(scratch, members, captured, results)
    yield scratch
    *made, end = [op.operation for op in block.operations]
    for argument, value in zip(block.arguments, captured, strict=True):
        argument.replace_all_uses_with(value)
    for op in made:
        op.move_before(last)
    for old, new in zip(results, end.operands, strict=True):
        old.replace_all_uses_with(new)
    end.erase()  # it would use values of another module, which may be gone before this one
    for op in reversed(members):
        op.erase()


def _captured(members: Sequence[ir.Operation]) -> list[ir.Value]:
    """What operations, and all inside them, use of the outside."""
    block, taken = members[0].block, set(members)

    def is_made_here(value: ir.Value) -> bool:
        owner = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
        around = owner.operation
        return around != block.owner.operation and in_block(around, block) in taken

    values = dict.fromkeys(value for op in members for value in operands_inside(op))
    return [value for value in values if not is_made_here(value)]


def _copied(
    scratch: ir.Module,
    members: Sequence[ir.Operation],
    captured: Sequence[ir.Value],
    results: Sequence[ir.Value],
) -> ir.Block:
    """The block of a function with copies of the operations."""
    types = [v.type for v in captured], [v.type for v in results]
    with members[-1].location, ir.InsertionPoint(scratch.body):
        block = func.FuncOp("alone", types).add_entry_block()
    known = dict(zip(captured, block.arguments, strict=True))
    with members[-1].location, ir.InsertionPoint(block):
        for op in members:
            copied_with(op, known)
        func.ReturnOp([known[value] for value in results])
    return block
