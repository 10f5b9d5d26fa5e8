"""Kernels as text for the tests of code generation, and the passes that lower them."""

from __future__ import annotations

from ted.codegen.nvptx.translate import mlir_gpu_module_to_llvm_text
from ted.dialects import session
from ted.mlir import PassManager, ir

LOWER = (
    "builtin.module(convert-nvgpu-to-nvvm,gpu.module(expand-strided-metadata,lower-affine,"
    "convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},"
    "reconcile-unrealized-casts))"
)

# y[i] = x[i] * a for i < 96, two blocks of 64 threads
SCALE = """gpu.func @scale(
      %x: memref<96xf32> {llvm.noalias}, %y: memref<96xf32> {llvm.noalias}, %a: f32)
    kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %b = gpu.block_id x
  %n = gpu.block_dim x
  %t = gpu.thread_id x
  %s = arith.muli %b, %n : index
  %i = arith.addi %s, %t : index
  %end = arith.constant 96 : index
  %c = arith.cmpi ult, %i, %end : index
  scf.if %c {
    %v = memref.load %x[%i] : memref<96xf32>
    %w = arith.mulf %v, %a : f32
    memref.store %w, %y[%i] : memref<96xf32>
  }
  gpu.return
}"""


def llvm_text(*functions: str, passes: str = LOWER) -> str:
    """The LLVM text of `gpu.func`s, each in a kernel module of its own."""
    modules = "\n".join(f"gpu.module @m{k} {{ {f} }}" for k, f in enumerate(functions))
    with session():
        module = ir.Module.parse(f"module attributes {{gpu.container_module}} {{ {modules} }}")
        PassManager.parse(passes).run(module.operation)
        return mlir_gpu_module_to_llvm_text(module)
