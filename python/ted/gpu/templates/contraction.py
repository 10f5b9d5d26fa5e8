"""Choose a template for a contraction, and build its kernels.

`plan` returns the reason when no template fits; then the caller keeps its plain loops. Which one is
chosen depends on shapes, types, strides and the chip only, so results are reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ted.gpu.templates import choices, mma_sync, reduce_splits, simt, wgmma, wgmma_gather
from ted.gpu.templates.choices import Option, cheapest, processors
from ted.gpu.templates.kernels import (
    Launch,
    Memory,
    element_type,
    kernel,
    operand_type,
)
from ted.gpu.templates.panels import LEAST_ASYNC_BYTES
from ted.gpu.templates.problem import ELEMENT_BYTES, Gemm, Problem, as_gemm
from ted.gpu.templates.schedule import Plan
from ted.machine import GPUS
from ted.mlir import ir

FACTORS = ("f64", "f32", "f16", "bf16", "i64", "i32")
LARGEST_POSITION = (1 << 31) - 1
TEMPLATES: dict[str, Any] = {
    "simt": simt,
    "mma_sync": mma_sync,
    "wgmma": wgmma,
    "wgmma_gather": wgmma_gather,
}


def plan(
    problem: Problem, chip: str, *, tf32: bool = False, tensor_maps: bool = False
) -> Plan | str:
    """The template and its sizes for a contraction on a chip ('sm_80', 'sm_90a', ..), or why none.

    `tf32` lets f32 products round their factors to tf32; `tensor_maps`: the caller can pass them,
    which the template for Hopper needs.
    """
    strange = {operand.element for operand in problem.operands} - set(ELEMENT_BYTES)
    if strange or problem.a.element not in FACTORS:
        return f"no template for {', '.join(sorted(strange or {problem.a.element}))}"
    if max(operand.size for operand in problem.operands) > LARGEST_POSITION:
        return f"operands of more than {LARGEST_POSITION} elements"
    gemm = as_gemm(problem)
    reason = _declined(gemm, chip)
    if reason is not None:
        return reason
    return cheapest(gemm, chip, _options(gemm, chip, tf32, tensor_maps))


def _options(gemm: Gemm, chip: str, tf32: bool, tensor_maps: bool) -> list[Option]:
    if gemm.a.bytes == 8:
        if gemm.a.element == "f64" and GPUS[chip].double_matrices:
            return [Option("mma_sync", choices.MMA_8_BYTES)]
        return [Option("simt", choices.SIMT_8_BYTES)]
    if gemm.a.bytes == 4:
        can_round = tf32 and gemm.a.element == "f32" and _capability(chip) >= 80
        if can_round and _moves_asynchronously(gemm):
            return [Option("mma_sync", choices.MMA_4_BYTES, tf32=True)]
        return [Option("simt", choices.SIMT_4_BYTES)]
    if not _moves_asynchronously(gemm):
        return [Option("mma_sync", choices.MMA_2_BYTES_BY_REGISTERS)]
    older = Option("mma_sync", choices.MMA_2_BYTES)
    if chip != "sm_90a":
        return [older]
    older = replace(older, share=choices.MMA_BESIDE_WGMMA)
    boxes = wgmma.operand_boxes(Plan("wgmma", chip, gemm, choices.WGMMA[-1][0]))
    if tensor_maps and boxes is not None:
        return [Option("wgmma", choices.WGMMA), older]
    if wgmma_gather.can_gather(gemm):
        return [Option("wgmma_gather", choices.WGMMA, choices.GATHER_BESIDE_BOXES), older]
    return [older]


def _declined(gemm: Gemm, chip: str) -> str | None:
    if not gemm.reduction:
        return "no sum"
    if any(dim.c == 0 for dim in (*gemm.batch, *gemm.rows, *gemm.columns)):
        return "a parallel dim that does not move in the output"
    if gemm.a.element != gemm.b.element:
        return f"factors of two types, {gemm.a.element} and {gemm.b.element}"
    if gemm.m == 1 or gemm.n == 1:
        return "a matrix times a vector: nothing is used twice"
    if gemm.epilogue is not None and gemm.accumulate:
        return "an epilogue of sums that are added to others"
    wanted = gemm.a.element if gemm.a.bytes >= 4 else "f32"
    results = ("f32", gemm.a.element) if gemm.a.bytes < 4 else (gemm.a.element,)
    known = gemm.epilogue is not None or gemm.c.element in results
    if gemm.accumulator != wanted or not known:
        return f"{gemm.a.element} summed in {gemm.accumulator} to {gemm.c.element}"
    if gemm.a.bytes >= 4:
        return None
    if gemm.bounds and not _moves_asynchronously(gemm):
        return "bounds, where each element passes through a register: a padded copy costs less"
    if _capability(chip) < 80:
        return f"{gemm.a.element} on {chip}, whose tensor cores are another generation's"
    return None


def _capability(chip: str) -> int:
    return int("".join(digit for digit in chip if digit.isdigit()))


def _moves_asynchronously(gemm: Gemm) -> bool:
    return all(gemm.best_width(side)[0] * gemm.a.bytes >= LEAST_ASYNC_BYTES for side in "ab")


def emit(chosen: Plan, module: ir.Operation, name: str) -> list[Launch]:
    """Append the kernels of a plan to a `gpu.module`; launch them in order."""
    template = TEMPLATES[chosen.template]
    threads = template.threads(chosen)
    blocks = template.grid(chosen, processors(chosen.chip))
    partial = chosen.splits > 1
    kinds, names = _results(chosen)
    if partial:
        kinds, names = [_workspace_type(chosen)], ["workspace"]

    def body(memories: Sequence[Any]) -> None:
        template.build(chosen, memories, partial=partial, blocks=blocks)

    types = [*template.argument_types(chosen), *kinds]
    kernel(module, name, types, threads, template.registers(chosen), body)
    launches = [
        Launch(
            name,
            (blocks, 1, 1),
            (threads, 1, 1),
            template.shared_bytes(chosen),
            (*template.arguments(chosen), *names),
        )
    ]
    if partial:
        launches.append(_emit_second_stage(chosen, module, f"{name}_sum"))
    return launches


def _emit_second_stage(chosen: Plan, module: ir.Operation, name: str) -> Launch:
    def body(memories: Sequence[Memory]) -> None:
        reduce_splits.build(chosen, memories)

    threads, registers = reduce_splits.THREADS, reduce_splits.REGISTERS
    kinds, names = _results(chosen)
    kernel(module, name, [_workspace_type(chosen), *kinds], threads, registers, body)
    grid = (reduce_splits.blocks(chosen), 1, 1)
    return Launch(name, grid, (threads, 1, 1), 0, ("workspace", *names))


def _results(chosen: Plan) -> tuple[list[ir.MemRefType], list[str]]:
    """Types and names of the parameters for C and for the inputs of the epilogue."""
    inputs = () if chosen.gemm.epilogue is None else chosen.gemm.epilogue.inputs
    kinds = [operand_type(chosen.gemm.c), *map(operand_type, inputs)]
    return kinds, ["c", *(f"input {k}" for k in range(len(inputs)))]


def _workspace_type(chosen: Plan) -> ir.MemRefType:
    gemm = chosen.gemm
    size = prod((chosen.splits, gemm.batches, gemm.m, gemm.n))
    return ir.MemRefType.get([size], element_type(gemm.accumulator))
