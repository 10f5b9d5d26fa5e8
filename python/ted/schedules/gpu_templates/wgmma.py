"""Matrix products on Hopper's tensor cores: `wgmma` fed by the tensor memory accelerator.

One warpgroup produces, two consume. The producer's first thread waits until a stage of shared
memory is free, says how many bytes will arrive and starts the copies; the copies themselves report
to the stage's barrier. Each consumer multiplies half of the rows of the tile, reading A and B from
shared memory, with one group of products in flight while it frees the stage before. Blocks stay and
take tile after tile, so that the next tiles arrive while results are stored. (Source: V. Thakkar et
al., CUTLASS, the warp-specialised persistent kernels for SM90.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ted.mlir import arith, gpu, ir, llvm, memref, nvvm, scf, vector
from ted.schedules.gpu_templates import numbers
from ted.schedules.gpu_templates.kernels import Memory, carried_loop, element_type, shared, when
from ted.schedules.gpu_templates.numbers import Condition, Number
from ted.schedules.gpu_templates.results import Run, Target, store_runs
from ted.schedules.gpu_templates.schedule import Plan, Share, share_of, target
from ted.schedules.gpu_templates.tensor_maps import Boxes, TensorMap, boxes

WARPGROUP = 128
CONSUMERS = 2
WARPS_OF_CONSUMERS = CONSUMERS * WARPGROUP // 32
# Rows and depth of one instruction for 2-byte elements.
MMA_ROWS, MMA_DEPTH = 64, 16
BARRIER_BYTES = 8
# Registers per thread of the roles: 128 * 40 + 256 * 232 are those of one multiprocessor.
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232
# Bytes between groups of eight lines of a panel.
EIGHT_LINES = 1024
SWIZZLE_128 = 1 << 62
TICKS = 10_000_000
# Address spaces, and what stands for an index that is a value.
GENERIC, SHARED, SHARED_CLUSTER = 0, 3, 7
_DYNAMIC = -(1 << 31)


def _pointer_type(space: int) -> ir.Type:
    return ir.Type.parse(f"!llvm.ptr<{space}>" if space else "!llvm.ptr")


@dataclass(frozen=True)
class Barriers:
    """Two rings of barriers in shared memory: a stage is full, a stage is empty."""

    full: ir.Value
    empty: ir.Value

    def at(self, ring: ir.Value, stage: Number) -> ir.Value:
        """The address of one barrier."""
        space = _pointer_type(SHARED)
        element = ir.IntegerType.get_signless(64)
        return llvm.GEPOp(space, ring, [numbers.constant(stage)], [_DYNAMIC], element, None).res


@dataclass(frozen=True)
class Pipeline:
    """What both roles know: the boxes, the panels, the barriers."""

    plan: Plan
    a: Boxes
    b: Boxes
    barriers: Barriers
    panel_a: ir.Value
    panel_b: ir.Value

    def turn(self, step: Number) -> tuple[Number, ir.Value]:
        """The stage of a step of the block, and the parity of the stage's use."""
        stages = self.plan.tiling.stages
        use = numbers.divide(step, stages)
        return numbers.remainder(step, stages), numbers.constant(numbers.remainder(use, 2))


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
    return [_pointer_type(GENERIC)] * 2


def shared_bytes(plan: Plan) -> int:
    """Dynamic shared memory of a block: panels, then barriers."""
    tiling = plan.tiling
    tile = (tiling.rows + tiling.columns) * tiling.depth * plan.gemm.a.bytes
    return tiling.stages * (tile + 2 * BARRIER_BYTES)


def registers(plan: Plan) -> int:
    """Registers per thread at the start: all of the multiprocessor's."""
    return 168


def threads(plan: Plan) -> int:
    """Threads of a block."""
    return (CONSUMERS + 1) * WARPGROUP


def grid(plan: Plan, processors: int) -> int:
    """Blocks: one per multiprocessor."""
    return min(plan.blocks, processors)


def build(plan: Plan, memories: Sequence[Any], *, partial: bool, blocks: int) -> None:
    """The body of the kernel."""
    found = operand_boxes(plan)
    assert found is not None, "the planner has asked"
    pipeline = _pipeline(plan, *found)
    thread = numbers.thread()
    first = numbers.equal(thread, 0)
    when(first, lambda: _start_barriers(pipeline, memories[:2]))
    gpu.BarrierOp()
    role = scf.IfOp(cast(ir.Value, numbers.less(thread, WARPGROUP)), has_else=True)
    with ir.InsertionPoint(role.then_block):
        _set_registers(PRODUCER_REGISTERS, "decrease")
        when(first, lambda: _produce(pipeline, memories[:2], blocks))
        scf.YieldOp([])
    assert role.else_block is not None, "asked for"
    with ir.InsertionPoint(role.else_block):
        _set_registers(CONSUMER_REGISTERS, "increase")
        _consume(pipeline, memories[2], partial, blocks)
        scf.YieldOp([])


def _set_registers(count: int, action: str) -> None:
    nvvm.SetMaxRegisterOp(count, ir.Attribute.parse(f"#nvvm<action {action}>"))


def _pipeline(plan: Plan, a: Boxes, b: Boxes) -> Pipeline:
    stages = plan.tiling.stages
    first_b = stages * a.bytes
    first_barrier = first_b + stages * b.bytes
    element = plan.gemm.a.element
    panel_a = shared(element, stages * a.rows * a.depth, 0)
    panel_b = shared(element, stages * b.rows * b.depth, first_b)
    full = shared("i64", stages, first_barrier)
    empty = shared("i64", stages, first_barrier + stages * BARRIER_BYTES)
    barriers = Barriers(_pointer(full), _pointer(empty))
    return Pipeline(plan, a, b, barriers, _pointer(panel_a), _pointer(panel_b))


def _pointer(memory: Memory) -> ir.Value:
    index = memref.ExtractAlignedPointerAsIndexOp(memory.value).result
    number = arith.IndexCastOp(ir.IntegerType.get_signless(64), index).result
    return llvm.IntToPtrOp(_pointer_type(SHARED), number).res


def _start_barriers(pipeline: Pipeline, maps: Sequence[ir.Value]) -> None:
    barriers = pipeline.barriers
    for address in maps:
        nvvm.PrefetchOp(address, tensormap=True)
    for stage in range(pipeline.plan.tiling.stages):
        nvvm.MBarrierInitOp(barriers.at(barriers.full, stage), numbers.constant(1))
        count = numbers.constant(WARPS_OF_CONSUMERS)
        nvvm.MBarrierInitOp(barriers.at(barriers.empty, stage), count)
    nvvm.FenceMbarrierInitOp()


def _each_tile(plan: Plan, blocks: int, body: Callable[[Share, Number], None]) -> None:
    """Run the body for each tile of the block, with the number of steps that came before."""
    if plan.blocks <= blocks:
        body(share_of(plan, numbers.block()), 0)
        return
    own = numbers.block()
    rest = numbers.subtract(plan.blocks + blocks - 1, own)

    def one_tile(turn: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        number = numbers.add(own, numbers.scale(turn, blocks))
        body(share_of(plan, number), numbers.scale(turn, plan.steps_per_split))
        return []

    carried_loop(0, numbers.divide(rest, blocks), [], one_tile)


def _produce(pipeline: Pipeline, maps: Sequence[ir.Value], blocks: int) -> None:
    """Fill stage after stage; the first use of each finds it empty."""
    plan, barriers = pipeline.plan, pipeline.barriers
    size = pipeline.a.bytes + pipeline.b.bytes

    def tile(share: Share, before: Number) -> None:
        first = numbers.scale(share.split, plan.steps_per_split)

        def step(number: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            stage, parity = pipeline.turn(numbers.add(before, number))
            opposite = numbers.constant(numbers.exclusive_or(parity, 1))
            _wait(barriers.at(barriers.empty, stage), opposite)
            full = barriers.at(barriers.full, stage)
            nvvm.MBarrierArriveExpectTxOp(full, numbers.constant(size))
            k = numbers.scale(numbers.add(first, number), plan.tiling.depth)
            sides = (
                (pipeline.a, pipeline.panel_a, maps[0], share.row),
                (pipeline.b, pipeline.panel_b, maps[1], share.column),
            )
            for side, panel, tensor_map, row in sides:
                for box in range(side.count):
                    place = numbers.scale(stage, side.bytes)
                    place = numbers.add(place, box * (side.bytes // side.count))
                    at = side.coordinates(box, row, k, share.batch)
                    _copy_box(_byte(panel, place), tensor_map, at, full)
            return []

        carried_loop(0, plan.steps_per_split, [], step)

    _each_tile(plan, blocks, tile)


def _wait(barrier: ir.Value, parity: ir.Value) -> None:
    nvvm.MBarrierTryWaitParityOp(barrier, parity, numbers.constant(TICKS))


def _byte(pointer: ir.Value, place: Number) -> ir.Value:
    space, byte = _pointer_type(SHARED), ir.IntegerType.get_signless(8)
    return llvm.GEPOp(space, pointer, [numbers.constant(place)], [_DYNAMIC], byte, None).res


def _copy_box(
    place: ir.Value, tensor_map: ir.Value, coordinates: Sequence[Number], barrier: ir.Value
) -> None:
    cluster = llvm.AddrSpaceCastOp(_pointer_type(SHARED_CLUSTER), place).res
    at = [numbers.constant(number) for number in coordinates]
    nvvm.CpAsyncBulkTensorGlobalToSharedClusterOp(cluster, tensor_map, at, barrier, [])


def _consume(pipeline: Pipeline, c: Memory, partial: bool, blocks: int) -> None:
    plan, barriers = pipeline.plan, pipeline.barriers
    thread = numbers.subtract(numbers.thread(), WARPGROUP)
    group = numbers.divide(thread, WARPGROUP)
    one_lane = numbers.equal(numbers.remainder(thread, 32), 0)
    half = plan.tiling.rows // CONSUMERS

    def release(step: Number, condition: Condition) -> None:
        stage, _ = pipeline.turn(step)
        _arrive(barriers.at(barriers.empty, stage), numbers.both(one_lane, condition))

    def tile(share: Share, before: Number) -> None:
        def step(number: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            now = numbers.add(before, number)
            stage, parity = pipeline.turn(now)
            _wait(barriers.at(barriers.full, stage), parity)
            nvvm.WgmmaFenceAlignedOp()
            sums = _multiply(pipeline, numbers.scale(group, half), stage, sums)
            nvvm.WgmmaGroupSyncAlignedOp()
            nvvm.WgmmaWaitGroupSyncOp(1)
            release(numbers.subtract(now, 1), numbers.less(0, number))
            return sums

        steps = plan.steps_per_split
        count = half // MMA_ROWS
        sums = carried_loop(0, steps, [llvm.ZeroOp(_accumulator(plan)).res] * count, step)
        nvvm.WgmmaWaitGroupSyncOp(0)
        release(numbers.add(before, steps - 1), True)
        goal = target(plan, share, c, partial=partial)
        row = numbers.add(share.row, numbers.scale(group, half))
        _store(plan, goal, share, (row, numbers.remainder(thread, WARPGROUP)), sums)

    _each_tile(plan, blocks, tile)


def _arrive(barrier: ir.Value, condition: Condition) -> None:
    """Predicated: a branch would part the lanes just before the next warp-wide instruction."""
    assert not isinstance(condition, bool), "not all lanes arrive"
    code = "mbarrier.arrive.shared.b64 _, [$0];"
    nvvm.InlinePtxOp([], [barrier], [], code, predicate=condition, memoryClobber=True)


def _accumulator(plan: Plan) -> ir.Type:
    return ir.Type.parse(f"!llvm.struct<({', '.join(['f32'] * (plan.tiling.columns // 2))})>")


def _multiply(
    pipeline: Pipeline, row: Number, stage: Number, sums: Sequence[ir.Value]
) -> list[ir.Value]:
    """sums += A[row ..] x B of a stage, all steps of k."""
    tiling = pipeline.plan.tiling
    a = _Panel(pipeline.a, pipeline.panel_a, stage)
    b = _Panel(pipeline.b, pipeline.panel_b, stage)
    results = list(sums)
    for k in range(0, tiling.depth, MMA_DEPTH):
        right = b.descriptor(0, k)
        for block in range(len(results)):
            left = a.descriptor(numbers.add(row, block * MMA_ROWS), k)
            results[block] = _product(pipeline, left, right, results[block])
    return results


@dataclass(frozen=True)
class _Panel:
    """A stage of an operand, as the matrix descriptors of the instruction name parts of it.

    K-major: lines are rows, a part of a line starts `k` elements in, groups of eight rows are 1024
    bytes apart. MN-major: lines are steps of k inside boxes of 64 rows; groups of eight steps are
    1024 bytes apart, boxes `leading` bytes. The swizzle depends on addresses alone, so a part may
    start anywhere at 16 bytes inside a line.
    """

    boxes: Boxes
    pointer: ir.Value
    stage: Number

    def descriptor(self, row: Number, k: int) -> ir.Value:
        """Of the part that starts at a row of the tile and at k."""
        side = self.boxes
        line_bytes = side.bytes // (side.rows * side.depth) * side.line
        leading = side.bytes // side.count
        if side.along_k:
            start = numbers.add(numbers.scale(row, line_bytes), k * line_bytes // side.line)
        else:
            start = numbers.scale(numbers.divide(row, side.line), leading)
            start = numbers.add(start, k * line_bytes)
        place = numbers.add(numbers.scale(self.stage, side.bytes), start)
        i64 = ir.IntegerType.get_signless(64)
        address = llvm.PtrToIntOp(i64, _byte(self.pointer, place)).res
        field = arith.ShRUIOp(arith.AndIOp(address, _i64(0x3FFFF)).result, _i64(4)).result
        rest = (leading >> 4) << 16 | (EIGHT_LINES >> 4) << 32 | SWIZZLE_128
        return arith.OrIOp(field, _i64(rest)).result


def _i64(value: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(64)
    return arith.ConstantOp(kind, value).result


def _product(pipeline: Pipeline, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    columns, element = pipeline.plan.tiling.columns, pipeline.plan.gemm.a.element
    parse = ir.Attribute.parse
    return nvvm.WgmmaMmaAsyncOp(
        total.type,
        total,
        left,
        right,
        shape=parse(f"#nvvm.shape<m = {MMA_ROWS}, n = {columns}, k = {MMA_DEPTH}>"),
        typeA=parse(f"#nvvm.wgmma_type<{element}>"),
        typeB=parse(f"#nvvm.wgmma_type<{element}>"),
        typeD=parse("#nvvm.wgmma_type<f32>"),
        scaleD=parse("#nvvm.wgmma_scale_out<one>"),
        scaleA=parse("#nvvm.wgmma_scale_in<one>"),
        scaleB=parse("#nvvm.wgmma_scale_in<one>"),
        layoutA=parse(f"#nvvm.mma_layout<{'row' if pipeline.a.along_k else 'col'}>"),
        layoutB=parse(f"#nvvm.mma_layout<{'col' if pipeline.b.along_k else 'row'}>"),
    ).results_


def _store(
    plan: Plan,
    goal: Target,
    share: Share,
    place: tuple[Number, Number],
    sums: Sequence[ir.Value],
) -> None:
    """Four sums after the other are two columns of a row and the same eight rows further on."""
    first, thread = place
    f32 = element_type("f32")
    pair = ir.VectorType.get([2], f32)
    warp, lane = numbers.divide(thread, 32), numbers.remainder(thread, 32)
    row = numbers.total(first, numbers.scale(warp, 16), numbers.divide(lane, 4))
    column = numbers.add(share.column, numbers.scale(numbers.remainder(lane, 4), 2))
    columns = [numbers.add(column, start) for start in range(0, plan.tiling.columns, 8)]
    runs = []
    for block, value in enumerate(sums):
        for upper in range(2):
            own = numbers.add(row, block * MMA_ROWS + 8 * upper)
            for number, start in enumerate(columns):
                where = 4 * number + 2 * upper
                both = [llvm.ExtractValueOp(f32, value, [where + k]).res for k in range(2)]
                runs.append(Run(own, start, vector.FromElementsOp(pair, both).result))
    store_runs(goal, runs, (plan.tiling.rows, plan.tiling.columns))
