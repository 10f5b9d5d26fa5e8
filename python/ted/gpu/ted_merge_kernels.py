"""One module for all kernels of a program: the pass `ted-merge-kernels`.

Before: `gpu.module @main_kernel { gpu.func @main_kernel ... }`, one for each launch.
After: `gpu.module @kernels` with all of them, named after the function and numbered; equal kernels
are one. Pointers are marked as distinct and aligned, which is what joins loads into vectors.
Kernels that keep arrays in registers say that one block at a time is enough: else the assembler
puts some of them into memory, to make room for more blocks.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ted.gpu.accesses import byte_width
from ted.gpu.contractions import MODULE, kernel_module
from ted.machine import ACCESS_BYTES
from ted.mlir import ir
from ted.mlir.aliasing import donated_pairs
from ted.mlir.queries import functions, operations


@dataclass(frozen=True)
class TedMergeKernels:
    """Move every kernel into one module."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        sources = [o for o in operations(module.operation, "gpu.module") if _name(o) != MODULE]
        if not sources:
            return
        target = kernel_module(module)
        names: dict[tuple[str, ...], str] = {}
        known: dict[str, str] = {_text(f): _name(f) for f in operations(target, "gpu.func")}
        shared = _may_be_one(module)
        for source in sources:
            for kernel in operations(source, "gpu.func"):
                _mark_pointers(kernel, shared.get(_name(source), set()))
                _mark_registers(kernel)
                old = (_name(source), _name(kernel))
                names[old] = _moved(kernel, target, known)
        for call in operations(module.operation, "gpu.launch_func"):
            _rename(call, names)
        # Not before: kernels are printed to be compared, and only valid IR prints as text.
        for source in sources:
            source.erase()


def _moved(kernel: ir.Operation, target: ir.Operation, known: dict[str, str]) -> str:
    """Put a kernel into the module, unless an equal one is there; returns its name."""
    text = _text(kernel)
    if text in known:
        return known[text]
    stem = _name(kernel).removesuffix("_kernel").replace(".", "_")
    name = f"{re.sub('_kernel_[0-9]+$', '', stem)}_{len(known)}"
    known[text] = name
    copy = kernel.clone(ir.InsertionPoint(target.regions[0].blocks[0])).operation
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    return name


def _may_be_one(module: ir.Module) -> dict[str, set[int]]:
    """For each module of a kernel the parameters that may be the same memory as another one."""
    found: dict[str, set[int]] = {}
    for function in functions(module):
        pairs = donated_pairs(function)
        for call in operations(function, "gpu.launch_func"):
            count = list(ir.DenseI32ArrayAttr(call.attributes["operandSegmentSizes"]))
            first = sum(count[:11])
            given = list(call.operands)[first : first + count[11]]
            name = ir.SymbolRefAttr(call.attributes["kernel"]).value[0]
            for pair in pairs:
                if all(value in given for value in pair):
                    found.setdefault(name, set()).update(given.index(v) for v in pair)
    return found


def _mark_pointers(kernel: ir.Operation, shared: set[int]) -> None:
    kinds = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [_marks(kind, n in shared) for n, kind in enumerate(kinds)]
    )


def _mark_registers(kernel: ir.Operation) -> None:
    if operations(kernel, "memref.alloca"):
        i32 = ir.IntegerType.get_signless(32)
        kernel.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(i32, 1)


def _marks(kind: ir.Type, may_be_shared: bool) -> ir.Attribute:
    if not isinstance(kind, ir.MemRefType):
        return ir.DictAttr.get({})
    width = byte_width(kind.element_type)
    # LLVM fills loads up to what is aligned: never beyond the last byte of what is in memory.
    aligned = max(math.gcd(ACCESS_BYTES, math.prod(kind.shape) * width), width)
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), aligned)
    marks: dict[str, ir.Attribute] = {"llvm.align": number}
    if not may_be_shared:
        marks["llvm.noalias"] = ir.UnitAttr.get()
    return ir.DictAttr.get(marks)


def _rename(call: ir.Operation, names: dict[tuple[str, ...], str]) -> None:
    path = tuple(ir.SymbolRefAttr(call.attributes["kernel"]).value)
    if path in names:
        call.attributes["kernel"] = ir.SymbolRefAttr.get([MODULE, names[path]])


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _text(kernel: ir.Operation) -> str:
    """What a kernel does, without its name."""
    return str(kernel).replace(f"@{_name(kernel)}(", "@(", 1)
