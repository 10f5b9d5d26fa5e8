"""What the text of kernels says of the shared memory that they use."""

from __future__ import annotations

import re

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
