"""Long runs on one machine: calls, compilations, threads, forks, killed processes; one table.

    python test/soak/soak.py [--scale 1.0] [--only calls,forks]

Each row runs in a process of its own and counts what it did, what failed, the seconds, how much
the resident memory grew after a tenth of the row, which warms everything up, and the bytes that the
runtime's buffers still hold at the end, which must be 0. Exit status 1 if something failed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ted.forking import Lock

CALLS, COMPILATIONS, THREADS, FORKS, KILLS = 100_000, 1_000, 8, 200, 60
ROUNDS = 25  # compilations of each thread
HANG = 120.0  # seconds after which a child counts as hanging


@dataclass
class Row:
    """What a row of the table has seen."""

    done: int = 0
    failures: list[str] = field(default_factory=list)
    warm: int = 0  # resident bytes after the first tenth
    lock: Any = field(default_factory=Lock)

    def step(self, action: Callable[[], object], of: int) -> None:
        """Do one thing, and count it."""
        try:
            action()
        except Exception as error:
            with self.lock:
                self.failures.append(f"{type(error).__name__}: {error}"[:200])
        with self.lock:
            self.done += 1
            if self.done == max(1, of // 10):
                self.warm = resident()


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def compiled(number: int) -> tuple[Any, Any, Any]:
    """A small program that no other number has, an argument, and its result."""
    import numpy as np

    import ted

    n = 5 + number % 13
    x = ted.placeholder((n, 7), "float32", name="x")
    y = ted.placeholder((n,), "float32", name="y")
    f = ted.compile([x], ted.sum(ted.tanh(x) * float(number + 1), axis=1))
    del y
    array = np.linspace(-1, 1, 7 * n, dtype=np.float32).reshape(n, 7)
    return f, array, np.tanh(array).sum(axis=1) * (number + 1)


def check(f: Any, array: Any, wanted: Any) -> None:
    """Call a function, and compare."""
    import numpy as np

    np.testing.assert_allclose(f(array), wanted, rtol=1e-4, atol=1e-3)


# ------------------------------------------------------------------ the rows


def calls(row: Row, scale: float) -> None:
    """One function called again and again, every thousandth result compared."""
    f, array, wanted = compiled(0)
    count = int(CALLS * scale)
    for k in range(count):
        row.step(lambda: f(array) if k % 1000 else check(f, array, wanted), count)  # noqa: B023


def compilations(row: Row, scale: float) -> None:
    """Programs that differ, each called once and dropped."""
    count = int(COMPILATIONS * scale)
    for k in range(count):
        row.step(lambda: check(*compiled(k)), count)  # noqa: B023


def threads(row: Row, scale: float) -> None:
    """Threads that compile and call at the same time, half of them the same programs."""
    rounds = max(1, int(ROUNDS * scale))

    def work(thread: int) -> None:
        for k in range(rounds):
            found = compiled(k if thread % 2 else 1000 * thread + k)
            for _ in range(40):
                row.step(lambda: check(*found), THREADS * rounds * 40)  # noqa: B023

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def forks(row: Row, scale: float) -> None:
    """Children of a process that has compiled: they call what it made, and compile their own."""
    found = compiled(0)
    check(*found)
    count = int(FORKS * scale)
    for k in range(count):
        row.step(lambda: in_fork(lambda: (check(*found), check(*compiled(k)))), count)  # noqa: B023


def forks_beside_calls(row: Row, scale: float) -> None:
    """The same while another thread calls."""
    found, stop = compiled(0), threading.Event()

    def busy() -> None:
        while not stop.is_set():
            found[0](found[1])

    thread = threading.Thread(target=busy)
    thread.start()
    count = int(FORKS * scale / 2)
    try:
        for k in range(count):
            row.step(lambda: in_fork(lambda: check(*compiled(k))), count)  # noqa: B023
    finally:
        stop.set()
        thread.join()


def in_fork(action: Callable[[], object]) -> None:
    """Run something in a forked child; raises where that fails or hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    ends = time.monotonic() + HANG
    while time.monotonic() < ends:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            assert code == 0, f"the child ended with {code}"
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise TimeoutError("the child hung")


_VICTIM = """
import sys, ted
x, y = (ted.placeholder((64, 64), name=name) for name in "xy")
print("ready", flush=True)
from ted.api.compiling import compile_system
z = ted.tanh(x * {number} + y) @ y
f = ted.compile([x, y], z, target="{target}")
print(len(f.ir("{stage}")), flush=True)
"""


def killed(row: Row, scale: float, target: str, stage: str) -> None:
    """Processes killed in a compilation, then one that must give what a calm one gives."""
    count, choose = max(2, int(KILLS * scale)), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TED_CACHE_DIR": folder}
        began = time.monotonic()
        calm = _victim(0, target, stage, {**os.environ, "TED_CACHE_DIR": ""}, None)
        longest = time.monotonic() - began
        for k in range(count):
            seconds = choose.uniform(0.0, longest)
            row.step(lambda: _victim(k % 3, target, stage, environment, seconds), count)  # noqa: B023
        for _ in range(2):  # the second finds what the first stored
            row.step(lambda: _same(calm, _victim(0, target, stage, environment, None)), count)
        left = [p.name for p in Path(folder).rglob(".*") if p.is_file()]
        print(f"# {target}: {len(left)} temporary files left in the cache", file=sys.stderr)


def _victim(number: int, target: str, stage: str, environment: Any, seconds: float | None) -> str:
    """Compile in a process, killed after some seconds from when it is ready; gives its output."""
    text = _VICTIM.format(number=number + 1.5, target=target, stage=stage)
    process = subprocess.Popen(
        [sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    if seconds is not None:
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ""
    output, errors = process.communicate(timeout=HANG)
    assert process.returncode == 0, errors[-300:]
    return output


def _same(calm: str, found: str) -> None:
    assert calm == found, f"expected {calm!r}, got {found!r}"


ROWS: dict[str, Callable[[Row, float], None]] = {
    "calls": calls,
    "compilations": compilations,
    "threads": threads,
    "forks": forks,
    "forks beside calls": forks_beside_calls,
    "killed on cpu": lambda row, scale: killed(row, scale, "cpu", "asm"),
    "killed on cuda": lambda row, scale: killed(row, scale, "cuda:sm_80", "ptx"),
}

# ------------------------------------------------------------------ the table


def run_row(name: str, scale: float) -> dict[str, Any]:
    """Run a row here, and give its numbers."""
    from ted import _runtime

    row, began = Row(), time.monotonic()
    ROWS[name](row, scale)
    growth = resident() - row.warm if row.warm else 0
    return {
        "done": row.done, "failed": len(row.failures), "seconds": time.monotonic() - began,
        "growth": growth, "live": _runtime.memory_current(), "first": row.failures[:3],
    }  # fmt: skip


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of every row's number")
    parser.add_argument("--only", default=",".join(ROWS), help="rows, separated by commas")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(json.dumps(run_row(options.row, options.scale)))
        return 0
    print(f"{'row':20} {'done':>7} {'failed':>6} {'seconds':>8} {'grown MB':>8} {'live bytes':>10}")
    faults = 0
    for name in options.only.split(","):
        command = [sys.executable, __file__, "--row", name, "--scale", str(options.scale)]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            print(f"{name:20} ended with {process.returncode}", flush=True)
            faults += 1
            continue
        found = json.loads(process.stdout.splitlines()[-1])
        print(
            f"{name:20} {found['done']:7} {found['failed']:6} {found['seconds']:8.1f} "
            f"{found['growth'] / 1e6:8.1f} {found['live']:10}", flush=True,
        )  # fmt: skip
        for text in found["first"]:
            print(f"  {text}")
        faults += found["failed"] + (found["live"] != 0)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
