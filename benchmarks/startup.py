"""How long a person waits: for the first gradient in a process, and for `ted-opt --help`.

    python benchmarks/startup.py [--runs 15]

Rows run in turn, each in a process of its own. CPU time is that of the process and of the workers
that it waits for. A first gradient is that of `gelu` of 1,000 numbers, with an empty cache (cold)
and with what the cold one left (warm); JAX does the same. `ted-opt --help` runs against a bare
import of the MLIR binding.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter

from timing import environment, spread

# What the binding costs before anything of ted exists; the second name is the tool itself.
BARE = "import torch_mlir.ir"
TOOL = "import sys; sys.argv = ['ted-opt', '--help']; from ted.tools.ted_opt import main; main()"
GRADIENT = """
import numpy as np, ted
x = np.linspace(-3, 3, 1000).astype("f4")
ted.grad(lambda x: ted.sum(ted.nn.gelu(x)))(x)
"""
JAX = """
import numpy as np, jax
x = np.linspace(-3, 3, 1000).astype("f4")
jax.jit(jax.grad(lambda x: jax.nn.gelu(x).sum()))(x).block_until_ready()
"""


def seconds(program: str, cache: str = "") -> tuple[float, float]:
    """CPU time and wall clock of a Python process that runs the program."""
    began = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.DEVNULL,
        env={**os.environ, "TED_CACHE_DIR": cache},
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"startup: {program!r} failed")
    return used.ru_utime + used.ru_stime, perf_counter() - began


def round_of() -> Iterator[tuple[str, tuple[float, float]]]:
    """Every row once."""
    yield "ted-opt --help", seconds(TOOL)
    yield "bare import", seconds(BARE)
    with tempfile.TemporaryDirectory() as cache:
        yield "gradient, cold", seconds(GRADIENT, cache)
        yield "gradient, warm", seconds(GRADIENT, cache)
    yield "gradient, JAX", seconds(JAX)


def main() -> None:
    """Print the times and their ratios; the aim of the tool is a ratio of at most 2."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    dict(round_of())  # bytecode is written
    rounds = [dict(round_of()) for _ in range(options.runs)]
    print(environment("torch-mlir", "jax"))
    for name in rounds[0]:
        pairs = zip(*(one[name] for one in rounds), strict=True)
        cpu, wall = map(statistics.median, pairs)
        print(f"{name:16} {cpu * 1e3:7.0f} ms of CPU {wall * 1e3:7.0f} ms")
    for name, other in (
        ("ted-opt --help", "bare import"),
        ("gradient, cold", "gradient, JAX"),
        ("gradient, warm", "gradient, JAX"),
    ):
        ratios = [one[name][0] / one[other][0] for one in rounds]
        print(f"{name:16} / {other:16} {spread(ratios)}")


if __name__ == "__main__":
    main()
