"""Addresses as numbers, for instructions that no operation on memrefs stands for."""

from __future__ import annotations

from ted.mlir import arith, ir, llvm, memref


def address_of(memory: ir.Value) -> ir.Value:
    """Where the buffer of a memref begins, as an i64; its offset is not in it."""
    index = memref.ExtractAlignedPointerAsIndexOp(memory).result
    return arith.IndexCastOp(ir.IntegerType.get_signless(64), index).result


def pointer_to(address: ir.Value, space: int = 0) -> ir.Value:
    """The pointer of an address in an address space."""
    return llvm.IntToPtrOp(pointer_type(space), address).res


def pointer_type(space: int = 0) -> ir.Type:
    """A pointer into an address space."""
    return ir.Type.parse(f"!llvm.ptr<{space}>" if space else "!llvm.ptr")
