"""The part of a CPU that a vector schedule depends on: how wide and how many its registers are.

A schedule is a function of shapes and of this table, never of timing, so results are bitwise equal
on every machine with the same row.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ted.errors import ScheduleError


@dataclass(frozen=True)
class VectorTarget:
    """Vector registers of a CPU: `vector_bytes` each, `registers` of them.

    `converts_halves`: whether it has instructions between f16 and f32.
    """

    name: str
    vector_bytes: int
    registers: int
    converts_halves: bool = True

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given width in one register."""
        return self.vector_bytes // element_bytes


TARGETS = {
    target.name: target
    for target in (
        VectorTarget("avx512", 64, 32),
        VectorTarget("avx2", 32, 16),
        VectorTarget("sse2", 16, 16, converts_halves=False),
        VectorTarget("neon", 16, 32),
    )
}


def named_target(name: str) -> VectorTarget:
    """The row of a name, the host's for an empty one.

    Raises: ScheduleError when no row has the name.
    """
    if not name:
        return host_target()
    if name not in TARGETS:
        raise ScheduleError(f"vector target: must be one of {', '.join(TARGETS)}, got '{name}'")
    return TARGETS[name]


@cache
def host_target() -> VectorTarget:
    """The row of the machine that runs this process."""
    if platform.machine() in ("aarch64", "arm64"):
        return TARGETS["neon"]
    flags = _x86_flags()
    if "avx512f" in flags and "avx512vl" in flags:
        return TARGETS["avx512"]
    return TARGETS["avx2" if {"avx2", "fma", "f16c"} <= flags else "sse2"]


def _x86_flags() -> frozenset[str]:
    """Feature names from the kernel; none where it does not say (then the oldest row is safe)."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    lines = (line for line in text.splitlines() if line.startswith("flags"))
    return frozenset(next(lines, "").split())
