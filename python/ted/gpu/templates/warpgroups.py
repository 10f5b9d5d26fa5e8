"""Warpgroups of Hopper: producers fill a ring of stages, consumers multiply what is full.

One warpgroup produces, two consume. A stage has two barriers: producers wait until it is empty and
report that it is full, consumers the other way round. Each consumer multiplies half of the rows of
the tile by `wgmma`, reading A and B from shared memory, with one group of products in flight while
it frees the stage before. Blocks stay and take tile after tile, so that the next tiles arrive while
results are stored. (Source: V. Thakkar et al., CUTLASS, the warp-specialised persistent kernels for
SM90.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Condition, Number
from ted.gpu.templates.kernels import Memory, carried_loop, element_type, shared, when
from ted.gpu.templates.results import Run, Target, store_runs
from ted.gpu.templates.schedule import Plan, Share, share_of
from ted.mlir import arith, gpu, ir, llvm, nvvm, scf, vector
from ted.mlir.addresses import address_of, pointer_to, pointer_type
from ted.records import dataclass

WARPGROUP = 128
CONSUMERS = 2
THREADS = (CONSUMERS + 1) * WARPGROUP
WARPS_OF_CONSUMERS = CONSUMERS * WARPGROUP // 32
# Rows and depth of one instruction for 2-byte elements.
MMA_ROWS, MMA_DEPTH = 64, 16
BARRIER_BYTES = 8
# Registers per thread at the start: all of the multiprocessor's.
REGISTERS = 168
# Bytes of a swizzled line, and between groups of eight lines of a panel.
LINE_BYTES, EIGHT_LINES = 128, 1024
SWIZZLE_128 = 1 << 62
TICKS = 10_000_000
ARRIVE = """{
.reg .pred p;
setp.ne.b32 p, $1, 0;
@p mbarrier.arrive.shared.b64 _, [$0];
}"""
# Address spaces, and what stands for an index that is a value.
GENERIC, SHARED, SHARED_CLUSTER = 0, 3, 7
_DYNAMIC = -(1 << 31)


@dataclass(frozen=True)
class Side:
    """A tile of one operand in shared memory: lines of 128 bytes, swizzled.

    K-major (`along_k`): a line per row. MN-major: boxes of `line` rows, in each a line per step of
    k.
    """

    rows: int
    depth: int
    element_bytes: int
    along_k: bool

    @property
    def line(self) -> int:
        """Elements of a line."""
        return LINE_BYTES // self.element_bytes

    @property
    def bytes(self) -> int:
        """Bytes of the tile."""
        return self.rows * self.depth * self.element_bytes

    @property
    def boxes(self) -> int:
        """Pieces that are as wide as a line."""
        return 1 if self.along_k else self.rows // self.line


@dataclass(frozen=True)
class Barriers:
    """Two rings of barriers in shared memory: a stage is full, a stage is empty."""

    full: ir.Value
    empty: ir.Value

    def at(self, ring: ir.Value, stage: Number) -> ir.Value:
        """The address of one barrier."""
        space = pointer_type(SHARED)
        element = ir.IntegerType.get_signless(64)
        return llvm.GEPOp(space, ring, [integers.constant(stage)], [_DYNAMIC], element, None).res


@dataclass(frozen=True)
class Pipeline:
    """What both roles know: the tiles, where their stages lie, the barriers."""

    plan: Plan
    a: Side
    b: Side
    barriers: Barriers
    panel_a: ir.Value
    panel_b: ir.Value

    def turn(self, step: Number) -> tuple[Number, ir.Value]:
        """The stage of a step of the block, and the parity of the stage's use."""
        stages = self.plan.tiling.stages
        use = integers.divide(step, stages)
        return integers.remainder(step, stages), integers.constant(integers.remainder(use, 2))

    def wait_until_full(self, step: Number) -> Number:
        """Wait for the data of a step; the stage that they are in."""
        stage, parity = self.turn(step)
        _wait(self.barriers.at(self.barriers.full, stage), parity)
        return stage

    def wait_until_empty(self, step: Number) -> Number:
        """Wait until the stage of a step may be written; the first use of each is at once."""
        stage, parity = self.turn(step)
        opposite = integers.constant(integers.exclusive_or(parity, 1))
        _wait(self.barriers.at(self.barriers.empty, stage), opposite)
        return stage


def shared_bytes(plan: Plan) -> int:
    """Dynamic shared memory of a block: panels, then barriers."""
    tiling = plan.tiling
    tile = (tiling.rows + tiling.columns) * tiling.depth * plan.gemm.a.bytes
    return tiling.stages * (tile + 2 * BARRIER_BYTES)


def grid(plan: Plan, processors: int) -> int:
    """Blocks: one per multiprocessor."""
    return min(plan.blocks, processors)


def registers(plan: Plan) -> int:
    """Registers per thread at the start."""
    return REGISTERS


def threads(plan: Plan) -> int:
    """Threads of a block."""
    return THREADS


def pipeline_of(plan: Plan, a: Side, b: Side) -> Pipeline:
    """Lay out shared memory."""
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


def build_roles(
    pipeline: Pipeline,
    produce: Callable[[], None],
    goal: Callable[[Share], Target],
    blocks: int,
    full_count: int,
    registers: tuple[int, int],
) -> None:
    """Start the barriers, then part the warpgroups.

    `full_count` arrivals make a stage full; `registers` are those of producers and consumers.
    """
    thread = integers.thread()
    when(integers.equal(thread, 0), lambda: _start_barriers(pipeline, full_count))
    gpu.BarrierOp()
    role = scf.IfOp(cast(ir.Value, integers.less(thread, WARPGROUP)), has_else=True)
    with ir.InsertionPoint(role.then_block):
        _set_registers(registers[0], "decrease")
        produce()
        scf.YieldOp([])
    assert role.else_block is not None, "asked for"
    with ir.InsertionPoint(role.else_block):
        _set_registers(registers[1], "increase")
        _consume(pipeline, goal, blocks)
        scf.YieldOp([])


def _set_registers(count: int, action: str) -> None:
    nvvm.SetMaxRegisterOp(count, ir.Attribute.parse(f"#nvvm<action {action}>"))


def _pointer(memory: Memory) -> ir.Value:
    return pointer_to(address_of(memory.value), SHARED)


def _start_barriers(pipeline: Pipeline, full_count: int) -> None:
    barriers = pipeline.barriers
    for stage in range(pipeline.plan.tiling.stages):
        nvvm.MBarrierInitOp(barriers.at(barriers.full, stage), integers.constant(full_count))
        count = integers.constant(WARPS_OF_CONSUMERS)
        nvvm.MBarrierInitOp(barriers.at(barriers.empty, stage), count)
    nvvm.FenceMbarrierInitOp()


def each_tile(plan: Plan, blocks: int, body: Callable[[Share, Number], None]) -> Number:
    """Run the body for each tile of the block, with the number of steps that came before.

    How many tiles that are.
    """
    own = integers.block()
    if plan.blocks <= blocks:
        body(share_of(plan, own), 0)
        return 1
    rest = integers.subtract(plan.blocks + blocks - 1, own)
    count = integers.divide(rest, blocks)

    def one_tile(turn: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        number = integers.add(own, integers.scale(turn, blocks))
        body(share_of(plan, number), integers.scale(turn, plan.steps_per_split))
        return []

    carried_loop(0, count, [], one_tile)
    return count


def _wait(barrier: ir.Value, parity: ir.Value) -> None:
    nvvm.MBarrierTryWaitParityOp(barrier, parity, integers.constant(TICKS))


def byte_address(pointer: ir.Value, place: Number) -> ir.Value:
    """The address so many bytes behind one in shared memory."""
    space, byte = pointer_type(SHARED), ir.IntegerType.get_signless(8)
    return llvm.GEPOp(space, pointer, [integers.constant(place)], [_DYNAMIC], byte, None).res


def _consume(pipeline: Pipeline, goal: Callable[[Share], Target], blocks: int) -> None:
    plan, barriers = pipeline.plan, pipeline.barriers
    thread = integers.subtract(integers.thread(), WARPGROUP)
    group = integers.divide(thread, WARPGROUP)
    one_lane = integers.equal(integers.remainder(thread, 32), 0)
    half = plan.tiling.rows // CONSUMERS

    def release(step: Number, condition: Condition) -> None:
        stage, _ = pipeline.turn(step)
        arrive(barriers.at(barriers.empty, stage), integers.both(one_lane, condition))

    def tile(share: Share, before: Number) -> None:
        def step(number: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            now = integers.add(before, number)
            stage = pipeline.wait_until_full(now)
            nvvm.WgmmaFenceAlignedOp()
            sums = _multiply(pipeline, integers.scale(group, half), stage, sums)
            nvvm.WgmmaGroupSyncAlignedOp()
            nvvm.WgmmaWaitGroupSyncOp(1)
            release(integers.subtract(now, 1), integers.less(0, number))
            return sums

        steps = plan.steps_per_split
        count = half // MMA_ROWS
        sums = carried_loop(0, steps, [llvm.ZeroOp(_accumulator(plan)).res] * count, step)
        nvvm.WgmmaWaitGroupSyncOp(0)
        release(integers.add(before, steps - 1), True)
        row = integers.add(share.row, integers.scale(group, half))
        _store(plan, goal(share), share, (row, integers.remainder(thread, WARPGROUP)), sums)

    each_tile(plan, blocks, tile)


def arrive(barrier: ir.Value, condition: Condition) -> None:
    """Report to a barrier from the lanes for which the condition holds.

    Predicated, since a branch would part the lanes just before the next warp-wide instruction; and
    by a predicate of its own, since an instruction cannot be predicated by a constant.
    """
    if condition is False:
        return
    assert not isinstance(condition, bool), "not all lanes arrive"
    chosen = arith.ExtUIOp(ir.IntegerType.get_signless(32), condition).result
    nvvm.InlinePtxOp([], [barrier, chosen], [], ARRIVE, memoryClobber=True)


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
            left = a.descriptor(integers.add(row, block * MMA_ROWS), k)
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

    side: Side
    pointer: ir.Value
    stage: Number

    def descriptor(self, row: Number, k: int) -> ir.Value:
        """Of the part that starts at a row of the tile and at k."""
        side = self.side
        leading = side.bytes // side.boxes
        if side.along_k:
            start = integers.add(integers.scale(row, LINE_BYTES), k * LINE_BYTES // side.line)
        else:
            start = integers.scale(integers.divide(row, side.line), leading)
            start = integers.add(start, k * LINE_BYTES)
        place = integers.add(integers.scale(self.stage, side.bytes), start)
        i64 = ir.IntegerType.get_signless(64)
        address = llvm.PtrToIntOp(i64, byte_address(self.pointer, place)).res
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
    warp, lane = integers.divide(thread, 32), integers.remainder(thread, 32)
    row = integers.total(first, integers.scale(warp, 16), integers.divide(lane, 4))
    column = integers.add(share.column, integers.scale(integers.remainder(lane, 4), 2))
    columns = [integers.add(column, start) for start in range(0, plan.tiling.columns, 8)]
    runs = []
    for block, value in enumerate(sums):
        for upper in range(2):
            own = integers.add(row, block * MMA_ROWS + 8 * upper)
            for number, start in enumerate(columns):
                where = 4 * number + 2 * upper
                both = [llvm.ExtractValueOp(f32, value, [where + k]).res for k in range(2)]
                runs.append(Run(own, start, vector.FromElementsOp(pair, both).result))
    store_runs(goal, runs, (plan.tiling.rows, plan.tiling.columns))
