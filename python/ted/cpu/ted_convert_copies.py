"""`memref.copy` -> `linalg.copy`: the pass `ted-convert-copies`.

A copy of strided memory would become a call of `memrefCopy`, which no library here provides; as a
loop it is vectorised like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir, linalg
from ted.mlir.queries import operations


@dataclass(frozen=True)
class TedConvertCopies:
    """Before: `memref.copy %a, %b`.  After: `linalg.copy ins(%a) outs(%b)`."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in operations(module.operation, "memref.copy"):
            with ir.InsertionPoint(op), op.location:
                linalg.copy(op.operands[0], outs=[op.operands[1]])
            op.erase()
