"""Fair times: contenders in turn, CPU time of the thread, ratios with their spread.

Programs of ted run on one thread, unless `TED_NUM_THREADS` or a script says otherwise: the time of
other threads would not count. Every round times each contender once, so that a slow phase of the
machine meets all of them; the ratio is taken within a round and reported as its median with
quartiles.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import metadata

os.environ.setdefault("TED_NUM_THREADS", "1")
Call = Callable[[], object]
Clock = Callable[[], float]


def rounds(
    calls: Sequence[Call], count: int, least_seconds: float = 2e-3, clock: Clock = time.thread_time
) -> list[list[float]]:
    """Seconds per call of each contender in each round, after one round that is not counted."""
    repeats = [_repeats(call, least_seconds, clock) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(count):
        for call, mine, repeat in zip(calls, times, repeats, strict=True):
            mine.append(_once(call, repeat, clock))
    return times


def _repeats(call: Call, least_seconds: float, clock: Clock) -> int:
    """How many calls fill the least time that is worth a reading of the clock."""
    call()
    return max(1, int(least_seconds / max(_once(call, 1, clock), 1e-9)))


def _once(call: Call, repeats: int, clock: Clock) -> float:
    began = clock()
    for _ in range(repeats):
        call()
    return (clock() - began) / repeats


def spread(values: Sequence[float]) -> str:
    """The median with quartiles."""
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return f"{statistics.median(ordered):.2f} [{ordered[quarter]:.2f}, {ordered[-1 - quarter]:.2f}]"


def compared(name: str, ours: Call, theirs: Call, count: int, baseline: str = "torch") -> str:
    """A line of a table: ted's time over the baseline's; below 1 ted is faster."""
    mine, other = rounds([ours, theirs], count)
    ratios = [a / b for a, b in zip(mine, other, strict=True)]
    return (
        f"{name:34} ted {_show(mine)}  {baseline} {_show(other)}  ted / {baseline} {spread(ratios)}"
    )


def _show(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e6:9.1f} us"


def environment(*packages: str) -> str:
    """Versions, processor family and instruction set: what a number is worth without them is 0."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return f"# {_processor()}, Python {platform.python_version()}, {versions}, 1 thread"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read()
    except OSError:
        return platform.machine()
    model = next((x for x in lines.splitlines() if x.startswith("model name")), ": unknown")
    wide = "AVX-512" if "avx512f" in lines else "AVX2" if "avx2" in lines else "SSE"
    return f"{model.split(':', 1)[1].strip()}, {wide}"
