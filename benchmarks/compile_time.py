"""Seconds from nothing to machine code for the demo's training step, phase by phase.

    python benchmarks/compile_time.py [--runs 5] [--batch 32]

Every run is a process of its own, so that nothing is warm: imports, tracing with differentiation,
ted ops, each stage of the CPU pipeline, machine code.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from timing import environment

LIMIT = 15.0  # seconds, for all phases on one core


def once(batch: int) -> dict[str, float]:
    """Seconds of each phase in this process."""
    phases: dict[str, float] = {}
    began = time.thread_time()

    def mark(name: str) -> None:
        nonlocal began
        phases[name] = time.thread_time() - began
        began = time.thread_time()

    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    import numpy as np
    from digits import model

    from ted import dialects
    from ted.api.host import host_cpu
    from ted.codegen.jit import compile_module
    from ted.cpu.pipeline import cpu_stages
    from ted.frontend.functions import trace
    from ted.ir.pipelines import run_stages
    from ted.ir.to_ops import system_to_module
    from ted.mlir import ir
    from ted.runtime.library import library_path

    mark("imports")
    params = model.initial()
    zeros = model.zeros(params)
    x, y = np.zeros((batch, 8, 8, 1), np.float32), np.zeros(batch, np.int64)
    began = time.thread_time()
    traced = trace(model.step, (params, zeros, zeros, x, y, np.float32(1)))
    mark("trace and differentiate")
    with dialects.make_context(), ir.Location.unknown():
        module = system_to_module(traced.system())
        mark("ted ops")
        stages = cpu_stages(host_cpu())
        names = [stage.name for stage in stages]
        for before, name in zip([None, *names], names, strict=False):
            run_stages(module, stages, name, before)
            mark(f"stage {name}")
        compile_module(module, (library_path(),), "step")
        mark("machine code")
    return phases


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--once", action="store_true", help="one run in this process, as JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.batch)))
        return
    command = [sys.executable, __file__, "--once", "--batch", str(options.batch)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(options.runs)
    ]
    print(environment("torch-mlir", "islpy"), f", CPU seconds, median of {options.runs}", sep="")
    for phase in runs[0]:
        print(f"{phase:26} {statistics.median(run[phase] for run in runs):6.2f}")
    totals = sorted(sum(run.values()) for run in runs)
    print(f"{'total':26} {statistics.median(totals):6.2f} [{totals[0]:.2f}, {totals[-1]:.2f}]")
    print(f"{'of the limit':26} {statistics.median(totals) / LIMIT:6.2f}")


if __name__ == "__main__":
    main()
