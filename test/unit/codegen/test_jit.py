"""Modules and their machine code."""

from __future__ import annotations

from ted.codegen.jit import Compiled, compile_module
from ted.dialects import make_context
from ted.lowering.pipelines import run_pipeline
from ted.mlir import ir
from ted.runtime.library import library_path
from unit.lowering.equation_text import compute, fill, module_text, tensor_type

VECTOR = tensor_type((7,))


def compiled(operation: str) -> Compiled:
    body = fill("z", (7,)) + compute(
        "y", [("A", VECTOR, "i")], [("z", VECTOR)], (7,), "p", "i",
        f'%p = {operation} %a, %a : f32\n"ted.yield"(%p) : (f32) -> ()',
    )  # fmt: skip
    text = module_text([("A", VECTOR)], body, [("y", VECTOR)])
    with make_context(), ir.Location.unknown():
        return compile_module(run_pipeline(ir.Module.parse(text)), (library_path(),))


def test_equal_modules_are_compiled_once() -> None:
    assert compiled("arith.mulf") is compiled("arith.mulf")
    assert compiled("arith.mulf") is not compiled("arith.addf")
