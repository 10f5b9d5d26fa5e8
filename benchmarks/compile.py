"""Seconds to compile programs with their gradients, in fresh processes, by size.

    python benchmarks/compile.py [--only mlp] [--peers jax,torch] [--cpu]
    python benchmarks/compile.py --lines | --operators | --memory 1000
    python benchmarks/compile.py --long [--only writes,sorts] [--runs 3]

For each program and size, the wall clock from the first call to its result, without imports: by ted
with an empty cache (cold), by other processes with what that one left, of twice the loss (changed),
and of the same (warm), by the peers (cold).
All may use every core. The exponent is that of the growth from the smallest size to the largest: 1
is linear; so for the steps of a compilation that take a twentieth of it. `--lines` counts lines of
IR instead. `--operators` measures operators of `ted.nn` and recurrences, after another program was
compiled in their process, and all that the examples compile. `--memory` tells how much a process
grows that compiles so many programs. `--long` compiles programs as loops of Python make them, in
processes that compiled another one, in turn with JAX: medians of wall clocks and of CPU times, and
for each step that takes a twentieth its share and its growth. `--cpu` takes the CPU time of the
process that calls instead of the wall clock: other load hardly disturbs it, and a warm process has
no other.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compile_long import LONG
from compile_once import CPU_CLOCK, STAGES
from compile_peers import FRAMEWORKS
from compile_programs import OPERATORS, PROGRAMS
from timing import environment

LIMIT = 300.0  # seconds, after which a process is given up
HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
_LOGGED = re.compile(r"^ted\.compile: .*?: ([0-9.]+) s, of which", re.MULTILINE)
# What the arguments of an example are that takes some.
_ARGUMENTS = {"03_digits.py": ("--epochs", "1", "--output", "demo-output")}


def measured(cache: str, *arguments: object) -> dict[str, Any]:
    """What a fresh process measures; nothing if it fails or takes too long."""
    with tempfile.TemporaryDirectory() as empty:
        found = _run(cache, empty, HERE / "compile_once.py", *map(str, arguments))
    return json.loads(found.stdout.splitlines()[-1]) if found else {}


def _run(cache: str, folder: str, script: Path, *arguments: str) -> Any:
    """A process in a folder, where torch keeps what it compiles."""
    variables = {"TED_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": folder, "TED_LOG": "info"}
    command = [sys.executable, str(script), *arguments]
    try:
        return subprocess.run(
            command, env={**os.environ, **variables}, cwd=folder, capture_output=True, text=True,
            timeout=LIMIT, check=True,
        )  # fmt: skip
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"# {script.name} {' '.join(arguments)}: {str(error.stderr or error)[-300:]}")


def seconds(cache: str, *arguments: object) -> float:
    """Seconds that a fresh process takes; not a number where it fails."""
    return measured(cache, *arguments).get("seconds", math.nan)


def growth(values: Sequence[float], sizes: Sequence[int]) -> str:
    """As which power of the size values grow, from the first to the last."""
    if not values[0] or not values[-1]:
        return "?"
    return f"n^{math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0]):.2f}"


# ------------------------------------------------------------------ tables


def programs(names: Sequence[str], peers: Sequence[str]) -> None:
    """A line for each program and size, and the exponents of its growth."""
    print(f"{'program':14}{'size':>6}{'cold':>8}{'changed':>8}{'warm':>8}{'limit':>8}", end="")
    print("".join(f"{peer:>8}{'ratio':>8}" for peer in peers))
    for name in names:
        program, colds, steps = PROGRAMS[name], [], []
        for size in program.sizes:
            with tempfile.TemporaryDirectory() as cache:
                found = measured(cache, "program", "ted", name, size)
                changed = seconds(cache, "program", "ted", name, size, "changed")
                warm = seconds(cache, "program", "ted", name, size)
            colds.append(found.get("seconds", math.nan))
            steps.append(found.get("steps", {}))
            limit = program.limits.get(size, "")
            line = f"{name:14}{size:6}{colds[-1]:8.2f}{changed:8.2f}{warm:8.2f}{limit:>8}"
            for peer in peers:
                theirs = seconds("", "program", peer, name, size)
                line += f"{theirs:8.2f}{colds[-1] / theirs:8.2f}"
            print(line, flush=True)
        if len(colds) > 1:
            print(f"{'':14}growth as {growth(colds, program.sizes)}", end="")
            print(_fastest(steps, program.sizes))


def _fastest(steps: Sequence[dict[str, float]], sizes: Sequence[int]) -> str:
    """The steps that grow fastest, of those that take a twentieth of the time."""
    first, last = steps[0], steps[-1]
    large = [name for name in first if last.get(name, 0.0) > sum(last.values()) / 20]
    large.sort(key=lambda name: first[name] / last[name])
    grown = (f"{name.split(',')[0]} {growth([first[name], last[name]], sizes)}" for name in large)
    return "".join(f", {text}" for text in list(grown)[:3])


def lines(names: Sequence[str]) -> None:
    """A line for each program and size: lines of IR, and the exponents of their growth."""
    print(f"{'program':14}{'size':>6}" + "".join(f"{stage:>9}" for stage in STAGES))
    for name in names:
        sizes, found = PROGRAMS[name].sizes, []
        for size in sizes:
            found.append(measured("", "lines", name, size))
            counts = "".join(f"{found[-1].get(stage, 0):9}" for stage in STAGES)
            print(f"{name:14}{size:6}{counts}", flush=True)
        if len(sizes) > 1:
            grown = [growth([row.get(stage, 0) for row in found], sizes) for stage in STAGES]
            print(f"{'':20}" + "".join(f"{text:>9}" for text in grown))


def operators(names: Sequence[str]) -> None:
    """A line for each operator and example."""
    print(f"{'operator':24}{'cold':>8}{'warm':>8}")
    for name in names:
        with tempfile.TemporaryDirectory() as cache:
            measure = example if name in EXAMPLE_NAMES else _operator
            print(f"{name:24}{measure(cache, name):8.2f}{measure(cache, name):8.2f}", flush=True)


def _operator(cache: str, name: str) -> float:
    return seconds(cache, "operator", name)


def example(cache: str, name: str) -> float:
    """Seconds of all compilations of an example."""
    with tempfile.TemporaryDirectory() as folder:
        done = _run(cache, folder, EXAMPLES / name, *_ARGUMENTS.get(name, ()))
    return sum(map(float, _LOGGED.findall(done.stderr))) if done else math.nan


EXAMPLE_NAMES = sorted(path.name for path in EXAMPLES.glob("[0-9]*.py"))


def long(names: Sequence[str], runs: int) -> None:
    """A line for each program and size, and one for each of its larger steps."""
    print(f"{'program':18}{'size':>6}{'wall':>8}{'aim':>6}{'CPU':>8}", end="")
    print(f"{'JAX':>8}{'CPU':>8}{'ratio':>8}")
    for name in names:
        sizes, every = LONG[name].sizes, []
        for size in sizes:
            rounds = [
                [measured("", "long", f, name, size) for f in ("ted", "jax")] for _ in range(runs)
            ]
            ours, theirs = (_medians(found) for found in zip(*rounds, strict=True))
            every.append(ours)
            aim = LONG[name].limits.get(size, "")
            print(f"{name:18}{size:6}{ours['seconds']:8.2f}{aim:>6}{ours['cpu']:8.2f}", end="")
            print(f"{theirs['seconds']:8.2f}{theirs['cpu']:8.2f}", end="")
            print(f"{ours['cpu'] / theirs['cpu']:8.2f}", flush=True)
        _print_steps(every, sizes)


def _medians(found: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The median of each time, those of steps among them."""
    flat = [
        one.get("steps", {}) | {k: one.get(k, math.nan) for k in ("seconds", "cpu")}
        for one in found
    ]
    return {key: statistics.median(one.get(key, 0.0) for one in flat) for key in flat[0]}


def _print_steps(found: Sequence[dict[str, float]], sizes: Sequence[int]) -> None:
    """The shares of the steps that take a twentieth of the largest size, and how they grow."""
    last = found[-1]
    steps = [k for k in last if k not in ("seconds", "cpu") and last[k] > last["seconds"] / 20]
    for step in sorted(steps, key=last.__getitem__, reverse=True):
        grown = ""
        if len(sizes) > 1 and found[-2].get(step):
            grown = growth([found[-2][step], last[step]], sizes[-2:])
        print(f"{'':8}{last[step] / last['seconds']:6.0%} {grown:7} {step[:70]}")


def memory(count: int) -> None:
    """How much a process grows."""
    found = measured("", "memory", count)
    if found:
        before, after = found["before"] / 1e6, found["after"] / 1e6
        print(f"{count} compilations: {before:.0f} MB after a tenth, {after - before:+.1f} MB more")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--peers", default="jax", help=f"some of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--lines", action="store_true", help="lines of IR")
    parser.add_argument("--operators", action="store_true", help="operators and examples")
    parser.add_argument("--memory", type=int, metavar="COUNT", help="programs to compile")
    parser.add_argument("--long", action="store_true", help="programs as loops of Python make them")
    parser.add_argument("--runs", type=int, default=1, help="processes of each, with --long")
    parser.add_argument("--cpu", action="store_true", help="CPU time in place of the wall clock")
    options = parser.parse_args()
    if options.cpu:
        os.environ[CPU_CLOCK] = "1"
    plain = not (options.lines or options.operators or options.memory or options.long)
    peers = [peer for peer in options.peers.split(",") if peer and plain]
    print(f"{environment('torch-mlir', 'islpy', *peers)}: {os.cpu_count()} cores for all")
    names = options.only.split(",") if options.only else None
    if options.memory:
        memory(options.memory)
    elif options.long:
        long(names or list(LONG), options.runs)
    elif options.lines:
        lines(names or list(PROGRAMS))
    elif options.operators:
        operators(names or [*OPERATORS, *EXAMPLE_NAMES])
    else:
        programs(names or list(PROGRAMS), peers)


if __name__ == "__main__":
    main()
