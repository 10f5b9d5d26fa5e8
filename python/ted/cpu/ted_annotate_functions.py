"""LLVM functions -> the same with what LLVM cannot see for itself: `ted-annotate-functions`.

Before: `llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr`.
After: its result is `noalias` and aligned, as that of malloc would be known to be; without it every
loop over two buffers needs run-time checks, which cost more than a short loop gains. Reports of bad
indices are `cold`, so that a loop jumps to them and runs straight on without. Functions of
the program say which CPU they are for (`ted.machine`), and that calls decide about subnormal
numbers; they are not inlined into their wrapper for packed arguments, which would be a second copy,
and for the host's CPU.
"""

from __future__ import annotations

from ted.linalg.data_reads import ERROR_FUNCTION
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.math.ted_outline_math import FOR_LLVM
from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.records import dataclass

ALLOCATORS = ("_mlir_memref_to_llvm_alloc", "_mlir_memref_to_llvm_aligned_alloc")
# Whether subnormal numbers are flushed, calls decide: LLVM must not make a comparison with zero one
# of bits. It is `denormal_fpenv(dynamic)`, two bits for each of four.
_SUBNORMALS = '["denormal_fpenv", "255"]'
_FRESH = "[{llvm.noalias, llvm.noundef, llvm.align = 64 : i64}]"


@dataclass(frozen=True)
class TedAnnotateFunctions:
    """The pass. `cpu` is a row of `ted.machine.CPUS`; `native` code takes all that the host has."""

    cpu: str = DEFAULT
    native: bool = False

    def run(self, module: ir.Module) -> None:
        """Annotate allocators and the functions of the program."""
        row = named_cpu(self.cpu)
        cpu = row.native() if self.native else row
        with module.context:
            for op in module.body.operations:
                if op.operation.name == "llvm.func":
                    _annotate(op.operation, cpu)


def _annotate(function: ir.Operation, cpu: Cpu) -> None:
    if len(function.regions[0].blocks):
        function.attributes["no_inline"] = ir.UnitAttr.get()
        for name, value in _of_cpu(cpu).items():
            function.attributes[name] = value
        given = [ir.Attribute.parse(_SUBNORMALS)]
        given += [] if cpu.copies_by_library else [ir.StringAttr.get("no-builtin-memcpy")]
        if FOR_LLVM in function.attributes:
            given += list(ir.ArrayAttr(function.attributes[FOR_LLVM]))
            del function.attributes[FOR_LLVM]
        function.attributes["passthrough"] = ir.ArrayAttr.get(given)
    elif symbol_name(function) == ERROR_FUNCTION:
        function.attributes["passthrough"] = ir.Attribute.parse('["cold"]')
    elif symbol_name(function) in ALLOCATORS:
        function.attributes["res_attrs"] = ir.Attribute.parse(_FRESH)


def _of_cpu(cpu: Cpu) -> dict[str, ir.Attribute]:
    """What a function says of the CPU; native code leaves that to the host's."""
    width: dict[str, ir.Attribute] = {
        "prefer_vector_width": ir.StringAttr.get(str(8 * cpu.vector_bytes))
    }
    if cpu.is_native:
        return width
    features = ", ".join(f'"+{feature}"' for feature in cpu.features)
    return width | {
        "target_cpu": ir.StringAttr.get(cpu.base),
        "tune_cpu": ir.StringAttr.get(cpu.tuning),
        "target_features": ir.Attribute.parse(f"#llvm.target_features<[{features}]>"),
    }
