"""The GPUs that kernels can be compiled for, and their limits."""

from __future__ import annotations

import re
from typing import NamedTuple

from ted.errors import CompileError

KIB = 1024
STATIC_SHARED = 48 * KIB  # bytes that a kernel may declare; more must be dynamic


class Target(NamedTuple):
    """PTX version to emit (80 is 8.0), and bytes of shared memory that a block may ask for.

    The version is the least that has the instructions we emit: a driver reads no newer one than its
    own, and 9.0 (CUDA 13.0) is the newest that may be asked for.
    """

    ptx: int
    shared: int


TARGETS = {
    "sm_75": Target(80, 64 * KIB),
    "sm_80": Target(80, 163 * KIB),
    "sm_86": Target(80, 99 * KIB),
    "sm_87": Target(80, 163 * KIB),
    "sm_89": Target(80, 99 * KIB),
    "sm_90": Target(80, 227 * KIB),
    "sm_90a": Target(80, 227 * KIB),
    "sm_100": Target(86, 227 * KIB),
    "sm_100a": Target(86, 227 * KIB),
    "sm_120": Target(87, 99 * KIB),
    "sm_120a": Target(87, 99 * KIB),
}

_FUNCTION = re.compile(r"^\.visible \.entry ([\w$.]+)\(", re.MULTILINE)
_SHARED = re.compile(
    r"^\s*\.shared \.align (\d+) \.[bufs](\d+) ([\w$.]+)(?:\[(\d+)\])?;", re.MULTILINE
)
_NAME = re.compile(r"[\w$.]+")


def target(chip: str) -> Target:
    """The target of a name such as "sm_90a".

    Raises: CompileError for a name that TARGETS does not have.
    """
    if chip not in TARGETS:
        raise CompileError(f"cuda: the target must be one of {', '.join(TARGETS)}, got {chip!r}")
    return TARGETS[chip]


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
