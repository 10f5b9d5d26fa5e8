"""Modules of the LLVM dialect -> assembly for CPUs of another architecture than this machine's.

Before: `llvm.func @f() attributes {target_cpu = "generic"}`      After: `f:` and `ret`, as text
that the assembler of such a machine reads

The binding makes code for its own machine alone. llvmlite's LLVM has every architecture; the code
is the schedule's all the same.
"""

from __future__ import annotations

from typing import Any, cast

from ted.codegen.llvm.literals import rewrite_literals
from ted.codegen.llvm_worker import compile_text
from ted.machine import Cpu
from ted.mlir import ir, llvm
from ted.mlir.queries import operations, symbol_name


def assembly_of(module: ir.Module, cpu: Cpu) -> str:
    """The assembly of a module of the LLVM dialect for a row of CPUs.

    Raises: RuntimeError of an LLVM that does not read what the binding writes.
    """
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    text = cast("Any", llvm).translate_module_to_llvmir(module.operation)
    defined = [op for op in operations(module.operation, "llvm.func") if len(op.regions[0].blocks)]
    request = {
        "text": rewrite_literals(text),
        "triple": f"{cpu.architecture}-unknown-linux-gnu",
        "chip": cpu.base,
        "features": ",".join(f"+{feature}" for feature in cpu.features),
        "keep": [symbol_name(op) for op in defined],
        "library": None,
        "output": "assembly",
    }
    return compile_text(request)["assembly"]
