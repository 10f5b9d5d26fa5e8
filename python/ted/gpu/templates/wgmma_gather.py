"""Matrix products on Hopper's tensor cores whose operands are gathered: convolutions above all.

What the tensor memory accelerator cannot copy as boxes, the threads of the producing warpgroup
fetch by `cp.async`, runs of 16 bytes from wherever the strides say, into the very layout that the
accelerator would have made. Data are full some steps after their copies started: the threads wait
for the copies, make them visible to the tensor cores and report, so that a few steps are always
under way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.gpu.templates import integers, one_tile, warpgroups
from ted.gpu.templates.integers import Number
from ted.gpu.templates.kernels import Memory, carried_loop, shared
from ted.gpu.templates.panels import CHUNK_BYTES, Filler, Panel
from ted.gpu.templates.problem import Gemm
from ted.gpu.templates.results import Target
from ted.gpu.templates.schedule import Plan, Share, sources, target
from ted.gpu.templates.tiles import Fetch, Source, TileShape
from ted.gpu.templates.warpgroups import WARPGROUP, Pipeline, Side, arrive, each_tile
from ted.mlir import arith, ir, nvvm

# 128 * 104 + 256 * 200 are no more than the registers of one multiprocessor.
REGISTERS_OF_ROLES = (104, 200)
WARPS = WARPGROUP // 32
# Steps whose copies are under way when a step is reported; the ring has two stages more, since a
# consumer frees a stage one step after it has read it.
LAG = 2
arguments, argument_types = one_tile.arguments, one_tile.argument_types
shared_bytes, grid = warpgroups.shared_bytes, warpgroups.grid
registers, threads = warpgroups.registers, warpgroups.threads


def can_gather(gemm: Gemm) -> bool:
    """Whether both operands are made of runs of 16 bytes."""
    return all(gemm.best_width(side)[0] * gemm.a.bytes == CHUNK_BYTES for side in "ab")


def build(plan: Plan, memories: Sequence[Memory], *, partial: bool, blocks: int) -> None:
    """The body of the kernel."""
    assert plan.tiling.stages >= LAG + 2, "or roles would wait for each other"
    pipeline = warpgroups.pipeline_of(plan, _side(plan, "a"), _side(plan, "b"))

    def produce() -> None:
        _produce(pipeline, memories, blocks)

    def goal(share: Share) -> Target:
        return target(plan, share, memories[2:], partial=partial)

    warpgroups.build_roles(pipeline, produce, goal, blocks, WARPS, REGISTERS_OF_ROLES)


def _side(plan: Plan, side: str) -> Side:
    _, inner = plan.gemm.best_width(side)
    rows = plan.tiling.rows if side == "a" else plan.tiling.columns
    return Side(rows, plan.tiling.depth, plan.gemm.a.bytes, inner == (side == "a"))


def _produce(pipeline: Pipeline, memories: Sequence[Memory], blocks: int) -> None:
    """Fill stage after stage, and report each when its copies have arrived."""
    plan = pipeline.plan
    element, stages = plan.gemm.a.element, plan.tiling.stages
    thread = integers.thread()
    one_lane = integers.equal(integers.remainder(thread, 32), 0)
    panel_a = shared(element, stages * pipeline.a.rows * pipeline.a.depth, 0)
    panel_b = shared(
        element, stages * pipeline.b.rows * pipeline.b.depth, stages * pipeline.a.bytes
    )

    def report(step: Number, present: integers.Condition) -> None:
        stage, _ = pipeline.turn(step)
        full = pipeline.barriers.at(pipeline.barriers.full, stage)
        arrive(full, integers.both(one_lane, present))

    def tile(share: Share, before: Number) -> None:
        source_a, source_b = sources(plan, share, memories[0], memories[1])
        fillers = (
            _filler(pipeline.a, source_a, panel_a, share.row, thread),
            _filler(pipeline.b, source_b, panel_b, share.column, thread),
        )
        first = integers.scale(share.split, plan.steps_per_split)

        def step(number: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            now = integers.add(before, number)
            stage = pipeline.wait_until_empty(now)
            k = integers.scale(integers.add(first, number), plan.tiling.depth)
            for filler in fillers:
                filler.start(k, stage)
            nvvm.CpAsyncCommitGroupOp()
            _wait_for_copies(LAG)
            report(integers.subtract(now, LAG), integers.less(LAG - 1, now))
            return []

        carried_loop(0, plan.steps_per_split, [], step)

    total = integers.scale(each_tile(plan, blocks, tile), plan.steps_per_split)
    _wait_for_copies(0)
    for left in range(LAG, 0, -1):
        report(integers.subtract(total, left), integers.less(left - 1, total))


def _wait_for_copies(under_way: int) -> None:
    """All but the last copies of the warp are there, and visible to the tensor cores."""
    nvvm.CpAsyncWaitGroupOp(under_way)
    nvvm.FenceProxyOp(
        ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"),
        space=ir.Attribute.parse("#nvvm.shared_space<cta>"),
    )
    whole = arith.ConstantOp(ir.IntegerType.get_signless(32), -1).result
    nvvm.SyncWarpOp(whole)


def _filler(side: Side, source: Source, memory: Memory, row: Number, thread: Number) -> Filler:
    width = CHUNK_BYTES // side.element_bytes
    shape = TileShape(side.rows, side.depth, width, side.along_k, WARPGROUP)
    fetch = Fetch(source, shape, row, thread)
    box = Panel(memory, side.rows if side.along_k else side.line, side.depth, side.along_k)
    offsets = [_offset(side, box, r, k) for r, k in fetch.places]
    return Filler(fetch, memory, offsets, side.rows * side.depth)


def _offset(side: Side, box: Panel, row: Number, k: Number) -> Number:
    """Where the tile has an element, in the boxes that the accelerator would have made."""
    if side.along_k:
        return box.offset(row, k)
    first = integers.scale(integers.divide(row, side.line), side.line * side.depth)
    return integers.add(first, box.offset(k, integers.remainder(row, side.line)))
