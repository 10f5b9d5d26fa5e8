"""Lay a panel of B out anew: for every reduction step its lanes side by side, dense and padded.

Before: `B[k, n]` with any strides, read once per row tile. After: `panel[k][lane]`, one contiguous
run that stays in the nearest caches while all rows of A go by. Lanes that do not exist are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.cpu.microkernel import Lanes, Pointer, extents_of
from ted.linalg.strided_contractions import Dim
from ted.mlir import arith, ir, vector
from ted.mlir.building import Index, constant, loop
from ted.records import dataclass


@dataclass(frozen=True)
class Panel:
    """What to pack: the lanes, `lane_b` apart in B, for all steps of the reduction dims."""

    lanes: Lanes
    lane_b: int
    reduction: tuple[Dim, ...]

    @property
    def row(self) -> int:
        """Elements of one reduction step in the panel."""
        return len(self.lanes.starts) * self.lanes.width

    @property
    def packed_reduction(self) -> tuple[Dim, ...]:
        """The reduction dims with the strides of the panel in place of those of B."""
        dims: list[Dim] = []
        stride = self.row
        for dim in reversed(self.reduction):
            dims.insert(0, replace(dim, b=stride))
            stride *= dim.extent
        return tuple(dims)

    @property
    def size(self) -> int:
        """Elements to allocate; a transposing pack may write some rows past the end."""
        first = self.packed_reduction[0]
        return first.b * first.extent + self.row * self.lanes.width


def pack_panel(
    kind: str, panel: Panel, b: Pointer, target: Pointer, first_extent: Index | None = None
) -> None:
    """Emit the copy; `first_extent` replaces the extent of the outermost reduction dim."""
    extents = extents_of(panel.reduction, first_extent)
    pairs = tuple(zip(panel.reduction, panel.packed_reduction, strict=True))

    def nest(depth: int, source: Pointer, packed: Pointer) -> None:
        if kind == "transpose" and depth == len(pairs) - 1:
            _transpose_run(panel, extents[depth], source, packed)
            return
        if depth == len(pairs):
            for start in panel.lanes.starts:
                value = panel.lanes.load(source, start, panel.lane_b)
                _whole(panel.lanes).store(value, packed, start)
            return
        dim, dense = pairs[depth]
        loop(
            0,
            extents[depth],
            1,
            lambda k: nest(depth + 1, source.advance(k, dim.b), packed.advance(k, dense.b)),
        )

    nest(0, b, target)


def transpose_square(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Transpose n registers of n lanes in log2(n) rounds of two-register shuffles.

    Round d exchanges the off-diagonal blocks of d x d elements. Source: J. Eklundh, A fast computer
    method for matrix transposing, IEEE Trans. Computers 1972.
    """
    registers = list(rows)
    width = len(registers)
    distance = 1
    while distance < width:
        low = [lane if not lane & distance else lane - distance + width for lane in range(width)]
        high = [lane + distance if not lane & distance else lane + width for lane in range(width)]
        for row in range(width):
            if not row & distance:
                upper, lower = registers[row], registers[row + distance]
                registers[row] = vector.ShuffleOp(upper, lower, low).result
                registers[row + distance] = vector.ShuffleOp(upper, lower, high).result
        distance *= 2
    return registers


def _whole(lanes: Lanes) -> Lanes:
    return replace(lanes, count=len(lanes.starts) * lanes.width)


def _transpose_run(panel: Panel, extent: Index, source: Pointer, packed: Pointer) -> None:
    """Pack the innermost dim, contiguous in B, in squares of width x width elements."""
    width = panel.lanes.width

    def squares(rows: int, start: Index) -> None:
        block, goal = source.advance(start, panel.lane_b), packed.advance(start)
        loop(0, extent, width, lambda k: _square(panel, rows, block, goal, k, extent))

    whole = panel.lanes.count - panel.lanes.count % width
    loop(0, whole, width, lambda start: squares(width, start))
    if panel.lanes.count > whole:
        squares(panel.lanes.count - whole, whole)


def _square(
    panel: Panel, rows: int, source: Pointer, packed: Pointer, k: Index, extent: Index
) -> None:
    """One square: row i of it is lane i of B, from step k on; past `extent` it reads zeros.

    What it writes past the extent is either written again by the next run or padding.
    """
    width, dense = panel.lanes.width, panel.row
    full = Lanes(width, width, panel.lanes.element)
    ragged = not isinstance(extent, int) or extent % width != 0
    mask = _remaining_mask(width, k, extent) if ragged else None
    source = source.advance(k)
    registers = [full.zero()] * width
    for row in range(rows):
        at = source.advance(row, panel.lane_b)
        registers[row] = full.load(at, 0) if mask is None else full.load_masked(at, mask)
    for step, register in enumerate(transpose_square(registers)):
        full.store(register, packed.advance(k, dense).advance(step, dense), 0)


def _remaining_mask(width: int, k: Index, extent: Index) -> ir.Value:
    mask_type = ir.VectorType.get([width], ir.IntegerType.get_signless(1))
    if isinstance(k, int) and isinstance(extent, int):
        return vector.ConstantMaskOp(mask_type, [extent - k]).result
    left = arith.SubIOp(constant(extent), constant(k)).result
    return vector.CreateMaskOp(mask_type, [left]).result
