"""Which machine this is: the one place that asks, for the API and the tools above it.

The environment variable `TED_CPU` names a row of `ted.machine`, and code is then for the least
machine of it: `TED_CPU=avx2` gives on a newer machine what an older one gets.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from itertools import takewhile
from pathlib import Path

from ted.errors import ScheduleError
from ted.machine import CPUS, DEFAULT_GPU, GPUS, Cpu
from ted.runtime.permissions import may_use_matrices

CHOICE = "TED_CPU"


@cache
def host_cpu() -> Cpu:
    """The row that this process compiles for: the host's best, with all its instructions.

    Raises: ScheduleError when `TED_CPU` names a row that the host cannot execute.
    """
    runnable = executable_cpus()
    chosen = os.environ.get(CHOICE)
    if not chosen:
        return runnable[0].native()
    for row in runnable:
        if row.name == chosen:
            return row
    names = ", ".join(row.name for row in runnable)
    raise ScheduleError(
        f"{CHOICE}: must be a row that this machine can run ({names}), got '{chosen}'"
    )


@cache
def executable_cpus() -> tuple[Cpu, ...]:
    """The rows whose code the machine of this process can execute, the best one first."""
    rows = tuple(row for row in CPUS.values() if not is_foreign(row))
    if _architecture() != "x86_64":
        return rows
    vendor = _of_processor("vendor_id")
    rows = tuple(sorted(rows, key=lambda row: not row.vendor or row.vendor != vendor))
    features = _features()
    if "amx-tile" in features and not may_use_matrices():
        features -= {"amx-tile"}
    return tuple(row for row in rows if features.issuperset(row.features))


def is_foreign(cpu: Cpu) -> bool:
    """Whether a row is of another architecture: its code can be made here, but not linked."""
    return cpu.architecture != _architecture()


def _architecture() -> str:
    return "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86_64"


def _features() -> frozenset[str]:
    """Those of an x86 machine by the names of LLVM, which writes avx512bf16 and amx-tile."""
    flags = (flag.replace("avx512_", "avx512").replace("amx_", "amx-") for flag in _x86_flags())
    return frozenset(flags)


def host_gpu() -> str:
    """The architecture of this machine's first device, or the newest one that it runs.

    Where there is no device, the oldest one with all that kernels use.
    """
    from ted.runtime.cuda.contexts import context_of  # loaded by those who use GPUs
    from ted.runtime.cuda.driver import is_available

    if not is_available():
        return DEFAULT_GPU
    context = context_of()
    if context.chip in GPUS:
        return context.chip
    runs = [row for row in GPUS.values() if row.capability <= context.capability]
    general = [row.name for row in runs if row.name[-1].isdigit()]
    return general[-1] if general else DEFAULT_GPU


def _x86_flags() -> frozenset[str]:
    """Feature names from the kernel; the oldest row's where it does not say."""
    return frozenset(_of_processor("flags").split()) | set(CPUS["sse2"].features)


def _of_processor(field: str) -> str:
    """What the kernel says of the first processor; nothing where it does not say."""
    return _first_processor().get(field, "")


@cache
def _first_processor() -> dict[str, str]:
    try:
        with Path("/proc/cpuinfo").open() as file:  # of many processors it is long
            rows = [line.partition(":") for line in takewhile(str.strip, file)]
    except OSError:
        rows = []
    return {name.strip(): value.strip() for name, _, value in rows}
