"""A CPU as schedules and code generation know it: a row with its registers and its instructions.

A schedule is a function of shapes and of a row, never of timing, so the order of every sum is the
same on all machines of a row. The environment variable `TED_CPU` names a row, and code is then for
the least machine of it: `TED_CPU=avx2` gives on a newer machine what an older one gets.

Loops use whole registers on every row. LLVM would rather use half of them on Intel's CPUs with
AVX-512, as clocks fell while wide registers worked; but contractions use them anyhow, sums in
lanes would have another order there, and numerical code gained from the whole ones, lower clock
included. Source: IREE, issue 13751, "Consistently enable 512-bit vectors on Skylake".
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ted.errors import ScheduleError

CHOICE = "TED_CPU"


@dataclass(frozen=True)
class VectorTarget:
    """Vector registers of a CPU: `vector_bytes` each, `registers` of them; what code may use.

    `features` are named as LLVM and Linux name them, none for all that the host has. `base` and
    `tuning` are LLVM's names: of a machine with the other instructions, and of one to be fast on.
    `converts_halves`: whether it has instructions between f16 and f32.
    """

    name: str
    vector_bytes: int
    registers: int
    base: str
    tuning: str
    features: tuple[str, ...]
    converts_halves: bool = True

    def lanes(self, element_bytes: int) -> int:
        """Elements of the given width in one register."""
        return self.vector_bytes // element_bytes


_AVX2 = ("avx2", "fma", "f16c")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl")

TARGETS = {
    target.name: target
    for target in (
        VectorTarget("avx512", 64, 32, "x86-64", "skylake-avx512", _AVX512),
        VectorTarget("avx2", 32, 16, "x86-64", "haswell", _AVX2),
        VectorTarget("sse2", 16, 16, "x86-64", "x86-64", ("sse2",), converts_halves=False),
        VectorTarget("neon", 16, 32, "generic", "generic", ("neon",)),
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
    """The row that this process compiles for: the host's best, with all its instructions.

    Raises: ScheduleError when `TED_CPU` names a row that the host cannot execute.
    """
    runnable = executable_targets()
    chosen = os.environ.get(CHOICE)
    if not chosen:
        return replace(runnable[0], features=())
    for target in runnable:
        if target.name == chosen:
            return target
    names = ", ".join(target.name for target in runnable)
    raise ScheduleError(
        f"{CHOICE}: must be a row that this machine can run ({names}), got '{chosen}'"
    )


@cache
def executable_targets() -> tuple[VectorTarget, ...]:
    """The rows whose code the machine of this process can execute, the best one first."""
    if platform.machine() in ("aarch64", "arm64"):
        return (TARGETS["neon"],)
    flags = _x86_flags()
    return tuple(target for target in TARGETS.values() if flags.issuperset(target.features))


def _x86_flags() -> frozenset[str]:
    """Feature names from the kernel; the oldest row's where it does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    lines = (line for line in text.splitlines() if line.startswith("flags"))
    return frozenset(next(lines, "").split()) | set(TARGETS["sse2"].features)
