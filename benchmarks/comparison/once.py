"""What a fresh process does for a row: inputs, results in float64, compilation, checks, rounds.

    python benchmarks/comparison/once.py '{"label": "mm512 forward", "threads": 1, ...}'

It prints a line of JSON before each phase, so that whoever started it knows what takes too long or
what the process died of, and one with the row at the end.  A result that is not that of float64 is
WRONG and is not timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from comparison import machine
from comparison.arguments import as_list
from comparison.catalogue import found
from comparison.kits import KITS, Kit
from comparison.modes import Reference, call_of, difference, extra_arrays
from comparison.workload import Workload

MARK = '{"phase"'  # how lines begin that are read
LEAST = 4e-3  # seconds that a reading takes at least
FAR_BEHIND = 30.0  # times the fastest, from which on a peer is timed in few rounds


@dataclass
class Contender:
    """A call to time, what prepares its turn, and its readings: (wall clock, CPU time)."""

    call: Callable[[], object]
    prepare: Callable[[], None] = lambda: None
    repeats: int = 1
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    def read(self, count: int) -> tuple[float, float]:
        """Seconds of a call by both clocks."""
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            self.call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return wall / count, cpu / count

    def turn(self) -> None:
        """One reading more."""
        self.prepare()
        wall, cpu = self.read(self.repeats)
        self.walls.append(wall)
        self.cpus.append(cpu)

    def warm(self) -> float:
        """Chooses how many calls are a reading, once first calls are over; seconds of one.

        The lesser clock counts: another process may have the core for longer than calls take.
        """
        self.prepare()
        self.call()
        once = min(self.read(1))
        while once * self.repeats < LEAST / 2:
            self.repeats = int(LEAST / max(once, 1e-9))
            once = min(self.read(self.repeats))
        return once


def say(phase: str, **more: Any) -> None:
    """A line for whoever started this process."""
    print(json.dumps({"phase": phase, **more}), flush=True)


def rounds(contenders: Sequence[Contender], count: int, seconds: float) -> None:
    """All in turn; fewer rounds, but 5, where they would take longer; 2 of who is far behind."""
    once = [c.warm() for c in contenders]
    turn = sum(max(LEAST, x) for x in once)
    count = max(min(count, 5), min(count, int(seconds / turn)))
    for number in range(count):
        for one, took in zip(contenders, once, strict=True):
            slow = took > max(0.2, FAR_BEHIND * min(once))
            if number < (2 if slow else count):
                one.turn()


class Row:
    """One workload in this process."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.threads: int = asked["threads"]
        self.workload: Workload = found(asked["label"], asked.get("seed"))
        self.peers: dict[str, dict[str, Any]] = {}
        self.kits: dict[str, Kit] = {}

    def kit(self, peer: str) -> Kit:
        """The kit of a peer, on the threads of this row."""
        if peer not in self.kits:
            self.kits[peer] = KITS[peer]()
            self.kits[peer].threads(self.threads)
        return self.kits[peer]

    def inputs(self) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
        """Arrays of the program, cotangents or tangents, results in float64."""
        say("reference")
        arrays = self.workload.arrays()
        oracle = "numpy" if "torch" not in self.asked["oracles"] else "torch"
        reference = Reference(self.workload, oracle, self.kit(oracle))
        extra = extra_arrays(self.workload, arrays, lambda: reference.forward(arrays))
        return arrays, extra, reference.results([*arrays, *extra])

    def contender(self, peer: str, arrays: Sequence[np.ndarray]) -> Contender:
        """A compiled call on arrays of the peer."""
        kit = self.kit(peer)
        given = [kit.array(a) for a in arrays]
        run = call_of(kit, self.workload, peer)
        return Contender(lambda: run(*given))

    def checked(self, peer: str, arrays: Any, wanted: Any) -> Contender | None:
        """The contender, if its results are right."""
        say(f"compile {peer}", peer=peer)
        told = self.peers.setdefault(peer, {})
        try:
            one = self.contender(peer, arrays)
            began = time.perf_counter()
            results = as_list(one.call())
            told["compile"] = time.perf_counter() - began
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {str(error).strip()[:300]}"
            return None
        results = [self.kit(peer).numpy(x) for x in results]
        told["wrong"] = difference(results, wanted, self.workload.allowed)
        return None if told["wrong"] else one

    def contenders(self) -> tuple[dict[str, Contender], int]:
        """Who is timed, and the bytes of inputs and results."""
        arrays, extra, wanted = self.inputs()
        given = [*arrays, *extra]
        peers = {peer: self.checked(peer, given, wanted) for peer in self.asked["peers"]}
        width = np.dtype(arrays[0].dtype).itemsize
        size = sum(a.nbytes for a in given) + sum(w.size * width for w in wanted)
        return {peer: one for peer, one in peers.items() if one}, size

    def with_second_threads(self, timed: dict[str, Contender], size: int) -> dict[str, Contender]:
        """Also ted on one thread, and the plain loop on one and two: what there was to gain."""
        if self.threads == 1 or "ted" not in timed:
            return timed
        ted, kit = timed["ted"], self.kit("ted")
        ted.prepare = lambda: kit.threads(self.threads)
        self.peers["ted"]["wrong"] = self.bits(ted)
        made = dict(timed)
        made["ted on one"] = Contender(ted.call, lambda: kit.threads(1))
        for name, threads in (("plain on one", 1), ("plain", self.threads)):
            loop = machine.plain_loop(self.workload.bound, self.workload.dtype, size, threads)
            made[name] = Contender(loop)
        return made

    def bits(self, ted: Contender) -> str:
        """Whether bits depend on the number of threads, which ted promises that they do not."""
        found = []
        for threads in (1, self.threads):
            self.kit("ted").threads(threads)
            found.append([np.asarray(x).tobytes() for x in as_list(ted.call())])
        return "" if found[0] == found[1] else f"other bits on {self.threads} threads"

    def run(self) -> dict[str, Any]:
        """The row."""
        timed, size = self.contenders()
        everyone = self.with_second_threads(timed, size)
        say("rounds")
        rounds(list(everyone.values()), self.asked["rounds"], self.asked["seconds"])
        for name, one in everyone.items():
            self.peers.setdefault(name, {}).update(walls=one.walls, cpus=one.cpus)
        return {"bytes": size, "peers": self.peers}


def main(text: str) -> None:
    """Print the phases and the row."""
    asked = json.loads(text)
    say("imports")
    row = Row(asked).run()
    say("done", row=row)
    sys.stdout.flush()
    os._exit(0)  # pools of peers need not be waited for


if __name__ == "__main__":
    main(sys.argv[1])
