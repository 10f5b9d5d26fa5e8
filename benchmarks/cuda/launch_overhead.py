"""Microseconds of the host in a cached call of a CUDA program.

    python benchmarks/cuda/launch_overhead.py [--device]

Without --device the driver is a stub that does nothing (compiled here from stub_driver.c), so that
what is measured is ted's own part; with it, calls go to the GPU of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ted
from ted.runtime.cuda.driver import using

CALLS = 5000


@contextlib.contextmanager
def stub() -> Iterator[None]:
    """Within the block the driver is the stub."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("launch_overhead: a C compiler makes the stub; install gcc")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libstub.so"
        source = Path(__file__).with_name("stub_driver.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        with using(ctypes.CDLL(str(library))):
            yield


def microseconds(call: Callable[[], Any], rounds: int) -> list[float]:
    """CPU time of the process per call, one number a round."""
    found = []
    for _ in range(rounds + 1):
        began = time.process_time()
        for _ in range(CALLS):
            call()
        found.append((time.process_time() - began) / CALLS * 1e6)
        ted.cuda.synchronize()
    return found[1:]


def measure(rounds: int) -> None:
    """Print a line per way to call."""
    a, b, c = (ted.placeholder((64, 64), name=name) for name in "abc")
    step = ted.compile([a, b, c], ted.tanh(a) * b + c, target="cuda")
    traced = ted.function(lambda a, b, c: ted.tanh(a) * b + c, target="cuda")
    arrays = [ted.cuda.empty((64, 64)) for _ in range(3)]
    target = ted.cuda.empty((64, 64))
    for name, call in (
        ("compiled, fresh result", lambda: step(*arrays)),
        ("compiled, out=", lambda: step(*arrays, out=target)),
        ("ted.function", lambda: traced(*arrays)),
    ):
        found = microseconds(call, rounds)
        print(f"{name:24} {statistics.median(found):6.1f} us, least {min(found):.1f}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", action="store_true", help="use the GPU of this machine")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with contextlib.nullcontext() if given.device else stub():
        context = ted.cuda.context_of()
        print(f"3 inputs, 1 kernel, 1 result on {context.name}")
        measure(given.rounds)


if __name__ == "__main__":
    main()
