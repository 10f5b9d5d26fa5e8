"""This version of ted beside another one, in turn: run time, CPU time of passes, bits of results.

    python benchmarks/against.py ../baseline/.venv/bin/python [--only conv,lstm] [--threads 2]

The argument is the interpreter of an environment in which the other version is installed. A row of
`comparison/workloads` runs in two processes at once, of which one waits while the other is timed:
on one thread the CPU time of the process, on more the wall clock. Ratios are this version's over
the other one's, taken within a round; a miss has its lower quartile above 1.05. Programs are
compiled with empty caches; passes are without the start of a worker and without LLVM.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

from comparison.catalogue import workloads
from timing import environment

ONCE = Path(__file__).resolve().parent / "against_once.py"
BOUND = 1.05
SIXTY = 60  # rows that are taken without --only, evenly from all


class Side:
    """A process with one version."""

    def __init__(self, python: str, label: str, threads: int) -> None:
        self.cache = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [python, str(ONCE), label, str(threads)], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "TED_CACHE_DIR": self.cache.name, "TED_NUM_THREADS": str(threads)},
        )  # fmt: skip
        self.told: dict[str, Any] = self.answer() or {}

    def answer(self) -> Any:
        """A line of the process; None if it has ended."""
        assert self.process.stdout is not None, "it has a pipe"
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def turn(self) -> float:
        """Seconds of a call."""
        assert self.process.stdin is not None, "it has a pipe"
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.answer() or math.nan)

    def end(self) -> None:
        """Let the process end."""
        self.process.communicate()
        self.cache.cleanup()


def row(other: str, label: str, threads: int, rounds: int) -> dict[str, Any]:
    """Ratios of a row; empty where one of both does not run it."""
    sides = [Side(python, label, threads) for python in (sys.executable, other)]
    try:
        if not all(side.told for side in sides):
            return {}
        turns = [[side.turn() for side in sides] for _ in range(rounds)]
        ratios = sorted(mine / theirs for mine, theirs in turns)
        mine, theirs = (side.told for side in sides)
        low, middle, high = quantiles(ratios, n=4)
        return {
            "low": low, "median": middle, "high": high, "same": mine["bits"] == theirs["bits"],
            "passes": mine["passes"] / max(theirs["passes"], 1e-9),
            "first": mine["first"] / theirs["first"],
        }  # fmt: skip
    finally:
        for side in sides:
            side.end()


def chosen(parts: str, count: int) -> Iterator[tuple[str, str]]:
    """Groups and labels of rows."""
    known = [w for w in workloads(None) if any(p in w.label for p in parts.split(","))]
    step = max(1, len(known) // count) if not parts else 1
    yield from ((w.group, w.label) for w in known[::step])


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main() -> None:
    """Print a line for each row, then means of each group and of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", help="the interpreter with the other version")
    parser.add_argument("--only", default="", help="parts of labels, with commas between them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--count", type=int, default=SIXTY, help="rows without --only, about")
    options = parser.parse_args()
    print(environment("numpy"))
    print(f"{'row':34} run, quartiles       passes  first  bits")
    groups: dict[str, list[dict[str, Any]]] = {}
    for group, label in chosen(options.only, options.count):
        found = row(options.other, label, options.threads, options.rounds)
        if not found:
            print(f"{label:34} did not run", flush=True)
            continue
        groups.setdefault(group, []).append(found)
        miss = " MISS" if found["low"] > BOUND else ""
        spread = f"{found['median']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
        bits = "same" if found["same"] else "other"
        print(f"{label:34} {spread:20} {found['passes']:6.2f} {found['first']:6.2f}  {bits}{miss}",
              flush=True)  # fmt: skip
    groups["all"] = [one for rows in groups.values() for one in rows]
    for group, rows in groups.items():
        run, passes, first = (mean([r[k] for r in rows]) for k in ("median", "passes", "first"))
        print(f"{group:34} {run:.2f} {passes:20.2f} {first:6.2f}  of {len(rows)}")


if __name__ == "__main__":
    main()
