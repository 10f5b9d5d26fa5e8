"""Choose the register tile, the packing and the loop order of a contraction by counting cycles.

The model is one row of numbers for any recent vector CPU: two vector loads and two fused
multiply-adds per cycle, latency four. Only the ranking of candidates has to be right. Candidates
are all (which input is B, which column dim fills the lanes, which row dim fills the tile, tile
shape); every quantity is a static integer, so the choice is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil, gcd, prod

from ted.cpu.interleaving import is_interleaved
from ted.linalg.strided_contractions import Contraction, Dim, classify, swap_inputs
from ted.machine import Cpu
from ted.records import dataclass

NO_DIM = Dim(1, 0, 0, 0)
# Summed products that one visit of an output tile handles; longer reductions are cut.
REDUCTION_BLOCK = 1152
# Of these, how many a sum takes one after another: its error grows with them (`blocked_sums`).
REDUCTION_CHAIN = 256
# Cycles to pack one element of B, by how it is read; rows must be many enough to pay for it.
PACK_CYCLES = {"none": 0.0, "copy": 0.2, "deinterleave": 0.2, "transpose": 0.5, "gather": 1.5}
# To read and shuffle, or shuffle and store, one register of those between lanes a few apart.
INTERLEAVING_CYCLES = 2.0
SCATTER_CYCLES = 4.0  # to write one element by itself
MIN_ROWS_FOR_RELAYOUT = 4
# From this distance between the rows of B (bytes), pages and cache sets run out before bytes do.
FAR_APART_BYTES = 512
MIN_ROWS_FOR_COPY = 48
FAR_ROWS_OF_A_BYTES = 4096
MIN_COLUMNS_FOR_COPY = 512
# More registers of B per row save no loads and make panels outgrow the caches; but few rows need
# them to hide the latency.
MOST_VECTORS = 4
# What a load costs beside arithmetic that hides it: not all come from the first cache.
LOAD_CYCLES = 0.05
# What a block of rows of A may fill of the second cache, and one of C that is written row by row.
BLOCK_BYTES, STREAMED_BLOCK_BYTES = 1 << 19, 1 << 16
# Cycles to read and write one register of C; more where each row of the tile is on its own page.
OUTPUT_CYCLES, FAR_OUTPUT_CYCLES, FAR_ROWS_BYTES = 2.0, 8.0, 2048


@dataclass(frozen=True)
class Plan:
    """Everything that `register_tiles` needs: loop order is the order of the fields."""

    swapped: bool
    batch: tuple[Dim, ...]
    reduction_blocks: tuple[Dim, ...]
    row_blocks: int
    pack_a: str
    columns: tuple[Dim, ...]
    lane_dim: Dim
    pack_b: str
    rows: tuple[Dim, ...]
    row_dim: Dim
    reduction: tuple[Dim, ...]
    last_block: int
    tile_rows: int
    tile_vectors: int
    lanes: int
    cycles: float
    depth: Dim | None = None

    @property
    def all_reduction(self) -> tuple[Dim, ...]:
        """The summed dims of a block, with that of which an instruction sums several steps."""
        return self.reduction if self.depth is None else (*self.reduction, self.depth)

    @property
    def fills_row_blocks(self) -> bool:
        """Whether blocks of as many tiles as the first leave some to the last one."""
        tiles = self.row_dim.extent // self.tile_rows
        return self.row_blocks == 1 or blocks_used(tiles, self.row_blocks) == self.row_blocks

    @property
    def single_block(self) -> bool:
        """Whether each output tile is visited once, so that it can start at zero."""
        return not self.reduction_blocks

    @property
    def chain(self) -> int:
        """How many terms a sum takes one after another; as many chains make a very long one."""
        steps = prod(dim.extent for dim in (*self.reduction_blocks, *self.reduction))
        return max(REDUCTION_CHAIN, steps // REDUCTION_CHAIN)


def plan_contraction(dims: tuple[Dim, ...], element_bytes: int, cpu: Cpu) -> Plan | None:
    """The cheapest plan, or None when scalar loops and the loop vectoriser do as well.

    None for: no column dim (a dot product, an element-wise product), or an operand that has to be
    laid out anew for fewer than `MIN_ROWS_FOR_RELAYOUT` uses (a matrix times one vector). Of equal
    ones it is the one whose rows of A are nearest, as they share lines of the first cache.
    """
    candidates = [
        plan
        for swapped in (False, True)
        for plan in _plans(dims, swapped=swapped, element_bytes=element_bytes, cpu=cpu)
    ]
    return min(candidates, key=lambda plan: (plan.cycles, abs(plan.row_dim.a)), default=None)


def _plans(dims: tuple[Dim, ...], *, swapped: bool, element_bytes: int, cpu: Cpu) -> Iterator[Plan]:
    contraction = classify(swap_inputs(dims) if swapped else dims)
    if not contraction.reduction:
        return
    for lane_dim, row_dim in product(contraction.columns, contraction.rows or (NO_DIM,)):
        apart = _without_shared_rows(contraction, row_dim, min(row_dim.extent, cpu.registers))
        pack = packing(apart, lane_dim, element_bytes)
        if pack in ("none", "copy") or contraction.row_count >= MIN_ROWS_FOR_RELAYOUT:
            yield _plan(apart, (row_dim, lane_dim), pack, element_bytes, cpu, swapped=swapped)


def _plan(
    contraction: Contraction,
    tiled: tuple[Dim, Dim],
    pack: str,
    element_bytes: int,
    cpu: Cpu,
    *,
    swapped: bool,
) -> Plan:
    """The plan with a tile of two dims, rows and lanes, of which B is packed in this way."""
    row_dim, lane_dim = tiled
    lanes = cpu.lanes(element_bytes)
    blocks, inner, last_block = cut_reduction(contraction.reduction, REDUCTION_BLOCK)
    work, scattered = _outputs(contraction, tiled, 1 + len(blocks), element_bytes, lanes)
    tile_rows, tile_vectors, tile_cycles = _best_tile(
        (row_dim.extent, lane_dim.extent), (lanes, cpu.registers), work
    )
    if streams(contraction, row_dim, element_bytes, cpu):
        row = contraction.column_count * element_bytes
        fitting = max(tile_rows, STREAMED_BLOCK_BYTES // row)
    else:
        fitting = BLOCK_BYTES // (prod(dim.extent for dim in inner) * element_bytes)
    outer = contraction.row_count // row_dim.extent
    outer *= contraction.column_count // lane_dim.extent
    per_packed = packing_cycles(pack, lane_dim.b, lanes)
    return Plan(
        swapped=swapped,
        batch=contraction.batch,
        reduction_blocks=blocks,
        row_blocks=row_blocks(contraction, row_dim, tile_rows, fitting),
        pack_a=_row_packing(contraction, row_dim, element_bytes),
        columns=tuple(dim for dim in contraction.columns if dim is not lane_dim),
        lane_dim=lane_dim,
        pack_b=pack,
        rows=tuple(dim for dim in contraction.rows if dim is not row_dim),
        row_dim=row_dim,
        reduction=inner,
        last_block=last_block,
        tile_rows=tile_rows,
        tile_vectors=tile_vectors,
        lanes=lanes,
        cycles=_cycles(contraction, outer * tile_cycles, per_packed, scattered),
    )


def _outputs(
    contraction: Contraction, tiled: tuple[Dim, Dim], visits: int, element_bytes: int, lanes: int
) -> tuple[Work, float]:
    """What a tile does, and cycles for each result that is written by itself, in all visits."""
    row_dim, lane_dim = tiled
    turned = is_turned(row_dim.c, lane_dim.c)
    far = (lane_dim if turned else row_dim).c * element_bytes >= FAR_ROWS_BYTES
    per_output = FAR_OUTPUT_CYCLES if far else OUTPUT_CYCLES
    steps = contraction.reduction_count
    if turned:
        return Work(steps, per_output, turned_cycles(lanes, per_output) * visits), 0.0
    return Work(steps, per_output), _scatter_cycles(lane_dim.c, lanes) * visits


def _without_shared_rows(contraction: Contraction, row_dim: Dim, rows: int) -> Contraction:
    """The same with a window that moves along the rows outermost: steps share no elements of A.

    LLVM would keep what several steps read in registers, which a tile of so many rows needs.
    """
    *outer, last = contraction.reduction
    if not row_dim.a or not last.a:
        return contraction
    steps = abs(row_dim.a) // gcd(row_dim.a, last.a)  # that are as far as some rows
    if steps >= last.extent or steps * abs(last.a) >= rows * abs(row_dim.a):
        return contraction
    return replace(contraction, reduction=(last, *outer))


def cut_reduction(
    dims: tuple[Dim, ...], limit: int
) -> tuple[tuple[Dim, ...], tuple[Dim, ...], int]:
    """Split reduction dims into block loops outside the tile and at most `limit` steps inside.

    The cut falls inside one dim: its blocks are of equal size (a multiple of 4 where that leaves
    several), the last one shorter. Returns the block dims, the inner dims and the extent of the
    last block, 0 if equal.
    """
    total = prod(dim.extent for dim in dims)
    if total <= 2 * limit:
        return (), dims, 0
    inner: list[Dim] = []
    steps = 1
    rest = list(dims)
    while rest and steps * rest[-1].extent <= limit:
        inner.insert(0, rest.pop())
        steps *= inner[0].extent
    if not rest or limit // steps < 2:
        return tuple(rest), tuple(inner), 0
    dim = rest.pop()
    count = ceil(dim.extent / (limit // steps))
    size = ceil(dim.extent / count)
    rounded = ceil(size / 4) * 4
    size = size if dim.extent % size == 0 or rounded >= dim.extent else rounded
    blocks = Dim(ceil(dim.extent / size), dim.a * size, dim.b * size, 0, True)
    inner.insert(0, Dim(size, dim.a, dim.b, 0, True))
    outer = (*rest, blocks) if blocks.extent > 1 else tuple(rest)
    return outer, tuple(inner), dim.extent % size


def packing(contraction: Contraction, lane_dim: Dim, element_bytes: int) -> str:
    """How B gets its lanes next to each other: by which row of `PACK_CYCLES`."""
    if lane_dim.b == 1:
        far = contraction.reduction[-1].b * element_bytes >= FAR_APART_BYTES
        used_often = contraction.row_count >= MIN_ROWS_FOR_COPY
        return "copy" if far and used_often else "none"
    if is_interleaved(lane_dim.b):
        return "deinterleave"
    if contraction.reduction[-1].b == 1 and contraction.reduction[-1].extent >= 4:
        return "transpose"
    return "gather"


def streams(contraction: Contraction, row_dim: Dim, element_bytes: int, cpu: Cpu) -> bool:
    """Whether C is better written row after row: B is small, and C is not.

    Rows on pages of their own are not prefetched, and a panel would come back to each of them.
    """
    row = contraction.column_count * element_bytes
    return (
        contraction.row_count * row > 4 * cpu.first_cache.size
        and 4 * contraction.reduction_count * row <= cpu.second_cache.size
        and row_dim.c * element_bytes >= FAR_ROWS_BYTES
        and not contraction.batch
    )


def row_blocks(contraction: Contraction, row_dim: Dim, tile_rows: int, fitting: int) -> int:
    """Into how many blocks of fitting rows they are cut, so that all panels read each from near."""
    tiles, most = row_dim.extent // tile_rows, fitting // tile_rows
    alone = len(contraction.rows) == 1 and len(contraction.columns) == 1
    if not alone or tiles <= 2 * most or not most:
        return 1
    return blocks_used(tiles, ceil(tiles / most))


def blocks_used(tiles: int, blocks: int) -> int:
    """How many blocks there are where each but the last has as many tiles as the largest."""
    return ceil(tiles / max(1, ceil(tiles / blocks)))


def _row_packing(contraction: Contraction, row_dim: Dim, element_bytes: int) -> str:
    """How A is packed: only where the tile reads from many pages at once, for many columns."""
    inner = contraction.reduction[-1]
    far = max(row_dim.a, inner.a) * element_bytes >= FAR_ROWS_OF_A_BYTES
    if not far or len(contraction.rows) != 1 or contraction.column_count < MIN_COLUMNS_FOR_COPY:
        return "none"
    if row_dim.a == 1:
        return "copy"
    return "transpose" if inner.a == 1 else "none"


@dataclass(frozen=True)
class Work:
    """Products that one output sums, cycles for an output register, and to turn a square of them.

    `to_turn` is 0 where rows of the tile are written as they are.
    """

    steps: int
    per_output: float
    to_turn: float = 0.0


def is_turned(rows_c: int, lanes_c: int) -> bool:
    """Whether a tile is turned round before it is written: its rows are neighbours in memory."""
    return rows_c == 1 and lanes_c != 1 and not is_interleaved(lanes_c)


def turned_cycles(lanes: int, per_output: float) -> float:
    """To turn a square of registers, which takes rounds of shuffles, and to write it."""
    return lanes * (lanes.bit_length() - 1 + per_output)


def _best_tile(
    extents: tuple[int, int], registers: tuple[int, int], work: Work
) -> tuple[int, int, float]:
    """Tile (rows, vectors) with the fewest cycles for all outputs of (rows, columns).

    `registers` is (lanes, count).
    """
    rows, vectors = extents[0], ceil(extents[1] / registers[0])
    best = (1, 1, float("inf"))
    widest = MOST_VECTORS if rows >= MOST_VECTORS else 2 * MOST_VECTORS
    for tile_vectors in range(1, min(vectors, widest) + 1):
        most_rows = min(rows, (registers[1] - 1 - tile_vectors) // tile_vectors)
        for tile_rows in range(1, most_rows + 1):
            cycles = sum(
                row_tiles * vector_tiles * _tile_cycles(height, width, registers[0], work)
                for row_tiles, height in split(rows, tile_rows)
                for vector_tiles, width in split(vectors, tile_vectors)
            )
            if cycles < best[2] * 0.999:
                best = (tile_rows, tile_vectors, cycles)
    return best


def split(extent: int, size: int) -> tuple[tuple[int, int], ...]:
    """(how many, how big): the full tiles of an extent, then its smaller last one, if any."""
    parts = ((extent // size, size), (1, extent % size))
    return tuple((count, part) for count, part in parts if count and part)


def _tile_cycles(rows: int, vectors: int, lanes: int, work: Work) -> float:
    """Per step: multiply-adds, loads, or latency; per tile: read, write and start the outputs."""
    loads = rows + vectors
    per_step = max(rows * vectors / 2, loads / 2, 4.0) + 0.25 + LOAD_CYCLES * loads
    if work.to_turn:
        outputs = work.to_turn * vectors * ceil(rows / lanes)
    else:
        outputs = work.per_output * rows * vectors
    return work.steps * per_step + outputs + 10


def _cycles(contraction: Contraction, tiles: float, per_packed: float, per_result: float) -> float:
    """All register tiles, the packing of B and the writes that are no whole registers."""
    batch = prod(dim.extent for dim in contraction.batch)
    columns = contraction.column_count
    packing = per_packed * columns * contraction.reduction_count
    scattered = per_result * contraction.row_count * columns
    return batch * (tiles + packing + scattered)


def packing_cycles(pack: str, stride: int, lanes: int) -> float:
    """To pack one element of B."""
    apart = stride - 1 if pack == "deinterleave" else 0
    return PACK_CYCLES[pack] + INTERLEAVING_CYCLES * apart / lanes


def _scatter_cycles(stride: int, lanes: int) -> float:
    """To write one element of lanes that lie `stride` apart, beside the register tile."""
    if stride == 1:
        return 0.0
    if is_interleaved(stride):
        return INTERLEAVING_CYCLES * stride / lanes
    return SCATTER_CYCLES
