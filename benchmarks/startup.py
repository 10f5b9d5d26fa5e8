"""How long a person waits: for the first gradient in a process, and for `ted-opt --help`.

    python benchmarks/startup.py [--runs 15]

Rows run in turn, each in a process of its own, with bytecode. CPU time is that of the process and
of the workers that it waits for. A first gradient is that of `gelu` of 1,000 numbers, with an empty
cache (cold) and with what the cold one left (warm); JAX does the same. An operator more is a
quarter of what gradients of four others add to it. `ted-opt --help` runs against the binding: a
bare import of MLIR, most of which is numpy's.
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

# What there is before anything of ted: the interpreter, numpy, and the binding.
BARE = {"interpreter": "pass", "numpy": "import numpy", "bare import": "import torch_mlir.ir"}
TOOL = "import sys; sys.argv = ['ted-opt', '--help']; from ted.tools.ted_opt import main; main()"
GRADIENT = """
import numpy as np, ted
x = np.linspace(-3, 3, 1000).astype("f4")
ted.grad(lambda x: ted.sum(ted.nn.gelu(x)))(x)
"""
OTHERS = """
for op in (ted.nn.softmax, ted.softplus, ted.tanh, ted.cumsum):
    ted.grad(lambda x: ted.sum(op(x) ** 2))(x)
"""
COUNT = 4
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
        env={**os.environ, "TED_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"startup: {program!r} failed")
    return used.ru_utime + used.ru_stime, perf_counter() - began


def round_of() -> Iterator[tuple[str, tuple[float, float]]]:
    """Every row once."""
    for name, program in BARE.items():
        yield name, seconds(program)
    yield "import ted", seconds("import ted")
    yield "ted-opt --help", seconds(TOOL)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as more:
        for state in ("cold", "warm"):
            first, all_of_them = seconds(GRADIENT, one), seconds(GRADIENT + OTHERS, more)
            yield f"gradient, {state}", first
            added = ((b - a) / COUNT for a, b in zip(first, all_of_them, strict=True))
            yield f"one more, {state}", (next(added), next(added))
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
