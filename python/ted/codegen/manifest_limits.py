"""Whether a GPU of the target has what a manifest's kernels ask for, before one is there to ask."""

from __future__ import annotations

from ted.codegen.manifest import Manifest
from ted.codegen.nvptx.shared_memory import static_shared_bytes
from ted.errors import CompileError
from ted.machine import named_gpu


def check_shared_memory(manifest: Manifest) -> None:
    """Count the shared memory of each kernel, declared and dynamic.

    Raises: CompileError for an unknown target, or naming the kernel that needs too much.
    """
    most = named_gpu(manifest.target).shared_bytes
    declared = static_shared_bytes(manifest.ptx)
    for kernel in manifest.kernels:
        needed = declared.get(kernel.name, 0) + kernel.dynamic_shared_bytes
        if needed > most:
            raise CompileError(
                f"{manifest.name}: too much shared memory: a block of {manifest.target} has at "
                f"most {most} bytes, kernel {kernel.name} needs {needed}"
            )
