"""Loops that go on from one another's tensor, inside of another loop or a branch -> a whole slice.

Before: `%2 = scf.for ... iter_args(%x = %1) ...; scf.yield %2`, where %1 is of a loop, too
After:  `%s = tensor.extract_slice %t[0] [n] [1]` for the tensor %t that all go on from, and
        `%3 = tensor.insert_slice %2 into %t[0] [n] [1]; scf.yield %3`

To know the memory of what a block yields, MLIR's bufferization asks for that of a loop's start
three times: 3^19 times behind a tensor that is made of 19 boxes in each step. That of a slice is
its destination's. Both slices are views of all of it, and go when they are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.mlir import ir, tensor
from ted.mlir.queries import defining, operations

# Chains in nested blocks multiply.
_LONGEST = 1
_BLOCKS = ("scf.for", "scf.if", "scf.while")
# The operand that a result goes on from, of those that have one result.
_DESTINATIONS = {"tensor.insert": 1, "tensor.insert_slice": 1}


def shorten_chains(root: ir.Operation) -> None:
    """Rewrite every block that yields the tensor of several loops."""
    for block in _yielding(root):
        end = block.operations[-1].operation
        for number, value in enumerate(list(end.operands)):
            if isinstance(value.type, ir.RankedTensorType) and value.type.has_static_shape:
                count, start = _chain(value, block)
                if count > _LONGEST:
                    _put_whole(block, number, start)


def _yielding(root: ir.Operation) -> Iterator[ir.Block]:
    for op in operations(root, *_BLOCKS):
        for region in op.regions:
            for block in region.blocks:
                if len(block.operations) and block.operations[-1].operation.name == "scf.yield":
                    yield block


def _chain(value: ir.Value, block: ir.Block) -> tuple[int, ir.Value]:
    """The loops and branches of a block through which a tensor comes, and what it was before."""
    count = 0
    while (op := defining(value)) is not None and op.block == block:
        if op.name in _DESTINATIONS:
            value = op.operands[_DESTINATIONS[op.name]]
        elif op.name in ("scf.for", "scf.if"):
            value, count = _start(op, ir.OpResult(value).result_number), count + 1
        else:
            break
    return count, value


def _start(op: ir.Operation, number: int) -> ir.Value:
    """What a result of a loop, or of the first branch, goes on from."""
    if op.name == "scf.for":
        return op.operands[3 + number]
    branch = op.regions[0].blocks[0]
    return _chain(branch.operations[-1].operation.operands[number], branch)[1]


def _put_whole(block: ir.Block, number: int, start: ir.Value) -> None:
    """Let operations of a block work on a tensor as on a slice that is all of it."""
    end, made = block.operations[-1].operation, defining(start)
    shape = list(ir.RankedTensorType(start.type).shape)
    whole = ([0] * len(shape), shape, [1] * len(shape))
    users = [(use.owner.operation, use.operand_number) for use in start.uses]
    if made is not None and made.block == block:
        here = ir.InsertionPoint.after(made)
    else:
        here = ir.InsertionPoint.at_block_begin(block)
    with here, end.location:
        part = tensor.ExtractSliceOp(start.type, start, [], [], [], *whole).result
    for user, place in users:
        if user != end and _is_in(user, block):
            user.operands[place] = part
    with ir.InsertionPoint(end), end.location:
        last = tensor.InsertSliceOp(end.operands[number], start, [], [], [], *whole).result
    end.operands[number] = last


def _is_in(op: ir.Operation, block: ir.Block) -> bool:
    while op.block != block:
        if op.parent is None or op.parent.operation.name == "func.func":
            return False
        op = op.parent.operation
    return True
