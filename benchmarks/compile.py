"""Seconds to compile programs with their gradients, in fresh processes, by size.

    python benchmarks/compile.py [--only mlp] [--peers jax,torch] [--operators] [--cpu]

For each program and size, the wall clock from the first call to its result, without imports: by ted
with an empty cache (cold), by another process with what that one left (warm), by the peers (cold).
All may use every core. The exponent is that of the growth from the smallest size to the largest: 1
is linear. `--operators` measures operators of `ted.nn` and recurrences instead, after another
program was compiled in their process. `--cpu` takes the CPU time of the process that calls instead
of the wall clock: other load hardly disturbs it, and a warm process has no other.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from compile_peers import FRAMEWORKS
from compile_programs import OPERATORS, PROGRAMS
from timing import environment

LIMIT = 300.0  # seconds, after which a process is given up
CPU = "--cpu" in sys.argv
clock = time.process_time if CPU else time.perf_counter


def seconds_of(framework: str, name: str, size: int) -> float:
    """Seconds of the first call, in this process."""
    made = FRAMEWORKS[framework]()
    loss, shapes = PROGRAMS[name].make(made.framework, size)
    run = made.compiled(loss)
    arrays = {key: made.array(_random(shape)) for key, shape in shapes.items()}
    began = clock()
    run(arrays)
    return clock() - began


def operator_seconds(name: str) -> float:
    """Seconds of the first call of an operator with its gradient, by ted, in this process."""
    import ted

    function, shapes = OPERATORS[name]
    ted.function(lambda x: ted.sum(ted.sin(x)))(_random((8, 8)))
    arrays = [_random(shape) for shape in shapes]
    gradient = ted.value_and_grad(
        lambda *given: ted.sum(function(*given) ** 2), argnums=tuple(range(len(shapes)))
    )
    run = ted.function(gradient)
    began = clock()
    run(*arrays)
    return clock() - began


def _random(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(1).uniform(0.1, 1.0, shape).astype(np.float32)


# ------------------------------------------------------------------ all of them


def measured(cache: str, *arguments: object) -> float:
    """Seconds that a fresh process prints; not a number if it fails or takes too long."""
    flags = ["--cpu"] if CPU else []
    command = [sys.executable, __file__, *flags, "--once", *map(str, arguments)]
    environ = {**os.environ, "TED_CACHE_DIR": cache}
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=LIMIT, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"# {' '.join(map(str, arguments))}: {str(error.stderr or error)[-300:]}")
        return math.nan
    return json.loads(done.stdout.splitlines()[-1])


def both(*arguments: object) -> tuple[float, float]:
    """Seconds of ted with an empty cache, and with what the first process left."""
    with tempfile.TemporaryDirectory() as cache:
        return measured(cache, *arguments), measured(cache, *arguments)


def programs(names: Sequence[str], peers: Sequence[str]) -> None:
    """A line for each program and size, and the exponent of its growth."""
    print(f"{'program':14}{'size':>6}{'cold':>8}{'warm':>8}{'limit':>8}", end="")
    print("".join(f"{peer:>8}{'ratio':>8}" for peer in peers))
    for name in names:
        colds = []
        program = PROGRAMS[name]
        for size in program.sizes:
            cold, warm = both("ted", name, size)
            colds.append(cold)
            limit = program.limits.get(size)
            line = f"{name:14}{size:6}{cold:8.2f}{warm:8.2f}{limit or '':>8}"
            for peer in peers:
                theirs = measured("", peer, name, size)
                line += f"{theirs:8.2f}{cold / theirs:8.2f}"
            print(line, flush=True)
        if len(colds) > 1:
            growth = math.log(colds[-1] / colds[0]) / math.log(program.sizes[-1] / program.sizes[0])
            print(f"{'':14}growth as n^{growth:.2f}")


def operators(names: Sequence[str]) -> None:
    """A line for each operator."""
    print(f"{'operator':24}{'cold':>8}{'warm':>8}")
    for name in names:
        cold, warm = both("operator", name)
        print(f"{name:24}{cold:8.2f}{warm:8.2f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--peers", default="jax", help=f"some of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="CPU time instead of the wall clock")
    parser.add_argument("--once", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        kind, *rest = options.once
        found = operator_seconds(rest[0]) if kind == "operator" else None
        print(json.dumps(found or seconds_of(kind, rest[0], int(rest[1]))))
        return
    peers = [peer for peer in options.peers.split(",") if peer and not options.operators]
    print(f"{environment('torch-mlir', 'islpy', *peers)}: {os.cpu_count()} cores for all")
    names = options.only.split(",") if options.only else None
    if options.operators:
        operators(names or list(OPERATORS))
    else:
        programs(names or list(PROGRAMS), peers)


if __name__ == "__main__":
    main()
