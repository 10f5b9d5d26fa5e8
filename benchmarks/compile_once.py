"""What `compile.py` measures in a fresh process, which prints it as JSON.

python benchmarks/compile_once.py program FRAMEWORK NAME SIZE [changed]
python benchmarks/compile_once.py operator|lines|memory ...
python benchmarks/compile_once.py long FRAMEWORK NAME SIZE
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from compile_long import run_of
from compile_peers import FRAMEWORKS
from compile_programs import OPERATORS, PROGRAMS

CPU_CLOCK = "TED_BENCHMARK_CPU_CLOCK"  # in the environment: CPU time in place of the wall clock
clock = time.process_time if CPU_CLOCK in os.environ else time.perf_counter
STAGES = ("ted", "llvm")  # the equations, and what LLVM gets


def program(framework: str, name: str, size: str, change: str = "") -> dict[str, Any]:
    """Seconds of the first call of a program with its gradient; by ted, also those of its steps.

    With a change it is another program, with twice the loss.
    """
    run, arrays = _made(framework, name, size, 2.0 if change else 1.0)
    began = clock()
    run(arrays)
    seconds = clock() - began
    steps = run.compiled(arrays).compile_times if framework == "ted" else {}
    return {"seconds": seconds, "steps": steps}


def lines(name: str, size: str) -> dict[str, int]:
    """Lines of IR of a program with its gradient, for some stages."""
    run, arrays = _made("ted", name, size)
    compiled = run.compiled(arrays)
    return {stage: compiled.ir(stage).count("\n") for stage in STAGES}


def _made(framework: str, name: str, size: str, scale: float = 1.0) -> tuple[Any, dict[str, Any]]:
    made = FRAMEWORKS[framework]()
    loss, shapes = PROGRAMS[name].make(made.framework, int(size))
    run = made.compiled(loss if scale == 1.0 else lambda given: scale * loss(given))
    return run, {key: made.array(_random(shape)) for key, shape in shapes.items()}


def operator(name: str) -> dict[str, float]:
    """Seconds of the first call of an operator with its gradient, by ted, after another program."""
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
    return {"seconds": clock() - began}


def memory(count: str) -> dict[str, float]:
    """How much this process grows while it compiles programs that differ, after the first tenth."""
    import ted

    first = max(1, int(count) // 10)
    before = 0
    for k in range(int(count)):
        if k == first:
            before = resident()
        x = ted.placeholder((5 + k % 13, 7), name="x")
        ted.compile([x], ted.sum(ted.tanh(x) * float(k + 1), axis=1))(_random(x.shape))
    return {"before": before, "after": resident()}


def long(framework: str, name: str, size: str) -> dict[str, Any]:
    """Seconds to compile a long program in a process that compiled another one, and of its steps.

    `cpu` is that of the process and of its children.
    """
    first, arrays = run_of(framework, "tanh, gradient", 2)
    first(*arrays)
    run, arrays = run_of(framework, name, int(size))
    began, busy = time.perf_counter(), _busy()
    run(*arrays)
    seconds = time.perf_counter() - began
    steps = run.compiled(*arrays).compile_times if framework == "ted" else {}
    return {"seconds": seconds, "cpu": _busy() - busy, "steps": steps}


def _busy() -> float:
    """CPU time of this process and of its children, with those that these had, so far."""
    found = time.process_time()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that has ended
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                found += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def _random(shape: Any) -> Any:
    return np.random.default_rng(1).uniform(0.1, 1.0, shape).astype(np.float32)


MEASURED: Mapping[str, Callable[..., dict[str, Any]]] = {
    "program": program, "lines": lines, "operator": operator, "memory": memory, "long": long,
}  # fmt: skip

if __name__ == "__main__" and sys.argv[1:]:  # `make bench` runs every file of this folder
    print(json.dumps(MEASURED[sys.argv[1]](*sys.argv[2:])))
