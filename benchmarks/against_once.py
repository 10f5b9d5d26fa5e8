"""One side of `against.py`: compiles a row, then times it whenever a line comes in.

    python benchmarks/against_once.py "mm512 forward" 1

The first line that it prints has the CPU time to the first result, that of the passes, and a hash
of the results; each further one has seconds of a call.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from comparison.arguments import as_list
from comparison.catalogue import found
from comparison.kits import KITS
from comparison.modes import call_of, extra_arrays
from comparison.once import Contender

# Steps of a compilation that are no passes.
OTHERS = ("machine code", "forks", "worker", "tracing", "linking", "loading", "writing", "parsing",
          "cache", "splitting", "kernel_")  # fmt: skip


def passes(function: Any, arrays: list[Any]) -> float:
    """Seconds in passes, of a function that was compiled."""
    times: dict[str, float] = getattr(function.compiled(*arrays), "compile_times", {})
    return sum(s for name, s in times.items() if not any(o in name for o in OTHERS))


def main() -> None:
    """Compile, then time on demand."""
    label, threads = sys.argv[1], int(sys.argv[2])
    workload, kit = found(label, None), KITS["ted"]()
    kit.threads(threads)
    arrays = workload.arrays()

    def forward() -> list[np.ndarray]:
        return as_list(call_of(kit, replace(workload, mode="forward"), "ted")(*arrays))

    given = [*arrays, *extra_arrays(workload, arrays, forward)]
    run = call_of(kit, workload, "ted")
    began = time.process_time()
    results = as_list(run(*given))
    first = time.process_time() - began
    bits = hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in results)).hexdigest()
    one = Contender(lambda: run(*given))
    one.warm()
    told = {"first": first, "passes": passes(run, given), "bits": bits}
    print(json.dumps(told), flush=True)
    for _ in sys.stdin:
        wall, cpu = one.read(one.repeats)
        print(json.dumps(cpu if threads == 1 else wall), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
