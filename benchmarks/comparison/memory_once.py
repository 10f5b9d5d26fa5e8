"""What a fresh process does for `memory.py`: a call to warm up, then the peak during another one.

python benchmarks/comparison/memory_once.py LABEL PEER
"""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from comparison.catalogue import found
from comparison.kits import KITS
from comparison.modes import call_of
from comparison.workload import Program, Workload

PROCESS = Path("/proc/self")


def peak() -> int:
    """Bytes that this process held at most since the peak was reset."""
    lines = (PROCESS / "status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def with_loss(workload: Workload, peer: str) -> Workload:
    """A gradient from cotangents as one of the mean square, which needs none."""
    program: Program = workload.of(peer)

    def loss(k: Any, *xs: Any) -> Any:
        y = program(k, *xs)
        return k.mean(y * y)

    return replace(workload, program=loss, mode="grad") if workload.mode == "vjp" else workload


def main(label: str, peer: str) -> None:
    """Print the bytes."""
    workload, kit = with_loss(found(label), peer), KITS[peer]()
    kit.threads(1)
    given = [kit.array(a) for a in workload.arrays()]
    run = call_of(kit, workload, peer)
    run(*given)
    gc.collect()
    (PROCESS / "clear_refs").write_text("5")  # the peak starts again
    run(*given)
    print(peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
