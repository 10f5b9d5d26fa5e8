"""Small buffers -> slots of the stack frame, within a budget: `ted-promote-buffers`.

Before: `memref.alloc() : memref<1x1024xf32>`, wherever it is.
After: `memref.alloca()` at the start of the function.

The smallest buffers go first, until a function's frame holds `total` bytes: upstream's promotion
has a limit for each buffer but none for their sum, and a stack may be small in a thread. It runs
before deallocation, which then has nothing to free, and after loops are serial: a slot made inside
a parallel loop would be made again in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.cpu.kernel_memory import on_stack
from ted.cpu.work import bytes_of
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.queries import functions, operations
from ted.records import dataclass


@dataclass(frozen=True)
class TedPromoteBuffers:
    """Promote buffers of at most `each` bytes, `total` bytes in one function."""

    each: int = 65536
    total: int = 262144

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            left = self.total
            for size, op in sorted(self._candidates(function.operation), key=lambda pair: pair[0]):
                left -= size
                if left < 0:
                    break
                _promote(op)

    def _candidates(self, function: ir.Operation) -> Iterator[tuple[int, ir.Operation]]:
        for op in operations(function, "memref.alloc"):
            size = bytes_of(op.results[0].type)
            if not len(op.operands) and size <= self.each and not _escapes(op.results[0]):
                yield size, op


def _escapes(value: ir.Value) -> bool:
    """Whether the buffer leaves its block: yielded, returned, or freed by someone else."""
    for use in value.uses:
        user = use.owner.operation
        if user.name in ("scf.yield", "func.return", "func.call", "memref.dealloc", "scf.for"):
            return True
        if user.name in VIEWS and _escapes(user.results[0]):
            return True
    return False


def _promote(op: ir.Operation) -> None:
    with op.location:
        slot = on_stack(ir.MemRefType(op.results[0].type), op.block)
    op.results[0].replace_all_uses_with(slot)
    op.erase()
