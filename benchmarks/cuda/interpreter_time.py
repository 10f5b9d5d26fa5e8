"""Seconds of the PTX interpreter for a product of matrices of 256 x 256 x 256, race checks on.

    python benchmarks/cuda/interpreter_time.py [--runs 5] [--size 256]

Compiling and reading the PTX are not counted. `least` is the wall clock of the best run, `CPU` its
CPU time; the error is that of the largest element against float64, in parts of the largest one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from timing import environment

import ted

LIMIT = 1.0  # seconds of mma.sync at 256, in lockstep
CASES = (
    ("mma.sync bf16", "bfloat16", "sm_80"),
    ("mma.sync f16", "float16", "sm_80"),
    ("simt f32", "float32", "sm_80"),
)


def timed(function: Any, arrays: list[Any], runs: int) -> tuple[Any, str, float]:
    """The result, the columns of a row, and the wall clock of the best run."""
    arrays = [ted.cuda.asarray(array) for array in arrays]
    wall, cpu, result = [], [], None
    for _ in range(runs + 1):  # the first one reads the PTX
        began, used = time.perf_counter(), time.process_time()
        result = function(*arrays)[0].numpy()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    best = min(wall[1:])
    return result, f"{best:6.2f} {statistics.median(wall[1:]):6.2f} {min(cpu[1:]):6.2f}", best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", type=int, default=256)
    given = parser.parse_args()
    shape = (given.size, given.size)
    print(environment("numpy", "torch-mlir", "llvmlite"))
    print(f"{'case':16} order     least median    CPU   error")
    worst = 0.0
    for name, dtype, chip in CASES:
        a, b = (ted.placeholder(shape, dtype, name=side) for side in "ab")
        function: Any = ted.compile([a, b], [a @ b], target=f"cuda:{chip}")
        random = np.random.default_rng(0)
        kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        arrays = [random.standard_normal(shape).astype(kind) for _ in range(2)]
        x, y = (np.asarray(array, np.float64) for array in arrays)
        for order in ("lockstep", "random"):
            with ted.testing.emulated_gpu(chip, order=order):
                result, columns, best = timed(function, arrays, given.runs)
            error = np.abs(result.astype(np.float64) - x @ y).max() / np.abs(x @ y).max()
            print(f"{name:16} {order:8} {columns} {error:.1e}", flush=True)
            if name.startswith("mma") and order == "lockstep":
                worst = max(worst, best)
    print(f"{'of the limit':16} {'':8} {worst / LIMIT:6.2f}")


if __name__ == "__main__":
    main()
