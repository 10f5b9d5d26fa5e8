"""Seconds to compile one kernel: equations -> PTX, with the cache of results on disk turned off.

    python benchmarks/cuda/compile_time.py [--runs 9] [--only softmax]

Every case has a process of its own. `first` is its first compilation, when LLVM's process and the
passes are loaded, but not the time of the imports, which are the last line. Then the same program
is compiled again and again: best and median of the wall clock, and the CPU time of the best of
both processes. Registers and spills are ptxas's, where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from timing import environment

LIMIT = 0.4  # seconds of one kernel
N = 4096


def cases() -> dict[str, tuple[str, Callable[[], Any]]]:
    """By name: the chip with its options, and what makes inputs and outputs."""
    import ted

    def rows(operator: Callable[..., Any]) -> Callable[[], Any]:
        def program() -> Any:
            x, y = (ted.placeholder((N, 1024), name=name) for name in "xy")
            return [x, y], [operator(x, y)]

        return program

    def product(dtype: str) -> Callable[[], Any]:
        def program() -> Any:
            a, b = (ted.placeholder((N, N), dtype, name=name) for name in "ab")
            return [a, b], [a @ b]

        return program

    return {
        "map": ("sm_80", rows(lambda x, y: ted.tanh(x * y + 1) * ted.exp(-x))),
        "transpose": ("sm_80", rows(lambda x, y: ted.transpose(x + y))),
        "softmax": ("sm_80", rows(lambda x, y: ted.nn.softmax(x + y))),
        "sum": ("sm_80", rows(lambda x, y: ted.sum(x * y))),
        **{
            f"simt {short}": ("sm_80", product(dtype))
            for short, dtype in (("f32", "float32"), ("f64", "float64"), ("i32", "int32"))
        },
        **{
            f"{name} {short}": (chip, product(dtype))
            for name, chip in (("mma.sync", "sm_80"), ("wgmma", "sm_90a"))
            for short, dtype in (("bf16", "bfloat16"), ("f16", "float16"))
        },
        "mma.sync tf32": ("sm_80,tf32", product("float32")),
    }


def once(name: str, runs: int) -> dict[str, Any]:
    """The times of a case in this process."""
    os.environ["TED_CACHE_DIR"] = ""  # empty: no cache
    began = time.perf_counter()
    import ted.api.cuda_functions
    from ted.errors import TedError

    chip, program = cases()[name]
    program()  # the frontend loads at its first use
    imports = time.perf_counter() - began
    wall, cpu = [], []
    function: Any = None
    for _ in range(runs + 1):
        began, used = time.perf_counter(), _cpu()
        function = ted.compile(*program(), target=f"cuda:{chip}")
        wall.append(time.perf_counter() - began)
        cpu.append(_cpu() - used)
    try:
        found = function.resources().values()
    except TedError:
        found = []
    return {
        "imports": imports, "first": wall[0], "again": wall[1:], "cpu": min(cpu[1:]),
        "kernels": len(function.manifest.kernels),
        "registers": max((r.registers for r in found), default=None),
        "spills": sum(r.spill_stores + r.spill_loads for r in found),
    }  # fmt: skip


def _cpu() -> float:
    """CPU seconds of this process and of LLVM's; of this one alone where Linux is not."""
    from ted.codegen.llvm.child import child
    from ted.codegen.nvptx.ptx import EXACT

    try:
        times = Path(f"/proc/{child(EXACT).pid}/schedstat").read_text().split()
    except OSError:
        times = ["0"]
    return time.process_time() + int(times[0]) * 1e-9


def line(name: str, found: dict[str, Any]) -> str:
    """A row of the table."""
    best, median = min(found["again"]), statistics.median(found["again"])
    registers = found["registers"]
    said = "" if registers is None else f"{registers:9} {found['spills']:6}"
    return (
        f"{name:16} {found['kernels']:7} {found['first']:6.2f} {best:6.2f} {median:6.2f} "
        f"{found['cpu']:6.2f} {said}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="", help="names of cases, with commas")
    parser.add_argument("--once", help="one case in this process, as JSON")
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(given.once, given.runs)))
        return
    print(environment("torch-mlir", "llvmlite"))
    print(f"{'case':16} kernels  first   best median    CPU registers spills")
    names = [name for name in given.only.split(",") if name] or list(cases())
    imports, worst = [], 0.0
    for name in names:
        command = [sys.executable, __file__, "--once", name, "--runs", str(given.runs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        imports.append(found["imports"])
        worst = max(worst, min(found["again"]))
        print(line(name, found), flush=True)
    print(f"{'imports':16} {'':7} {statistics.median(imports):6.2f}")
    print(f"{'of the limit':16} {'':14} {worst / LIMIT:6.2f}")


if __name__ == "__main__":
    main()
