"""Matrix products on Hopper's tensor cores, fed by the tensor memory accelerator.

The producer is one thread: it waits until a stage of shared memory is empty, says how many bytes
will arrive and starts the copies of boxes; the copies themselves report to the stage's barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.gpu.templates import integers, warpgroups
from ted.gpu.templates.integers import Number
from ted.gpu.templates.kernels import carried_loop, when
from ted.gpu.templates.results import Target
from ted.gpu.templates.schedule import Plan, Share, target
from ted.gpu.templates.tensor_maps import Boxes, TensorMap, boxes
from ted.gpu.templates.warpgroups import (
    GENERIC,
    SHARED_CLUSTER,
    Pipeline,
    byte_address,
    each_tile,
    pointer_type,
)
from ted.mlir import ir, llvm, nvvm

# 128 * 40 + 256 * 232 are the registers of one multiprocessor.
REGISTERS_OF_ROLES = (40, 232)
shared_bytes, grid = warpgroups.shared_bytes, warpgroups.grid
registers, threads = warpgroups.registers, warpgroups.threads


def operand_boxes(plan: Plan) -> tuple[Boxes, Boxes] | None:
    """The boxes of both operands; None if the accelerator cannot read one."""
    gemm, tiling = plan.gemm, plan.tiling
    names = ("b", "a") if gemm.swapped else ("a", "b")
    a = boxes(gemm, "a", names[0], tiling.rows, tiling.depth)
    b = boxes(gemm, "b", names[1], tiling.columns, tiling.depth)
    return None if a is None or b is None else (a, b)


def arguments(plan: Plan) -> tuple[TensorMap, TensorMap]:
    """What the host passes for A and B."""
    found = operand_boxes(plan)
    assert found is not None, "the planner has asked"
    return found[0].map, found[1].map


def argument_types(plan: Plan) -> list[ir.Type]:
    """Both are pointers to maps in parameter memory."""
    return [pointer_type(GENERIC)] * 2


def build(plan: Plan, memories: Sequence[Any], *, partial: bool, blocks: int) -> None:
    """The body of the kernel."""
    found = operand_boxes(plan)
    assert found is not None, "the planner has asked"
    pipeline = warpgroups.pipeline_of(plan, found[0].side, found[1].side)
    maps = (memories[0], memories[1])

    def produce() -> None:
        first = integers.equal(integers.thread(), 0)
        when(first, lambda: _produce(pipeline, found, maps, blocks))

    def goal(share: Share) -> Target:
        return target(plan, share, memories[2:], partial=partial)

    warpgroups.build_roles(pipeline, produce, goal, blocks, 1, REGISTERS_OF_ROLES)


def _produce(
    pipeline: Pipeline, both: tuple[Boxes, Boxes], maps: tuple[ir.Value, ir.Value], blocks: int
) -> None:
    """Fill stage after stage."""
    plan = pipeline.plan
    size = pipeline.a.bytes + pipeline.b.bytes
    for address in maps:
        nvvm.PrefetchOp(address, tensormap=True)

    def tile(share: Share, before: Number) -> None:
        first = integers.scale(share.split, plan.steps_per_split)
        corners = (share.row, share.column)
        panels = (pipeline.panel_a, pipeline.panel_b)

        def step(number: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            stage = pipeline.wait_until_empty(integers.add(before, number))
            full = pipeline.barriers.at(pipeline.barriers.full, stage)
            nvvm.MBarrierArriveExpectTxOp(full, integers.constant(size))
            k = integers.scale(integers.add(first, number), plan.tiling.depth)
            for source, row, panel, address in zip(both, corners, panels, maps, strict=True):
                start = integers.scale(stage, source.side.bytes)
                for box in range(source.side.boxes):
                    place = integers.add(start, box * (source.side.bytes // source.side.boxes))
                    at = source.coordinates(box, row, k, share.batch)
                    _copy_box(byte_address(panel, place), address, at, full)
            return []

        carried_loop(0, plan.steps_per_split, [], step)

    each_tile(plan, blocks, tile)


def _copy_box(
    place: ir.Value, tensor_map: ir.Value, coordinates: Sequence[Number], barrier: ir.Value
) -> None:
    cluster = llvm.AddrSpaceCastOp(pointer_type(SHARED_CLUSTER), place).res
    at = [integers.constant(number) for number in coordinates]
    nvvm.CpAsyncBulkTensorGlobalToSharedClusterOp(cluster, tensor_map, at, barrier, [])
