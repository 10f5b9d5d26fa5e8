"""Matrix products on the ordinary arithmetic units, for f32 and f64 (and integers).

A block keeps a tile of C in registers: each thread a few rows times a few columns. Tiles of A and B
pass through shared memory, stored with k outermost, in two buffers: while one is multiplied, the
next tiles travel to registers and then to the other buffer, so that one barrier per tile is enough.
Each step of k reads rows + columns values and does rows x columns multiply-adds. A thread's rows
and columns are runs of 16 bytes that the threads of a warp interleave: no bank conflicts. (Source:
J. Lai, A. Seznec, Performance upper bound analysis and optimization of SGEMM on Fermi and Kepler
GPUs, CGO 2013.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Number
from ted.gpu.templates.kernels import (
    Memory,
    carried_loop,
    element_type,
    lane,
    shared,
    spread,
)
from ted.gpu.templates.one_tile import argument_types as argument_types
from ted.gpu.templates.one_tile import arguments as arguments
from ted.gpu.templates.one_tile import grid as grid
from ted.gpu.templates.one_tile import threads as threads
from ted.gpu.templates.results import Run, store_runs
from ted.gpu.templates.schedule import (
    Plan,
    share_of,
    sources,
    steps_of_split,
    target,
)
from ted.gpu.templates.tiles import Fetch, Source, TileShape, put_runs
from ted.mlir import gpu, ir, semiring
from ted.records import dataclass

# How the lanes of a warp lie over its tile.
LANES = (4, 8)
BUFFERS = 2
# Steps of k without a branch: more of them would be loaded at once, into too many registers.
UNROLLED = 2


@dataclass(frozen=True)
class Stage:
    """A tile of one operand in shared memory: [buffer][k][row], rows padded by one run."""

    memory: Memory
    rows: int
    depth: int
    run: int

    @property
    def line(self) -> int:
        """Elements from one k to the next."""
        return self.rows + self.run

    def position(self, buffer: Number) -> Number:
        """The first element of a buffer."""
        return integers.scale(buffer, self.depth * self.line)


def shared_bytes(plan: Plan) -> int:
    """Dynamic shared memory of a block."""
    tiling = plan.tiling
    run = 16 // plan.gemm.a.bytes
    elements = BUFFERS * tiling.depth * (tiling.rows + tiling.columns + 2 * run)
    return elements * plan.gemm.a.bytes


def registers(plan: Plan) -> int:
    """Registers per thread: two blocks of 256 threads share a multiprocessor, three smaller ones.

    Single elements with bounds need more, of which smaller blocks have enough.
    """
    single = plan.gemm.bounds and any(plan.gemm.best_width(side)[0] == 1 for side in "ab")
    return 168 if single and plan.tiling.threads <= 128 else 128


def build(plan: Plan, memories: Sequence[Memory], *, partial: bool, blocks: int) -> None:
    """The body of the kernel."""
    assert blocks == plan.blocks, "each block has one tile"
    tiling, gemm = plan.tiling, plan.gemm
    a, b = memories[:2]
    run = 16 // gemm.a.bytes
    share = share_of(plan, integers.block())
    source_a, source_b = sources(plan, share, a, b)
    stage_a = _stage(plan, tiling.rows, 0)
    stage_b = _stage(plan, tiling.columns, BUFFERS * tiling.depth * stage_a.line)
    thread = integers.thread()
    pairs = [
        (_fetch(plan, "a", source_a, tiling.rows, share.row, thread), stage_a),
        (_fetch(plan, "b", source_b, tiling.columns, share.column, thread), stage_b),
    ]
    row, column = _corner(plan, thread, run)
    first, last = steps_of_split(plan, share.split)
    _fill(pairs, [fetch.load(integers.scale(first, tiling.depth)) for fetch, _ in pairs], 0)
    gpu.BarrierOp()
    sums = _multiply_all(plan, pairs, (row, column), (first, last))
    goal = target(plan, share, memories[2:], partial=partial)
    rows, columns = _positions(tiling.thread, run)
    runs = [
        Run(integers.total(share.row, row, r), integers.total(share.column, column, n), value)
        for (r, n), value in zip(product(rows, columns), sums, strict=True)
    ]
    runs = _with_equal_rows(runs, len(columns))
    store_runs(goal, runs, (tiling.rows, tiling.columns))


def _stage(plan: Plan, rows: int, first: int) -> Stage:
    element, size = plan.gemm.a.element, plan.gemm.a.bytes
    run = 16 // size
    elements = BUFFERS * plan.tiling.depth * (rows + run)
    return Stage(shared(element, elements, first * size), rows, plan.tiling.depth, run)


def _fetch(
    plan: Plan, side: str, source: Source, rows: int, first: Number, thread: Number
) -> Fetch:
    tiling = plan.tiling
    width, inner = plan.gemm.best_width(side)
    along_k = inner == (side == "a")
    while rows * tiling.depth < width * tiling.threads and width > 1:
        width //= 2
    return Fetch(
        source, TileShape(rows, tiling.depth, width, along_k, tiling.threads), first, thread
    )


def _corner(plan: Plan, thread: Number, run: int) -> tuple[Number, Number]:
    """First row and column of a thread in the block's tile."""
    tiling = plan.tiling
    warp, own = integers.divide(thread, 32), integers.remainder(thread, 32)
    warp_m = integers.divide(warp, tiling.warps[1])
    warp_n = integers.remainder(warp, tiling.warps[1])
    lane_m, lane_n = integers.divide(own, LANES[1]), integers.remainder(own, LANES[1])
    return (
        integers.add(
            integers.scale(warp_m, LANES[0] * tiling.thread[0]), integers.scale(lane_m, run)
        ),
        integers.add(
            integers.scale(warp_n, LANES[1] * tiling.thread[1]), integers.scale(lane_n, run)
        ),
    )


def _positions(thread: tuple[int, int], run: int) -> tuple[list[int], list[int]]:
    """Each row of a thread, and the first column of each of its runs, from its corner."""
    rows = [
        chunk * LANES[0] * run + place for chunk in range(thread[0] // run) for place in range(run)
    ]
    return rows, [chunk * LANES[1] * run for chunk in range(thread[1] // run)]


def _fill(
    pairs: Sequence[tuple[Fetch, Stage]], runs: Sequence[list[ir.Value]], buffer: Number
) -> None:
    for (fetch, stage), own in zip(pairs, runs, strict=True):
        put_runs(fetch, own, stage.memory, stage.position(buffer), (1, stage.line))


def _multiply_all(
    plan: Plan,
    pairs: Sequence[tuple[Fetch, Stage]],
    corner: tuple[Number, Number],
    steps: tuple[Number, Number],
) -> list[ir.Value]:
    """The loop over k, but for the last tile, which has no next one to fetch; then that one."""
    tiling = plan.tiling
    run = pairs[0][1].run
    stages = (pairs[0][1], pairs[1][1])
    kind = ir.VectorType.get([run], element_type(plan.gemm.accumulator))
    sums = [semiring.zero(kind)] * (tiling.thread[0] * (tiling.thread[1] // run))
    first, last = steps
    before_last = integers.add(last, -1)
    if first == before_last:
        return _multiply(tiling.thread, stages, corner, 0, sums)

    def one_tile(step: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        following = integers.scale(integers.add(step, 1), tiling.depth)
        runs = [fetch.load(following) for fetch, _ in pairs]
        buffer = _buffer(step, first)
        carried = _multiply(tiling.thread, stages, corner, buffer, carried)
        _fill(pairs, runs, integers.exclusive_or(buffer, 1))
        gpu.BarrierOp()
        return carried

    sums = carried_loop(first, before_last, sums, one_tile)
    return _multiply(tiling.thread, stages, corner, _buffer(before_last, first), sums)


def _buffer(step: Number, first: Number) -> Number:
    return integers.remainder(integers.subtract(step, first), BUFFERS)


def _multiply(
    thread: tuple[int, int],
    stages: tuple[Stage, Stage],
    corner: tuple[Number, Number],
    buffer: Number,
    sums: list[ir.Value],
) -> list[ir.Value]:
    """sums += A tile x B tile, some steps of k at a time."""
    starts = [
        integers.add(stage.position(buffer), place)
        for stage, place in zip(stages, corner, strict=True)
    ]

    def some_steps(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        for k in range(UNROLLED):
            places = [
                integers.total(start, integers.scale(number, UNROLLED * stage.line), k * stage.line)
                for stage, start in zip(stages, starts, strict=True)
            ]
            carried = _outer_product(thread, stages, places, carried)
        return carried

    return carried_loop(0, stages[0].depth // UNROLLED, sums, some_steps)


def _outer_product(
    thread: tuple[int, int],
    stages: tuple[Stage, Stage],
    places: Sequence[Number],
    sums: list[ir.Value],
) -> list[ir.Value]:
    """sums + A[:, k] * B[k, :] for one step of k."""
    run = stages[0].run
    parts = [
        [
            stage.memory.load(integers.add(place, chunk * lanes * run), run)
            for chunk in range(count // run)
        ]
        for stage, place, lanes, count in zip(stages, places, LANES, thread, strict=True)
    ]
    rows = [spread(lane(chunk, place), run) for chunk in parts[0] for place in range(run)]
    return [
        semiring.multiply_add(row, column, total)
        for (row, column), total in zip(product(rows, parts[1]), sums, strict=True)
    ]


def _with_equal_rows(runs: list[Run], per_row: int) -> list[Run]:
    """Runs of one row share the very value of its number, so that it is checked once."""
    return [
        Run(runs[place - place % per_row].row, runs[place % per_row].column, run.values)
        for place, run in enumerate(runs)
    ]
