"""LLVM functions -> the same with what LLVM cannot see for itself: `ted-annotate-functions`.

Before: `llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr`.
After: its result is `noalias` and aligned, as that of malloc would be known to be; without it every
loop over two buffers needs run-time checks, which cost more than a short loop gains. Functions of
the program are not inlined into their wrapper for packed arguments, which would be a second copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir

ALLOCATORS = ("_mlir_memref_to_llvm_alloc", "_mlir_memref_to_llvm_aligned_alloc")
_FRESH = "[{llvm.noalias, llvm.noundef, llvm.align = 64 : i64}]"


@dataclass(frozen=True)
class TedAnnotateFunctions:
    """Annotate allocators and the functions of the program."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for op in module.body.operations:
            if op.operation.name == "llvm.func":
                _annotate(op.operation)


def _annotate(function: ir.Operation) -> None:
    if len(function.regions[0].blocks):
        function.attributes["no_inline"] = ir.UnitAttr.get()
    elif ir.StringAttr(function.attributes["sym_name"]).value in ALLOCATORS:
        function.attributes["res_attrs"] = ir.Attribute.parse(_FRESH)
