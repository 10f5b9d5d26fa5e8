"""i1 in memory -> i8 in memory: the pass `ted-store-bools-as-bytes`, on the LLVM dialect.

Before: `%c = llvm.load %p : !llvm.ptr -> i1`.
After: `%b = llvm.load %p : !llvm.ptr -> i8`, `%c = llvm.icmp "ne" %b, 0`.

A bool occupies a byte anyway, but LLVM does not vectorise loops that load or store a type whose
size is not its storage size.
"""

from __future__ import annotations

from ted.mlir import ir, llvm
from ted.mlir.queries import operations
from ted.records import dataclass


@dataclass(frozen=True)
class TedStoreBoolsAsBytes:
    """Rewrite loads, stores, addresses and stack slots of i1."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in operations(module.operation, *_REWRITES):
            with ir.InsertionPoint(op), op.location:
                _REWRITES[op.name](op)


def _load(op: ir.Operation) -> None:
    bit, byte = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(8)
    if op.results[0].type != bit:
        return
    value = llvm.LoadOp(byte, op.operands[0]).result
    zero = llvm.mlir_constant(ir.IntegerAttr.get(byte, 0))
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)  # ne
    test = llvm.ICmpOp(predicate, value, zero).result
    op.results[0].replace_all_uses_with(test)
    op.erase()


def _store(op: ir.Operation) -> None:
    if op.operands[0].type == ir.IntegerType.get_signless(1):
        op.operands[0] = llvm.ZExtOp(ir.IntegerType.get_signless(8), op.operands[0]).result


def _element(op: ir.Operation) -> None:
    kind = ir.TypeAttr.get(ir.IntegerType.get_signless(1))
    if op.attributes["elem_type"] == kind:
        op.attributes["elem_type"] = ir.TypeAttr.get(ir.IntegerType.get_signless(8))


_REWRITES = {
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.getelementptr": _element,
    "llvm.alloca": _element,
}
