"""Choose a template for a contraction, and build its kernels.

`plan` returns the reason when no template fits; then the caller keeps its plain loops. Which one is
chosen depends on shapes, types, strides and the chip only, so results are reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod

from ted.mlir import ir
from ted.schedules.gpu_templates import reduce_splits, simt
from ted.schedules.gpu_templates.kernels import (
    Launch,
    Memory,
    element_type,
    kernel,
    operand_type,
)
from ted.schedules.gpu_templates.problem import Gemm, Problem, as_gemm
from ted.schedules.gpu_templates.schedule import Plan, Tiling

Body = Callable[[Sequence[Memory]], None]
LARGEST_POSITION = (1 << 31) - 1
# Tiles of the SIMT template for 4-byte elements and for 8-byte ones, the most efficient first, each
# with the share of the peak that its ratio of loads to multiply-adds allows (a ranking only).
SIMT_TILINGS = {
    4: (
        (Tiling(128, 128, 8, (4, 2), (8, 8)), 1.0),
        (Tiling(128, 64, 8, (4, 1), (8, 8)), 0.9),
        (Tiling(64, 64, 8, (2, 2), (8, 4)), 0.75),
        (Tiling(128, 32, 8, (4, 1), (8, 4)), 0.7),
        (Tiling(32, 128, 8, (2, 2), (4, 8)), 0.7),
        (Tiling(32, 32, 16, (2, 1), (4, 4)), 0.45),
    ),
    8: (
        (Tiling(64, 64, 8, (4, 2), (4, 4)), 1.0),
        (Tiling(32, 64, 8, (2, 2), (4, 4)), 0.9),
        (Tiling(32, 32, 8, (2, 1), (4, 4)), 0.7),
    ),
}
SIMT_REGISTERS = 128
MULTIPROCESSORS = {"sm_80": 108, "sm_86": 84, "sm_89": 128, "sm_90": 132, "sm_90a": 132}
# Products per element of C below which a split is not worth its second kernel.
LEAST_SPLIT_DEPTH = 256
MOST_SPLITS = 32


def plan(problem: Problem, chip: str, *, tf32: bool = False) -> Plan | str:
    """The template and its sizes for a contraction on a chip ('sm_80', 'sm_90a', ..), or why none.

    `tf32` lets f32 products round their factors to tf32.
    """
    gemm = as_gemm(problem)
    reason = _declined(gemm)
    if reason is not None:
        return reason
    if gemm.a.element in ("f32", "f64", "i32", "i64"):
        return _plan_simt(gemm, chip)
    return f"no template for {gemm.a.element}"


def _declined(gemm: Gemm) -> str | None:
    if not gemm.reduction:
        return "no sum"
    if any(dim.c == 0 for dim in (*gemm.batch, *gemm.rows, *gemm.columns)):
        return "a parallel dim that does not move in the output"
    if max(gemm.a.size, gemm.b.size, gemm.c.size) > LARGEST_POSITION:
        return f"operands of more than {LARGEST_POSITION} elements"
    if gemm.a.element != gemm.b.element:
        return f"factors of two types, {gemm.a.element} and {gemm.b.element}"
    if gemm.a.bytes >= 4 and gemm.a.element != gemm.accumulator:
        return f"{gemm.a.element} summed in {gemm.accumulator}"
    if gemm.m == 1 or gemm.n == 1:
        return "a matrix times a vector: nothing is used twice"
    return None


def _plan_simt(gemm: Gemm, chip: str) -> Plan:
    processors = MULTIPROCESSORS.get(chip, 108)
    candidates = [
        (_cost(candidate, processors) / share, place, candidate)
        for place, (tiling, share) in enumerate(SIMT_TILINGS[gemm.a.bytes])
        for candidate in _splits(Plan("simt", chip, gemm, tiling), processors)
    ]
    return min(candidates, key=lambda entry: entry[:2])[2]


def _splits(base: Plan, processors: int) -> list[Plan]:
    """The plan with k in one piece, and cut into 2, 4, .. while the grid does not fill the chip."""
    found = [base]
    splits = 2
    while splits <= MOST_SPLITS and base.blocks * splits <= 2 * processors:
        depth = ceil(base.steps / splits)
        if depth * base.tiling.depth < LEAST_SPLIT_DEPTH:
            break
        exact = ceil(base.steps / depth)
        found.append(Plan(base.template, base.chip, base.gemm, base.tiling, exact, base.tf32))
        splits *= 2
    return found


def _cost(candidate: Plan, processors: int) -> float:
    """Multiply-adds on the busiest multiprocessor, plus the traffic of the second stage."""
    tiling, gemm = candidate.tiling, candidate.gemm
    rounds = ceil(candidate.blocks / processors)
    work = tiling.rows * tiling.columns * (candidate.steps_per_split * tiling.depth + 64)
    second = 0.0
    if candidate.splits > 1:
        # A kernel costs some microseconds to start, as 2**20 multiply-adds do here.
        second = (1 << 20) + 32 * gemm.m * gemm.n * gemm.batches * candidate.splits / processors
    return rounds * work + second


def emit(chosen: Plan, module: ir.Operation, name: str) -> list[Launch]:
    """Append the kernels of a plan to a `gpu.module`; launch them in order."""
    gemm = chosen.gemm
    sides = ("b", "a") if gemm.swapped else ("a", "b")
    types = [operand_type(gemm.a), operand_type(gemm.b)]
    bytes_ = simt.shared_bytes(chosen)
    block = (chosen.tiling.threads, 1, 1)
    grid = (chosen.blocks, 1, 1)
    partial = chosen.splits > 1
    space = _workspace_type(chosen) if partial else operand_type(gemm.c)

    def body(memories: Sequence[Memory]) -> None:
        simt.build(chosen, memories, partial=partial)

    kernel(module, name, [*types, space], chosen.tiling.threads, SIMT_REGISTERS, body)
    goal = "workspace" if partial else "c"
    launches = [Launch(name, grid, block, bytes_, (*sides, goal))]
    if partial:
        launches.append(_emit_second_stage(chosen, module, f"{name}_sum", space))
    return launches


def _emit_second_stage(
    chosen: Plan, module: ir.Operation, name: str, space: ir.MemRefType
) -> Launch:
    def body(memories: Sequence[Memory]) -> None:
        reduce_splits.build(chosen, memories)

    threads = reduce_splits.THREADS
    kernel(module, name, [space, operand_type(chosen.gemm.c)], threads, 32, body)
    grid = (reduce_splits.blocks(chosen), 1, 1)
    return Launch(name, grid, (threads, 1, 1), 0, ("workspace", "c"))


def _workspace_type(chosen: Plan) -> ir.MemRefType:
    gemm = chosen.gemm
    size = prod((chosen.splits, gemm.batches, gemm.m, gemm.n))
    return ir.MemRefType.get([size], element_type(gemm.accumulator))
