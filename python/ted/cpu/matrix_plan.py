"""Plan a contraction of pairs of bf16 for registers that hold matrices (AMX).

As in `contraction_plan`, and with its loops; but a tile is 1 to 3 registers of rows by as many of
lanes, and one instruction sums up to 16 pairs, the `depth`: a dim along which the pairs of A are
neighbours. Rows, lanes and pairs that are no multiple of 16 make registers of another shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, prod

from ted.cpu.contraction_plan import (
    BLOCK_BYTES,
    MIN_ROWS_FOR_RELAYOUT,
    REDUCTION_BLOCK,
    Plan,
    cut_reduction,
    packing,
    packing_cycles,
    row_blocks,
    split,
)
from ted.linalg.strided_contractions import Contraction, Dim, classify, swap_inputs
from ted.machine import LINE_BYTES, PAGE_BYTES
from ted.mlir.matrix_registers import SIDE

PAIR_BYTES = 4
# Registers of rows by registers of lanes: their sums, and what is multiplied, are 8 registers.
TILES = ((2, 2), (1, 3), (3, 1), (1, 2), (2, 1), (1, 1))
# To multiply two registers, to read or write one from the first cache, and to say all shapes.
MULTIPLY_CYCLES, LOAD_CYCLES, CONFIGURE_CYCLES = 16.0, 8.0, 100.0


def plan_matrices(dims: tuple[Dim, ...], rows: Sequence[int] = ()) -> Plan | None:
    """The cheapest plan, in which operands of `rows` (0, 1) are A, which fills registers of rows.

    None where the pairs of neither operand are neighbours, or C's lanes.
    """
    orders = [swapped for swapped in (False, True) if int(not swapped) not in rows]
    candidates = [plan for swapped in orders for plan in _plans(dims, swapped=swapped)]
    return min(candidates, key=lambda plan: plan.cycles, default=None)


def deepest(pairs: int) -> int:
    """How many of so many pairs one instruction sums, so that all of them do as many."""
    return next(depth for depth in range(min(pairs, SIDE), 0, -1) if pairs % depth == 0)


def _plans(dims: tuple[Dim, ...], *, swapped: bool) -> Iterator[Plan]:
    contraction = classify(swap_inputs(dims) if swapped else dims)
    depth = next((dim for dim in contraction.reduction if dim.a == 1), None)
    lane_dim = next((dim for dim in contraction.columns if dim.c == 1), None)
    if depth is None or lane_dim is None:
        return
    steps = deepest(depth.extent)
    others = tuple(dim for dim in contraction.reduction if dim is not depth)
    outer = replace(depth, extent=depth.extent // steps, a=steps, b=depth.b * steps)
    apart = replace(contraction, reduction=(*others, outer))
    innermost = replace(contraction, reduction=(*others, depth))
    pack = "none" if _is_spread(lane_dim, depth) else packing(innermost, lane_dim, PAIR_BYTES)
    if pack not in ("none", "copy") and contraction.row_count < MIN_ROWS_FOR_RELAYOUT:
        return
    for row_dim, (rows, vectors) in product(contraction.rows, TILES):
        yield _plan(
            apart, (row_dim, lane_dim, replace(depth, extent=steps)), pack,
            (min(rows * SIDE, row_dim.extent), vectors), swapped=swapped,
        )  # fmt: skip


def _is_spread(lane_dim: Dim, depth: Dim) -> bool:
    """Whether lanes of 16 pairs are whole lines of 16 sets of a cache, and share pages."""
    lines, rest = divmod(depth.b, LINE_BYTES // PAIR_BYTES)
    is_near = depth.b * PAIR_BYTES <= PAGE_BYTES
    return lane_dim.b == 1 and not rest and lines % 2 == 1 and is_near


def _plan(
    contraction: Contraction,
    tiled: tuple[Dim, Dim, Dim],
    pack: str,
    tile: tuple[int, int],
    *,
    swapped: bool,
) -> Plan:
    row_dim, lane_dim, depth = tiled
    blocks, inner, last_block = cut_reduction(
        contraction.reduction, max(1, REDUCTION_BLOCK // depth.extent)
    )
    steps = prod(dim.extent for dim in contraction.reduction)
    outer = contraction.row_count // row_dim.extent
    outer *= contraction.column_count // lane_dim.extent
    extents = row_dim.extent, lane_dim.extent
    cycles = outer * _tile_cycles(extents, tile, steps, 1 + len(blocks))
    packed = contraction.column_count * steps * depth.extent
    cycles += packing_cycles(pack, lane_dim.b, SIDE) * packed
    fitting = BLOCK_BYTES // (prod(d.extent for d in (*inner, depth)) * PAIR_BYTES)
    return Plan(
        swapped=swapped,
        batch=contraction.batch,
        reduction_blocks=blocks,
        row_blocks=row_blocks(contraction, row_dim, tile[0], fitting),
        pack_a="none",
        columns=tuple(dim for dim in contraction.columns if dim is not lane_dim),
        lane_dim=lane_dim,
        pack_b=pack,
        rows=tuple(dim for dim in contraction.rows if dim is not row_dim),
        row_dim=row_dim,
        reduction=inner,
        last_block=last_block,
        tile_rows=tile[0],
        tile_vectors=tile[1],
        lanes=SIDE,
        cycles=cycles * prod(dim.extent for dim in contraction.batch),
        depth=depth,
    )


def _tile_cycles(extents: tuple[int, int], tile: tuple[int, int], steps: int, visits: int) -> float:
    """All tiles of rows and lanes: products, what they read, results; shapes for each panel."""
    cycles = 0.0
    for panels, width in split(extents[1], tile[1] * SIDE):
        for tiles, height in split(extents[0], tile[0]):
            rows, vectors = ceil(height / SIDE), ceil(width / SIDE)
            products, loads = MULTIPLY_CYCLES * rows * vectors, LOAD_CYCLES * (rows + vectors)
            outputs = 2 * LOAD_CYCLES * rows * vectors
            per_tile = steps * (products + loads) + visits * outputs
            cycles += panels * (tiles * per_tile + visits * CONFIGURE_CYCLES)
    return cycles
