"""Modules and their machine code."""

from __future__ import annotations

import numpy as np

import ted
from ted.api.host import host_cpu
from ted.codegen.jit import Compiled, compile_module
from ted.cpu.pipeline import cpu_stages
from ted.dialects import make_context
from ted.ir.pipelines import run_stages
from ted.mlir import ir
from ted.runtime.library import library_path
from unit.linalg.equation_text import compute, fill, module_text, tensor_type

VECTOR = tensor_type((7,))


def compiled(operation: str) -> Compiled:
    body = fill("z", (7,)) + compute(
        "y", [("A", VECTOR, "i")], [("z", VECTOR)], (7,), "p", "i",
        f'%p = {operation} %a, %a : f32\n"ted.yield"(%p) : (f32) -> ()',
    )  # fmt: skip
    text = module_text([("A", VECTOR)], body, [("y", VECTOR)])
    with make_context(), ir.Location.unknown():
        return compile_module(
            run_stages(ir.Module.parse(text), cpu_stages(host_cpu())), (library_path(),)
        )


def test_equal_modules_are_compiled_once() -> None:
    assert compiled("arith.mulf") is compiled("arith.mulf")
    assert compiled("arith.mulf") is not compiled("arith.addf")


def test_what_an_outer_loop_computes_for_an_inner_one_does_not_keep_its_first_value() -> None:
    table = ted.placeholder((2, 2), "float64", name="A")
    clamped = ted.compute(
        (9, 3), lambda i, j: ted.where(i < 2, table[i, ted.clip(j, 0, 1)], 0.0), name="C"
    )
    found = ted.compile([table], clamped)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(found[:3], [[1, 2, 2], [3, 4, 4], [0, 0, 0]])
