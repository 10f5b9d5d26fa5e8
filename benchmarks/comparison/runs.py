"""Starts a fresh process for each row and writes rows as they come, so that a run can go on.

The pools of the peers must not spin while another is timed: OpenMP waits passively, oneDNN's and
MKL's threads block at once, JAX has as many threads as the row (its Eigen pool off for one).  What
is freed stays in the process, for all alike: otherwise who returns a new array would pay for its
pages in each call or not, as the allocator of that day decides.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .once import MARK
from .workload import Workload

ONCE = Path(__file__).with_name("once.py")
# Seconds that a phase may take.
LIMITS = {"imports": 120.0, "reference": 240.0, "compile": 150.0, "compile inductor": 240.0,
          "rounds": 240.0}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What is asked of every row."""

    peers: Sequence[str]
    rounds: int = 9
    seconds: float = 12.0
    oracles: Sequence[str] = ("torch", "numpy")
    limits: Mapping[str, float] = field(default_factory=lambda: LIMITS)
    seed: int | None = None


def environment_of(threads: int) -> dict[str, str]:
    """Variables of a process whose contenders have so many threads."""
    many = str(threads > 1).lower()
    flags = f"--xla_cpu_multi_thread_eigen={many} intra_op_parallelism_threads={threads}"
    number = str(threads)
    own = {
        "TED_NUM_THREADS": number, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": number,
        "MKL_NUM_THREADS": number, "OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0",
        "MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
        "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }  # fmt: skip
    return {**os.environ, **own}


def phase_limit(phase: str, limits: Mapping[str, float]) -> float:
    """Seconds that a phase may take."""
    return limits.get(phase) or limits[phase.split()[0]]


def last_words(errors: Sequence[str]) -> str:
    """What a process said when it ended: the fault and where it was, or its last line."""
    lines = [line.strip() for line in errors if line.strip()]
    fault = next((k for k, line in enumerate(lines) if line.startswith("Fatal Python")), None)
    if fault is None:
        return lines[-1][:300] if lines else ""
    places = [line for line in lines[fault + 1 :] if line.startswith("File ")]
    return " ".join([lines[fault], *places[:2]])[:300]


class Process:
    """A process of a row, read line by line with the limit of the phase that it is in."""

    def __init__(self, asked: dict[str, Any], limits: Mapping[str, float]) -> None:
        self.limits, self.phase, self.peer = limits, "imports", ""
        self.started = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(ONCE), json.dumps(asked)],
            env=environment_of(asked["threads"]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.errors: list[str] = []
        self.streams = [s for s in (self.started.stdout, self.started.stderr) if s]
        self.readers = [
            threading.Thread(target=read, args=(stream,), daemon=True)
            for read, stream in zip((self._read, self._collect), self.streams, strict=True)
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            if line.startswith(MARK):
                self.lines.put(line)
        self.lines.put(None)

    def _collect(self, stream: IO[str]) -> None:
        for line in stream:
            self.errors = [*self.errors[-200:], line]

    def row(self) -> dict[str, Any]:
        """What the process found, or the error that it ended with."""
        try:
            return self._row()
        finally:
            self.started.kill()
            self.started.wait()
            for reader, stream in zip(self.readers, self.streams, strict=True):
                reader.join(5)
                stream.close()

    def _row(self) -> dict[str, Any]:
        while True:
            limit = phase_limit(self.phase, self.limits)
            try:
                line = self.lines.get(timeout=limit)
            except queue.Empty:
                return self._failed(f"more than {limit:g} s")
            if line is None:
                self.readers[1].join(5)
                return self._failed(last_words(self.errors) or f"exit {self.started.wait()}")
            told = json.loads(line)
            if told["phase"] == "done":
                return told["row"]
            self.phase, self.peer = told["phase"], told.get("peer", "")

    def _failed(self, why: str) -> dict[str, Any]:
        return {"error": f"{self.phase}: {why}", "peer": self.peer}


def row_of(workload: Workload, threads: int, asked: Asked) -> dict[str, Any]:
    """The row of a workload; a peer that ends its process is left out of the next one."""
    peers = [*asked.peers, *(p for p in workload.also if p not in asked.peers)]
    peers = [p for p in peers if p not in workload.without]
    lost: dict[str, Any] = {}
    while True:
        request = {
            "label": workload.label, "threads": threads, "peers": peers, "rounds": asked.rounds,
            "seconds": asked.seconds, "oracles": list(asked.oracles), "seed": asked.seed,
        }  # fmt: skip
        row = Process(request, asked.limits).row()
        peer = row.get("peer", "")
        if "error" not in row or not peer or len(peers) == 1:
            break
        lost[peer] = {"error": row["error"]}
        peers = [p for p in peers if p != peer]
    if lost:
        row.setdefault("peers", {}).update(lost)
    return {**described(workload), "threads": threads, **row}


def described(workload: Workload) -> dict[str, Any]:
    """What a row says of its workload."""
    return {
        "label": workload.label, "group": workload.group, "family": workload.family,
        "bound": workload.bound, "dtype": workload.dtype, "table": workload.table,
        "flops": workload.flops,
    }  # fmt: skip


class Results:
    """The rows of a run, in a file that is whole at any time."""

    def __init__(self, path: Path, header: dict[str, Any], resume: bool) -> None:
        self.path = path
        old = json.loads(path.read_text()) if resume and path.exists() else {}
        self.rows: list[dict[str, Any]] = old.get("rows", [])
        peaks = {**old.get("peaks", {}), **header["peaks"]}
        self.header = {**header, "peaks": peaks}

    def has(self, label: str, threads: int) -> bool:
        """Whether the row is there, without an error of its process."""
        return any(
            r["label"] == label and r["threads"] == threads and "error" not in r for r in self.rows
        )

    def add(self, row: dict[str, Any]) -> None:
        """One row more, in place of one of the same label and threads."""
        key = (row["label"], row["threads"])
        self.rows = [r for r in self.rows if (r["label"], r["threads"]) != key] + [row]
        self.write()

    def whole(self) -> dict[str, Any]:
        """The header and the rows."""
        return {**self.header, "rows": self.rows}

    def write(self) -> None:
        """The file, which never holds half a run."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.whole(), indent=1))
        part.replace(self.path)


def read(path: Path) -> dict[str, Any]:
    """A run that was written."""
    return json.loads(path.read_text())


def run(
    workloads: Sequence[Workload],
    threads: Sequence[int],
    asked: Asked,
    results: Results,
    again: bool = False,
) -> Iterator[dict[str, Any]]:
    """The rows that are not there yet, or all `again`, each as it comes."""
    for workload in workloads:
        for count in threads:
            if not again and results.has(workload.label, count):
                continue
            began = time.perf_counter()
            row = row_of(workload, count, asked)
            row["took"] = round(time.perf_counter() - began, 1)
            results.add(row)
            yield row
