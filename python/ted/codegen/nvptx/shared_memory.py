"""What the text of kernels says of the shared memory that they use."""

from __future__ import annotations

import re

from ted.codegen.manifest import Manifest
from ted.errors import CompileError
from ted.machine import named_gpu

_FUNCTION = re.compile(r"^\.visible \.entry ([\w$.]+)\(", re.MULTILINE)
_SHARED = re.compile(
    r"^\s*\.shared \.align (\d+) \.[bufs](\d+) ([\w$.]+)(?:\[(\d+)\])?;", re.MULTILINE
)
_NAME = re.compile(r"[\w$.]+")


def static_shared_bytes(ptx: str) -> dict[str, int]:
    """Bytes of shared memory that each kernel of PTX declares, or uses of the module's."""
    variables = {
        name: (int(align), int(bits) // 8 * int(count or 1))
        for align, bits, name, count in _SHARED.findall(ptx)
    }
    _, *parts = _FUNCTION.split(ptx)  # name, text, name, text
    used = {
        kernel: set(_NAME.findall(t)) for kernel, t in zip(parts[::2], parts[1::2], strict=True)
    }
    return {
        kernel: _size([variables[v] for v in variables if v in names])
        for kernel, names in used.items()
    }


def _size(variables: list[tuple[int, int]]) -> int:
    total = 0
    for align, size in variables:
        total = -(-total // align) * align + size
    return total


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
