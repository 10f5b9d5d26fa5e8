"""Tiny programs in the llvm path's own dialects, compiled for the runtime's tests."""

from __future__ import annotations

from functools import cache

from ted.api.host import host_cpu
from ted.math.ted_expand_half_casts import TedExpandHalfCasts
from ted.mlir import ExecutionEngine, PassManager, ir
from ted.runtime.library import library_path

_TO_LLVM = (
    "builtin.module(lower-affine, convert-scf-to-cf, expand-strided-metadata, lower-affine,"
    "convert-math-to-llvm,convert-arith-to-llvm,"
    "finalize-memref-to-llvm{use-generic-functions=1},"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}, convert-cf-to-llvm,"
    "reconcile-unrealized-casts)"
)


@cache
def compile_text(text: str) -> ExecutionEngine:
    """Compile a module of func, scf, memref, arith ops with libted_runtime in reach."""
    with ir.Context():
        module = ir.Module.parse(text)
        TedExpandHalfCasts(host_cpu().name).run(
            module
        )  # LLVM calls functions where there is no instruction
        PassManager.parse(_TO_LLVM).run(module.operation)
        return ExecutionEngine(module, 2, [library_path()])


def elementwise(
    body: str, source: str, target: str, shape: tuple[int, ...], declare: str = ""
) -> ExecutionEngine:
    """`main(%x, %y)`: %y = body(%x) at every point; `body` maps `%a` to `%b`."""
    dims = [f"%i{k}" for k in range(len(shape))]
    extents = "".join(f"{extent}x" for extent in shape)
    point = ", ".join(dims)
    loops = "".join(f"affine.for {dim} = 0 to {n} {{\n" for dim, n in zip(dims, shape, strict=True))
    return compile_text(f"""
{declare}
func.func @main(%x: memref<{extents}{source}>, %y: memref<{extents}{target}>) {{
  {loops}
    %a = memref.load %x[{point}] : memref<{extents}{source}>
    {body}
    memref.store %b, %y[{point}] : memref<{extents}{target}>
  {"}" * len(shape)}
  return
}}""")
