"""`memref.copy` -> `linalg.generic`: the pass `ted-convert-copies`.

A copy of strided memory would become a call of `memrefCopy`, which no library here provides; as a
loop nest it is shared by threads and vectorised like everything else. Copies of one tensor that
follow each other, as two equal gradients are, read it once.
"""

from __future__ import annotations

from ted.mlir import ir, linalg
from ted.mlir.aliasing import ANYWHERE, memories
from ted.mlir.generic import empty_generic
from ted.mlir.queries import operations
from ted.mlir.scalars import shape_of
from ted.records import dataclass

MOST = 4  # memories that one loop writes to: their lines stay in the first cache


@dataclass(frozen=True)
class TedConvertCopies:
    """Before: `memref.copy %a, %b`.  After: a `linalg.generic` that yields the elements of `%a`."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        together: list[ir.Operation] = []
        for op in operations(module.operation, "memref.copy"):
            if together and not _joins(op, together):
                _convert(together)
                together = []
            together.append(op)
        if together:
            _convert(together)


def _joins(op: ir.Operation, copies: list[ir.Operation]) -> bool:
    """Whether a copy is right behind others of its source, into other memory than theirs."""
    source, target = op.operands
    if source != copies[0].operands[0] or len(copies) == MOST or op.block != copies[-1].block:
        return False
    block = [other.operation for other in op.block.operations]
    used = {memory for copy in copies for v in copy.operands for memory in memories(v)}
    is_apart = used.isdisjoint(found := memories(target)) and ANYWHERE not in used | found
    return is_apart and block.index(copies[-1]) + 1 == block.index(op)


def _convert(copies: list[ir.Operation]) -> None:
    """One loop nest in the place of the last, where all targets are there."""
    source, targets = copies[0].operands[0], [copy.operands[1] for copy in copies]
    with ir.InsertionPoint(copies[-1]), copies[0].location:
        rank, count = len(shape_of(source)), len(targets)
        same = ir.AffineMap.get_identity(rank)
        generic = empty_generic([source], targets, [same] * (count + 1), [False] * rank)
        block = generic.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            linalg.YieldOp([block.arguments[0]] * count)
    for copy in copies:
        copy.erase()
