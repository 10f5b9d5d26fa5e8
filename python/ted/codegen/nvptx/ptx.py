"""LLVM IR text with kernels -> PTX.

The text comes from MLIR (`translate.py`), LLVM 24; llvmlite's LLVM 22 optimises it at O3 and
selects instructions in a child process. Division and square root are IEEE and denormals are kept;
products and sums contract to `fma` where the text says `contract`. Calls of `__nv_expf` and its kin
are resolved from libdevice.
"""

from __future__ import annotations

import re

from ted.codegen.children import TIMEOUT
from ted.codegen.llvm.child import child
from ted.codegen.llvm.literals import rewrite_literals
from ted.codegen.llvm.request import Request, compile_cached
from ted.codegen.nvptx import toolkit
from ted.codegen.nvptx.shared_memory import static_shared_bytes
from ted.errors import CompileError
from ted.machine import STATIC_SHARED_BYTES, named_gpu

TRIPLE = "nvptx64-nvidia-cuda"
EXACT = ("-nvvm-reflect-add=__CUDA_PREC_SQRT=1",)
FAST = ("-nvptx-prec-divf32=1", "-nvptx-prec-sqrtf32=0", "-nvvm-reflect-add=__CUDA_PREC_SQRT=0")

_KERNEL = re.compile(r'^define[^@\n]*\bptx_kernel\b[^@\n]*@(?:"([^"]+)"|([\w$.]+))', re.MULTILINE)
_LIBRARY_CALL = re.compile(r"@__nv_\w")
_EXTERN = re.compile(r"^\.extern \.func\s+(?:\(.*?\)\s*)?([\w$.]+)", re.MULTILINE)
_DEVICE_RUNTIME = frozenset({"vprintf", "__assertfail", "malloc", "free"})  # every driver has them


def compile_to_ptx(
    llvm_text: str,
    chip: str = "sm_80",
    *,
    fast_math: bool = False,
    timeout: float = TIMEOUT,
    libdevice: str | None = None,
) -> str:
    """Compile a module of LLVM IR (of LLVM 24, without triple and layout) to PTX.

    Functions of the calling convention `ptx_kernel` are the entries, all others are inlined or
    internal. `fast_math` selects `div.full.f32` and `sqrt.approx.f32`. `libdevice` is the file of
    mathematical functions, looked for where it is not given. An equal request is answered from the
    disk.

    Raises: CompileError for an unknown chip, a module without kernels, one that LLVM refuses or
    does not finish in `timeout` seconds, for a function that nothing defines, and for more than 48
    KiB of static shared memory.
    """
    version = named_gpu(chip).ptx
    kernels = kernel_names(llvm_text)
    if not kernels:
        raise CompileError("cuda: a module must define a kernel, got no function 'ptx_kernel'")
    what = f"cuda: kernel {_listed(kernels)} for {chip}"
    request = Request(
        texts=(rewrite_literals(llvm_text),),
        triple=TRIPLE,
        chip=chip,
        features=f"+ptx{version}",
        keep=tuple(kernels),
        library=libdevice or str(toolkit.libdevice()) if _LIBRARY_CALL.search(llvm_text) else None,
        options=FAST if fast_math else EXACT,
    )
    ptx = compile_cached(request, what, timeout)["assembly"]
    _check_defined(what, ptx)
    _check_shared(chip, ptx)
    return ptx


def start_compiler(*, fast_math: bool = False) -> None:
    """Let the code generator load LLVM, a tenth of a second, while the caller lowers a program.

    `compile_to_ptx` does so too, but then waits for it.
    """
    child(FAST if fast_math else EXACT).start()


def kernel_names(llvm_text: str) -> list[str]:
    """Names of the kernels that a module defines, in its order."""
    return [quoted or plain for quoted, plain in _KERNEL.findall(llvm_text)]


def _check_defined(what: str, ptx: str) -> None:
    missing = sorted(set(_EXTERN.findall(ptx)) - _DEVICE_RUNTIME)
    if missing:
        raise CompileError(
            f"{what}: every function must be defined, got calls of {', '.join(missing)}; LLVM has "
            "no such intrinsic for this chip, and libdevice no such function"
        )


def _check_shared(chip: str, ptx: str) -> None:
    for kernel, size in static_shared_bytes(ptx).items():
        if size > STATIC_SHARED_BYTES:
            raise CompileError(
                f"cuda: kernel {kernel!r} for {chip}: a kernel may declare at most "
                f"{STATIC_SHARED_BYTES} bytes of shared memory, got {size}; use dynamic shared "
                "memory or smaller tiles"
            )


def _listed(names: list[str], shown: int = 4) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(map(repr, names[:shown])) + more
