"""`memref.copy` -> `linalg.generic`: the pass `ted-convert-copies`.

A copy of strided memory would become a call of `memrefCopy`, which no library here provides; as a
loop nest it is shared by threads and vectorised like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir, linalg
from ted.mlir.generic import empty_generic
from ted.mlir.queries import operations
from ted.mlir.scalars import shape_of


@dataclass(frozen=True)
class TedConvertCopies:
    """Before: `memref.copy %a, %b`.  After: a `linalg.generic` that yields the elements of `%a`."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in operations(module.operation, "memref.copy"):
            with ir.InsertionPoint(op), op.location:
                _copied(*op.operands)
            op.erase()


def _copied(source: ir.Value, target: ir.Value) -> None:
    rank = len(shape_of(target))
    same = ir.AffineMap.get_identity(rank)
    generic = empty_generic([source], [target], [same, same], [False] * rank)
    block = generic.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
