"""The second stage of a contraction whose k was split: partial sums are added in a fixed order.

Before: `workspace[split, batch, m, n]`. After: `C (+)= sum over split`, first split first, so that
results do not depend on the order in which blocks run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ted.schedules import ring
from ted.schedules.gpu_templates import numbers
from ted.schedules.gpu_templates.kernels import Memory, when
from ted.schedules.gpu_templates.problem import ELEMENT_BYTES
from ted.schedules.gpu_templates.results import Run, store_runs
from ted.schedules.gpu_templates.schedule import Plan, final_target

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
    place = numbers.add(numbers.scale(numbers.block(), THREADS), numbers.thread())
    position = numbers.scale(place, run)

    def add_up() -> None:
        total = workspace.load(position, run)
        for split in range(1, plan.splits):
            total = ring.add(total, workspace.load(numbers.add(position, split * size), run))
        number = numbers.divide(position, gemm.n)
        goal = final_target(plan, numbers.divide(number, gemm.m), memories[1:])
        row = numbers.remainder(number, gemm.m)
        store_runs(goal, [Run(row, numbers.remainder(position, gemm.n), total)], (1, 1))

    when(numbers.less(position, size) if size % (run * THREADS) else True, add_up)
