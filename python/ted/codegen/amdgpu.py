"""Kernels of the gpu dialect -> code objects of AMD GPUs: a check that kernels are portable.

Before: `gpu.module`s in the dialects that kernels are written in      After: an ELF object

Nothing here runs or links. Mathematical functions that are not expanded stay calls of `__ocml_*`,
which ROCm's device library defines. What is NVIDIA's own (nvgpu, nvvm) has no counterpart.
"""

from __future__ import annotations

import base64
import re

from ted.codegen.llvm.literals import rewrite_literals
from ted.codegen.llvm.request import Request, compile_cached
from ted.codegen.nvptx.translate import gpu_modules, mlir_gpu_module_to_llvm_text
from ted.errors import CompileError, PassFailed
from ted.ir import pass_driver
from ted.mlir import ir
from ted.mlir.queries import operations

TRIPLE = "amdgcn-amd-amdhsa"
TARGETS = (
    "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950",  # 64 lanes a wave
    "gfx1030", "gfx1100", "gfx1200", "gfx1201",  # 32
)  # fmt: skip
# The mathematics first: what the project expands needs no device library.
PIPELINE = (
    "builtin.module(ted-expand-math,ted-lower-gpu-math,ted-lower-warps-to-rocdl,"
    "gpu.module(expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,"
    "convert-gpu-to-rocdl{{chipset={chip} use-bare-ptr-memref-call-conv=1}},"
    "reconcile-unrealized-casts))"
)
_PRIVATE_SPACE = 5
_KERNEL = re.compile(r"^define[^@\n]*\bamdgpu_kernel\b[^@\n]*@([\w$.]+)", re.MULTILINE)


def gpu_module_to_rocdl_text(
    module: ir.Module | ir.Operation | ir.OpView, chip: str = "gfx90a"
) -> str:
    """Lower the `gpu.module`s of a module to LLVM text for AMD GPUs; the module is not changed.

    Raises: CompileError for an unknown chip, or an operation that has no lowering.
    """
    _check(chip)
    operation = module.operation
    with operation.context, ir.Location.unknown():
        kernels = ir.Module.create()
        with ir.InsertionPoint(kernels.body):
            for one in gpu_modules(operation):
                one.clone()
        try:
            pass_driver.run_pipeline(kernels, PIPELINE.format(chip=chip))
        except PassFailed as error:
            raise CompileError(
                f"rocm: kernels must be of the gpu dialect and those below, got {error}"
            ) from None
        for op in operations(kernels.operation, "llvm.alloca"):
            _to_private_memory(op)
        return mlir_gpu_module_to_llvm_text(kernels)


def _to_private_memory(op: ir.Operation) -> None:
    """A variable of a thread lies in a memory of its own, where NVIDIA's are in the common one."""
    kind = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        own = ir.Operation.create(
            op.name,
            results=[ir.Type.parse(f"!llvm.ptr<{_PRIVATE_SPACE}>")],
            operands=list(op.operands),
            attributes={name: op.attributes[name] for name in op.attributes},
        )
        made = ir.Operation.create("llvm.addrspacecast", results=[kind], operands=own.results)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def compile_to_amdgpu_object(llvm_text: str, chip: str = "gfx90a") -> bytes:
    """Compile LLVM text whose kernels have the convention `amdgpu_kernel` to an ELF object.

    Raises: CompileError for an unknown chip, and for text that LLVM does not compile.
    """
    return base64.b64decode(_compile(llvm_text, chip)["object"])


def amdgpu_assembly(llvm_text: str, chip: str = "gfx90a") -> str:
    """The instructions of the object that `compile_to_amdgpu_object` gives, as text.

    Raises: CompileError as that function does.
    """
    return _compile(llvm_text, chip)["assembly"]


def _compile(llvm_text: str, chip: str) -> dict[str, str]:
    _check(chip)
    kernels = tuple(_KERNEL.findall(llvm_text))
    if not kernels:
        raise CompileError("rocm: a module must define a kernel, got no function 'amdgpu_kernel'")
    text = rewrite_literals(llvm_text)
    request = Request((text,), TRIPLE, chip, keep=kernels, output="object")
    return compile_cached(request, f"rocm: kernel {', '.join(map(repr, kernels))} for {chip}")


def _check(chip: str) -> None:
    if chip not in TARGETS:
        raise CompileError(f"rocm: the target must be one of {', '.join(TARGETS)}, got {chip!r}")
