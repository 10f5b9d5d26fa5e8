"""The second stage of a contraction whose k was split: partial sums are added in a fixed order.

Before: `workspace[split, batch, m, n]`. After: `C (+)= sum over split`, first split first, so that
results do not depend on the order in which blocks run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ted.gpu.templates import integers
from ted.gpu.templates.kernels import Memory, when
from ted.gpu.templates.problem import ELEMENT_BYTES
from ted.gpu.templates.results import Run, store_runs
from ted.gpu.templates.schedule import Plan, final_target
from ted.mlir import semiring

THREADS = 256
REGISTERS = 64


def width(plan: Plan) -> int:
    """Neighbouring sums of one thread."""
    found = min(4, 16 // ELEMENT_BYTES[plan.gemm.accumulator])
    while plan.gemm.n % found:
        found //= 2
    return found


def blocks(plan: Plan) -> int:
    """Blocks of the grid."""
    gemm = plan.gemm
    return ceil(gemm.batches * gemm.m * gemm.n / (width(plan) * THREADS))


def build(plan: Plan, memories: Sequence[Memory]) -> None:
    """The body of the kernel."""
    gemm = plan.gemm
    workspace = memories[0]
    size = gemm.batches * gemm.m * gemm.n
    run = width(plan)
    place = integers.add(integers.scale(integers.block(), THREADS), integers.thread())
    position = integers.scale(place, run)

    def add_up() -> None:
        total = workspace.load(position, run)
        for split in range(1, plan.splits):
            total = semiring.add(total, workspace.load(integers.add(position, split * size), run))
        number = integers.divide(position, gemm.n)
        goal = final_target(plan, integers.divide(number, gemm.m), memories[1:])
        row = integers.remainder(number, gemm.m)
        store_runs(goal, [Run(row, integers.remainder(position, gemm.n), total)], (1, 1))

    when(integers.less(position, size) if size % (run * THREADS) else True, add_up)
