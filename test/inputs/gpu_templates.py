"""Print the kernels of the contractions of a file: `gpu_templates.py FILE CHIP (ir|ptx)`."""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path

from ted.codegen.nvptx import compile_to_ptx
from ted.codegen.nvptx.translate import mlir_gpu_module_to_llvm_text
from ted.gpu.templates.contraction import emit, plan
from ted.gpu.templates.problem import Operand, Problem
from ted.gpu.templates.schedule import Plan
from ted.gpu.wide_products import contraction_of
from ted.mlir import PassManager, ir, make_context

LOWER = (
    "builtin.module(convert-nvgpu-to-nvvm,gpu.module(expand-strided-metadata,lower-affine,"
    "convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},"
    "reconcile-unrealized-casts,canonicalize,cse))"
)


def contractions(source: ir.Module) -> dict[str, ir.Operation]:
    """The generics of a module by the name of their function."""
    found = {}
    for function in source.body.operations:
        name = ir.StringAttr(function.operation.attributes["sym_name"]).value
        for op in function.operation.regions[0].blocks[0].operations:
            if op.operation.name == "linalg.generic":
                found[name] = op.operation
    return found


def problem(op: ir.Operation) -> Problem:
    """A contraction that starts at zero as dims with strides."""
    found = contraction_of(op)
    strided = None if found is None else found.strided()
    assert found is not None, op
    assert strided is not None, op
    kinds = [ir.ShapedType(value.type) for value in found.values]
    a, b, c = (Operand(str(kind.element_type), prod(kind.shape)) for kind in kinds)
    return Problem(strided[0], a, b, c, accumulator=str(found.element))


def main(path: str, chip: str, form: str) -> None:
    """Build the kernels and print them, with the plan before each."""
    with make_context(), ir.Location.unknown():
        source = ir.Module.parse(Path(path).read_text())
        for name, op in contractions(source).items():
            target = ir.Module.parse("module {gpu.module @kernels {}}")
            chosen = plan(problem(op), chip, tensor_maps=True)
            if not isinstance(chosen, Plan):
                print(f"{name}: {chosen}")
                continue
            launches = emit(chosen, target.body.operations[0].operation, name)
            for launch in launches:
                print(f"{name}: {launch}")
            if form == "ptx":
                PassManager.parse(LOWER).run(target.operation)
                print(compile_to_ptx(mlir_gpu_module_to_llvm_text(target), chip))
            else:
                print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
