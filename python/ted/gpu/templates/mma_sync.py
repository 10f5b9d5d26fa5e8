"""Matrix products on tensor cores with `mma.sync`: f16 and bf16 summed in f32, f32 as tf32, f64.

Tiles of A and B travel to a ring of stages in shared memory by `cp.async` (by registers where runs
are shorter than 4 bytes); while one stage is multiplied, the next ones are on their way, and one
barrier per stage is enough. A warp reads 16 x 16 (tf32, f64: 16 x 8) pieces by `ldmatrix`,
transposed where the panel lies along rows, or element by element where `ldmatrix` cannot (f64, and
tf32 along rows). Accumulators stay in registers. (Source: V. Thakkar et al., CUTLASS, the
multistage main loop for SM80.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ted.gpu.templates import double_products, integers
from ted.gpu.templates.integers import Number
from ted.gpu.templates.kernels import (
    Memory,
    carried_loop,
    element_type,
    shared,
    when,
)
from ted.gpu.templates.one_tile import argument_types as argument_types
from ted.gpu.templates.one_tile import arguments as arguments
from ted.gpu.templates.one_tile import grid as grid
from ted.gpu.templates.one_tile import threads as threads
from ted.gpu.templates.panels import CHUNK_BYTES, Filler, Panel, panel_filler
from ted.gpu.templates.problem import ELEMENT_BYTES
from ted.gpu.templates.results import Run, store_runs
from ted.gpu.templates.schedule import (
    Plan,
    Share,
    share_of,
    sources,
    steps_of_split,
    target,
)
from ted.gpu.templates.tiles import Fetch, TileShape
from ted.mlir import arith, gpu, ir, memref, nvgpu, nvvm, semiring, vector
from ted.records import dataclass

# Rows and columns of one product, and its depth by the bytes of an element.
MMA_ROWS, MMA_COLUMNS = 16, 8
MMA_DEPTH = {2: 16, 4: 8, 8: 8}


@dataclass(frozen=True)
class Lanes:
    """The thread: its warp's first row and column in the tile, and its number in the warp."""

    row: Number
    column: Number
    own: Number


def shared_bytes(plan: Plan) -> int:
    """Dynamic shared memory of a block."""
    tiling = plan.tiling
    return tiling.stages * tiling.depth * (tiling.rows + tiling.columns) * plan.gemm.a.bytes


def registers(plan: Plan) -> int:
    """Registers per thread: the sums, two fragments, and what is on its way through registers."""
    sums = plan.tiling.warp_rows * plan.tiling.warp_columns // 32
    sums *= ELEMENT_BYTES[plan.gemm.accumulator] // 4
    narrow = any(plan.gemm.best_width(s)[0] * plan.gemm.a.bytes < CHUNK_BYTES for s in "ab")
    if sums > 64:
        return 255
    return 168 if narrow or plan.gemm.a.bytes >= 4 else 128


def build(plan: Plan, memories: Sequence[Memory], *, partial: bool, blocks: int) -> None:
    """The body of the kernel."""
    assert blocks == plan.blocks, "each block has one tile"
    share = share_of(plan, integers.block())
    thread = integers.thread()
    feeds = _feeds(plan, share, memories, thread)
    lanes = _lanes(plan, thread)
    sums = _multiply_all(plan, feeds, lanes, steps_of_split(plan, share.split))
    goal = target(plan, share, memories[2:], partial=partial)
    store_runs(goal, _runs(plan, share, lanes, sums), (plan.tiling.rows, plan.tiling.columns))


@dataclass(frozen=True)
class Feed:
    """How one operand arrives, and where."""

    filler: Filler
    panel: Panel


def _feeds(
    plan: Plan, share: Share, memories: Sequence[Memory], thread: Number
) -> tuple[Feed, Feed]:
    gemm, tiling = plan.gemm, plan.tiling
    found = []
    first_byte = 0
    both = zip("ab", sources(plan, share, memories[0], memories[1]), strict=True)
    for side, source in both:
        rows, first = (tiling.rows, share.row) if side == "a" else (tiling.columns, share.column)
        width, inner = gemm.best_width(side)
        along_k = inner == (side == "a")
        while rows * tiling.depth < width * tiling.threads and width > 1:
            width //= 2
        elements = tiling.stages * rows * tiling.depth
        memory = shared(gemm.a.element, elements, first_byte)
        first_byte += elements * gemm.a.bytes
        panel = Panel(memory, rows, tiling.depth, along_k, _in_singles(gemm.a.bytes, along_k))
        shape = TileShape(rows, tiling.depth, width, along_k, tiling.threads)
        found.append(Feed(panel_filler(Fetch(source, shape, first, thread), panel), panel))
    return found[0], found[1]


def _lanes(plan: Plan, thread: Number) -> Lanes:
    tiling = plan.tiling
    warp = integers.divide(thread, 32)
    row = integers.scale(integers.divide(warp, tiling.warps[1]), tiling.warp_rows)
    column = integers.scale(integers.remainder(warp, tiling.warps[1]), tiling.warp_columns)
    return Lanes(row, column, integers.remainder(thread, 32))


def _multiply_all(
    plan: Plan, feeds: tuple[Feed, Feed], lanes: Lanes, steps: tuple[Number, Number]
) -> list[ir.Value]:
    """The pipeline: `stages - 1` tiles are under way while one is multiplied."""
    tiling = plan.tiling
    fillers = (feeds[0].filler, feeds[1].filler)
    panels = (feeds[0].panel, feeds[1].panel)
    first, last = steps
    ahead = tiling.stages - 1
    for stage in range(ahead):
        _start_and_finish(plan, fillers, integers.add(first, stage), last, stage)
    kind = ir.VectorType.get([2, 2], element_type(plan.gemm.accumulator))
    count = tiling.warp_rows // MMA_ROWS * (tiling.warp_columns // MMA_COLUMNS)

    def one_tile(step: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        nvvm.CpAsyncWaitGroupOp(ahead - 1)
        gpu.BarrierOp()
        number = integers.subtract(step, first)
        following = integers.add(step, ahead)
        free = integers.remainder(integers.add(number, ahead), tiling.stages)
        runs = _start(plan, fillers, following, last, free)
        sums = _multiply(plan, panels, lanes, integers.remainder(number, tiling.stages), sums)
        for filler, own in zip(fillers, runs, strict=True):
            filler.finish(own, free)
        return sums

    return carried_loop(first, last, [semiring.zero(kind)] * count, one_tile)


def _start_and_finish(
    plan: Plan, fillers: tuple[Filler, Filler], step: Number, last: Number, stage: int
) -> None:
    runs = _start(plan, fillers, step, last, stage)
    for filler, own in zip(fillers, runs, strict=True):
        filler.finish(own, stage)


def _start(
    plan: Plan, fillers: tuple[Filler, Filler], step: Number, last: Number, stage: Number
) -> list[list[ir.Value]]:
    """Start the copies of a tile, if there is one, as one group; registers read the last again."""
    depth = plan.tiling.depth
    asynchronous = [filler for filler in fillers if filler.is_async]

    def copy() -> None:
        for filler in asynchronous:
            filler.start(integers.scale(step, depth), stage)

    if asynchronous:
        when(integers.less(step, last), copy)
    nvvm.CpAsyncCommitGroupOp()
    present = integers.smaller(step, integers.add(last, -1))
    return [
        [] if filler.is_async else filler.start(integers.scale(present, depth), stage)
        for filler in fillers
    ]


def _multiply(
    plan: Plan, panels: tuple[Panel, Panel], lanes: Lanes, stage: Number, sums: list[ir.Value]
) -> list[ir.Value]:
    """sums += A tile x B tile of one stage."""
    tiling = plan.tiling
    depth = MMA_DEPTH[plan.gemm.a.bytes]
    readers = (
        Reader(panels[0], lanes.row, lanes.own, stage, is_a=True, tf32=plan.tf32),
        Reader(panels[1], lanes.column, lanes.own, stage, is_a=False, tf32=plan.tf32),
    )
    for k in range(0, tiling.depth, depth):
        rows = [readers[0].read(row, k) for row in range(0, tiling.warp_rows, 16)]
        pairs = [readers[1].read(column, k) for column in range(0, tiling.warp_columns, 16)]
        columns = [_rows_of(pair, 2 * half, 2) for pair in pairs for half in range(2)]
        sums = [
            _product(plan, a, b, total)
            for (a, b), total in zip(product(rows, columns), sums, strict=True)
        ]
    return sums


def _product(plan: Plan, a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
    if plan.gemm.a.bytes == 8:
        return double_products.multiply(plan.chip, a, b, total)
    shape = [MMA_ROWS, MMA_COLUMNS, MMA_DEPTH[plan.gemm.a.bytes]]
    return nvgpu.MmaSyncOp(total.type, a, b, total, shape, tf32Enabled=plan.tf32 or None).result


def _in_singles(size: int, along_k: bool) -> bool:
    """Whether elements of so many bytes are read one by one: `ldmatrix` transposes 2 bytes alone,
    and gives each lane 4."""
    return size == 8 or (size == 4 and not along_k)


@dataclass(frozen=True)
class Reader:
    """Reads 16 rows (of A) or columns (of B) by one instruction's depth from a stage of a panel.

    The four 8 x 16-byte pieces of A are (rows 0-7, k low), (rows 8-15, k low), (rows 0-7, k high),
    (rows 8-15, k high); those of two columns blocks of B have k fastest instead. Lanes 8p .. 8p+7
    give the lines of piece p.
    """

    panel: Panel
    first: Number
    lane: Number
    stage: Number
    is_a: bool
    tf32: bool

    def read(self, row: int, k: int) -> ir.Value:
        """The fragment that starts at a row (or column) of the warp's tile and at k."""
        singly = _in_singles(self.panel.memory.bytes, self.panel.along_k)
        loaded = self._singles(row, k) if singly else self._matrices(row, k)
        return _as_tf32(loaded) if self.tf32 else loaded

    def _matrices(self, row: int, k: int) -> ir.Value:
        panel, lane = self.panel, self.lane
        piece, line = integers.divide(lane, 8), integers.remainder(lane, 8)
        low, high = integers.remainder(piece, 2), integers.divide(piece, 2)
        upper_row, upper_k = (low, high) if self.is_a else (high, low)
        half = panel.chunk
        if panel.along_k:
            inner = integers.add(line, integers.scale(upper_row, 8))
            number = integers.total(self.first, inner, row)
            element = integers.add(integers.scale(upper_k, half), k)
        else:
            inner = integers.add(line, integers.scale(upper_k, 8))
            number = integers.add(inner, k)
            element = integers.total(self.first, integers.scale(upper_row, half), row)
        # The rest of the line's number is a multiple of 8 and changes no key.
        offset = panel.offset(number, element, panel.key(inner))
        kind = ir.VectorType.get([4, 4 // panel.memory.bytes], panel.memory.element)
        return nvgpu.LdMatrixOp(
            kind,
            panel.memory.value,
            [integers.index(integers.add(panel.stage(self.stage), offset))],
            not panel.along_k,
            4,
        ).result

    def _singles(self, row: int, k: int) -> ir.Value:
        """One load for each element."""
        panel, lane = self.panel, self.lane
        group, own = integers.divide(lane, 4), integers.remainder(lane, 4)
        parts = []
        for piece in range(4):
            upper_row, upper_k = (piece % 2, piece // 2) if self.is_a else (piece // 2, piece % 2)
            depth = integers.add(own, k + 4 * upper_k)
            across = integers.total(self.first, group, row + 8 * upper_row)
            # The rest of the line's number is a multiple of 4 and changes no key.
            if panel.along_k:
                offset = panel.offset(across, depth, panel.key(group))
            else:
                offset = panel.offset(depth, across, panel.key(own))
            at = integers.index(integers.add(panel.stage(self.stage), offset))
            parts.append(memref.LoadOp(panel.memory.value, [at]).result)
        kind = ir.VectorType.get([4, 1], panel.memory.element)
        return vector.FromElementsOp(kind, parts).result


def _as_tf32(values: ir.Value) -> ir.Value:
    """Rounded to nearest: the instruction itself would cut the low bits off."""
    mode = ir.Attribute.parse("#nvvm.fp_rnd_mode<rna>")
    f32, i32 = element_type("f32"), ir.IntegerType.get_signless(32)
    rounded = [
        arith.BitcastOp(
            f32,
            nvvm.ConvertFloatToTF32Op(
                vector.ExtractOp(values, [], [k, 0]).result, rnd=mode, results=[i32]
            ).result,
        ).result
        for k in range(4)
    ]
    return vector.FromElementsOp(values.type, rounded).result


def _rows_of(values: ir.Value, first: int, count: int) -> ir.Value:
    kind = ir.VectorType(values.type)
    target_type = ir.VectorType.get([count, kind.shape[1]], kind.element_type)
    return vector.ExtractStridedSliceOp(
        target_type, values, [first, 0], [count, kind.shape[1]], [1, 1]
    ).result


def _runs(plan: Plan, share: Share, lanes: Lanes, sums: Sequence[ir.Value]) -> list[Run]:
    """Each accumulator is two runs of two columns, eight rows apart."""
    tiling = plan.tiling
    group, own = integers.divide(lanes.own, 4), integers.remainder(lanes.own, 4)
    row = integers.total(share.row, lanes.row, group)
    column = integers.total(share.column, lanes.column, integers.scale(own, 2))
    rows = [integers.add(row, place) for place in range(0, tiling.warp_rows, 8)]
    columns = [integers.add(column, place) for place in range(0, tiling.warp_columns, 8)]
    found = []
    for number, first in enumerate(rows):
        for place, start in enumerate(columns):
            block = sums[number // 2 * len(columns) + place]
            values = vector.ExtractOp(block, [], [number % 2]).result
            found.append(Run(first, start, values))
    return found
