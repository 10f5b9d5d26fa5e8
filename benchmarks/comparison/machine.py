"""What the machine can do in the same run: multiply-adds and copies of plain loops, by threads.

The loops are C (`plain_loops.c`), compiled for this CPU by `cc`, and owe nothing to any contender.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("plain_loops.c")
# No -ffast-math: a library that is linked with it makes who loads it flush small numbers.
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC")
CHAINS, VECTOR = 16, 64  # as in the source: accumulators, and bytes of each
STEPS = 1_000_000  # multiply-adds of each accumulator in a reading
COPIES = tuple(4**k * 1024 for k in range(3, 10))  # bytes, 64 KiB to 256 MiB
LEAST = 1 << 22  # bytes that a loop copies beside a workload: starting a thread is no part of it
MOST = 1 << 30  # bytes that a reading copies at most


@cache
def loops() -> ctypes.CDLL:
    """The loops, compiled once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "plain_loops.so"
        command = [os.environ.get("CC", "cc"), *FLAGS, str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        found = ctypes.CDLL(str(library))
    found.multiply_add_f32.restype, found.multiply_add_f64.restype = ctypes.c_float, ctypes.c_double
    for name in ("multiply_add_f32", "multiply_add_f64"):
        getattr(found, name).argtypes = [ctypes.c_long]
    found.copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return found


def multiply_adds(dtype: str, threads: int = 1) -> Callable[[], object]:
    """A call of so many threads that share `STEPS` steps."""
    loop = getattr(loops(), "multiply_add_f64" if dtype == "float64" else "multiply_add_f32")
    return _shared([lambda: loop(STEPS // threads)] * threads)


def copies(size: int, threads: int = 1) -> Callable[[], object]:
    """A call of so many threads that copy an array of so many bytes in parts."""
    part = size // threads
    arrays = [(np.zeros(part, "i1"), np.ones(part, "i1")) for _ in range(threads)]

    def copied(to: np.ndarray, start: np.ndarray) -> None:
        loops().copy(to.ctypes.data, start.ctypes.data, part)

    return _shared([lambda a=a: copied(*a) for a in arrays])


def _shared(parts: list[Callable[[], object]]) -> Callable[[], object]:
    """All parts, each in a thread of its own (the loops hold no lock of Python)."""
    if len(parts) == 1:
        return parts[0]
    pool = ThreadPoolExecutor(len(parts) - 1)

    def run() -> None:
        others = [pool.submit(part) for part in parts[1:]]
        parts[0]()
        for other in others:
            other.result()

    return run


def plain_loop(bound: str, dtype: str, size: int, threads: int) -> Callable[[], object]:
    """The loop that a workload is compared with: multiply-adds, or a copy of as many bytes."""
    if bound == "compute":
        return multiply_adds(dtype, threads)
    return copies(min(max(size // 2, LEAST), COPIES[-1]), threads)


def measured(threads: int, rounds: int = 7) -> Mapping[str, object]:
    """FLOP/s by type, and bytes read and written a second by the bytes of a copy."""
    lanes = {"float32": VECTOR // 4, "float64": VECTOR // 8}
    peaks = {
        dtype: 2 * CHAINS * width * STEPS / _best(multiply_adds(dtype, threads), rounds)
        for dtype, width in lanes.items()
    }
    rates = {}
    for size in COPIES:
        call, count = copies(size, threads), min(64, MOST // size)
        rates[str(2 * size)] = 2 * size / _best(call, rounds, max(1, count))
    return {"flops": peaks, "copy": rates}


def _best(call: Callable[[], object], rounds: int, count: int = 1) -> float:
    """Seconds of a call, the lower quartile."""
    call()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - began) / count)
    return statistics.quantiles(times, n=4)[0]
