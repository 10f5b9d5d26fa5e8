"""Memory that a kernel makes for itself, aligned to cache lines: on the stack, or on the heap."""

from __future__ import annotations

from ted.mlir import ir, memref
from ted.mlir.aliasing import function_of

# What one use has on the stack at most: an allocation costs more than a small kernel.
STACK_BYTES = 16384
_ALIGNMENT = 64  # bytes of a cache line, and of the widest register


def on_stack(kind: ir.MemRefType, block: ir.Block) -> ir.Value:
    """Memory of the function around a block: at its entry it exists once, not once per trip."""
    with ir.InsertionPoint.at_block_begin(function_of(block).entry_block):
        return memref.AllocaOp(kind, [], [], alignment=_alignment()).result


def on_heap(kind: ir.MemRefType) -> ir.Value:
    """Memory at the insertion point, which whoever asks for it gives back."""
    return memref.AllocOp(kind, [], [], alignment=_alignment()).result


def _alignment() -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ALIGNMENT)
