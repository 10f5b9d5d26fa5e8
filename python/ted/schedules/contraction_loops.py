"""The loops around the register tile, as a plan says: batches, blocks, panels, rows.

Before: three pointers and a plan. After: scf loops in this order: batch dims; blocks of the
reduction (A packed here if at all, used by every panel); column dims; panels of columns (B packed
here, used by every row); row dims; row tiles. Extents that no tile divides give one more, smaller
tile at the end of each of the two tiled dims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ted.mlir import arith, ir, memref
from ted.schedules.contraction_plan import Plan, split
from ted.schedules.emit import Index, add, constant, loop, scale
from ted.schedules.linalg_contraction import ELEMENT_BYTES
from ted.schedules.microkernel import Lanes, Pointer, Tile, multiply_tile
from ted.schedules.packing import Panel, pack_panel
from ted.schedules.strided_contraction import Dim, fuse, swap_inputs

# Scratch of at most this size lies on the stack: no allocation in a small product.
STACK_BYTES = 32768
Body = Callable[[Index, Pointer, Pointer, Pointer], None]


@dataclass(frozen=True)
class Scratch:
    """Memory for packed panels: small ones on the stack of the function, others on the heap."""

    element: ir.Type
    entry: ir.Block
    allocated: list[ir.Value] = field(default_factory=list)

    def get(self, size: int) -> Pointer:
        """Room for `size` elements."""
        kind = ir.MemRefType.get([size], self.element)
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
        if size * ELEMENT_BYTES[str(self.element)] <= STACK_BYTES:
            # At the entry of the function a stack buffer exists once, not once per iteration.
            with ir.InsertionPoint.at_block_begin(self.entry):
                return Pointer(memref.AllocaOp(kind, [], [], alignment=alignment).result)
        self.allocated.append(memref.AllocOp(kind, [], [], alignment=alignment).result)
        return Pointer(self.allocated[-1])

    def free(self) -> None:
        """Give the heap's part back."""
        for memory in self.allocated:
            memref.DeallocOp(memory)


@dataclass(frozen=True)
class Packed:
    """Where the packed panels of an operand lie; `extent`: of the current reduction block."""

    a: Pointer | None
    b: Pointer | None
    extent: Index | None = None


@dataclass(frozen=True)
class ContractionLoops:
    """Emits a plan at the insertion point."""

    plan: Plan
    element: ir.Type
    scratch: Scratch
    starts_at_zero: bool

    def emit(self, a: Pointer, b: Pointer, c: Pointer) -> None:
        """All loops for C += A * B."""
        plan = self.plan
        packed_a = self.scratch.get(self._tiles_size()) if plan.pack_a != "none" else None
        packed_b = None
        if plan.pack_b != "none":
            packed_b = self.scratch.get(max(self._panel(n).size for _, n in self._panels()))

        def block(index: Index, a: Pointer, b: Pointer, c: Pointer) -> None:
            packed = Packed(packed_a, packed_b, self._block_extent(index))
            self._pack_rows(a, packed)
            nest(plan.columns, a, b, c, lambda _, a, b, c: self._columns(a, b, c, packed))

        nest((*plan.batch, *plan.reduction_blocks), a, b, c, block)

    def _block_extent(self, block: Index) -> Index | None:
        """Extent of the outermost inner reduction dim, where the last block is shorter."""
        plan = self.plan
        if not plan.last_block:
            return None
        last = constant(plan.reduction_blocks[-1].extent - 1)
        is_last = arith.CmpIOp(arith.CmpIPredicate.eq, constant(block), last).result
        full = constant(plan.reduction[0].extent)
        return arith.SelectOp(is_last, constant(plan.last_block), full).result

    def _columns(self, a: Pointer, b: Pointer, c: Pointer, packed: Packed) -> None:
        """Full panels of columns, then the last narrower one."""
        lane, first = self.plan.lane_dim, 0
        for count, size in self._panels():

            def body(number: Index, panel: Panel = self._panel(size), at: int = first) -> None:
                column = add(scale(number, panel.lanes.count), at)
                source = b.advance(column, lane.b)
                if packed.b is not None:
                    pack_panel(self.plan.pack_b, panel, source, packed.b, packed.extent)
                    source = packed.b
                self._rows(a, source, c.advance(column, lane.c), panel, packed)

            loop(0, count, 1, body)
            first += count * size

    def _rows(self, a: Pointer, b: Pointer, c: Pointer, panel: Panel, packed: Packed) -> None:
        """All row tiles against one panel: full ones, then the last lower one."""
        dim = self.plan.row_dim

        def tiles(_: Index, a: Pointer, b: Pointer, c: Pointer) -> None:
            first, packed_at = 0, 0
            for count, size in split(dim.extent, self.plan.tile_rows):
                rows = self._row_panel(size)
                tile = self._tile(rows, panel, packed)

                def body(
                    number: Index,
                    at: int = first,
                    packed_at: int = packed_at,
                    tile: Tile = tile,
                    rows: Panel = rows,
                ) -> None:
                    row = add(scale(number, tile.rows), at)
                    source = a.advance(row, dim.a)
                    if packed.a is not None:
                        source = packed.a.advance(packed_at).advance(number, rows.size)
                    multiply_tile(tile, source, b, c.advance(row, dim.c), packed.extent)

                loop(0, count, 1, body)
                first, packed_at = first + count * size, packed_at + count * rows.size

        nest(self.plan.rows, a, b, c, tiles)

    def _tile(self, rows: Panel, panel: Panel, packed: Packed) -> Tile:
        """The register tile with the strides of the memory that it will read."""
        plan, reduction, rows_a = self.plan, self.plan.reduction, self.plan.row_dim.a
        if packed.b is not None:
            reduction = panel.packed_reduction
        if packed.a is not None:
            dense = rows.packed_reduction
            reduction = tuple(
                Dim(dim.extent, packed_dim.b, dim.b, 0, True)
                for dim, packed_dim in zip(reduction, dense, strict=True)
            )
            rows_a = 1
        if packed.extent is None:
            reduction = fuse(reduction)
        return Tile(
            rows.lanes.count, panel.lanes, rows_a, plan.row_dim.c, plan.lane_dim.c,
            reduction, self.starts_at_zero,
        )  # fmt: skip

    def _pack_rows(self, a: Pointer, packed: Packed) -> None:
        """Pack all row tiles of A for the current reduction block."""
        if packed.a is None:
            return
        first, packed_at = 0, 0
        for count, size in split(self.plan.row_dim.extent, self.plan.tile_rows):
            rows = self._row_panel(size)

            def body(
                number: Index,
                at: int = first,
                packed_at: int = packed_at,
                rows: Panel = rows,
                goal: Pointer = packed.a,
            ) -> None:
                row = add(scale(number, rows.lanes.count), at)
                source = a.advance(row, self.plan.row_dim.a)
                target = goal.advance(packed_at).advance(number, rows.size)
                pack_panel(self.plan.pack_a, rows, source, target, packed.extent)

            loop(0, count, 1, body)
            first, packed_at = first + count * size, packed_at + count * rows.size

    def _panels(self) -> tuple[tuple[int, int], ...]:
        return split(self.plan.lane_dim.extent, self.plan.tile_vectors * self.plan.lanes)

    def _panel(self, columns: int) -> Panel:
        lanes = Lanes(columns, self.plan.lanes, self.element)
        return Panel(lanes, self.plan.lane_dim.b, self.plan.reduction)

    def _row_panel(self, rows: int) -> Panel:
        """A row tile of A, packed like a panel of B."""
        lanes = Lanes(rows, self.plan.lanes, self.element)
        return Panel(lanes, self.plan.row_dim.a, swap_inputs(self.plan.reduction))

    def _tiles_size(self) -> int:
        parts = split(self.plan.row_dim.extent, self.plan.tile_rows)
        return sum(count * self._row_panel(size).size for count, size in parts)


def nest(
    dims: tuple[Dim, ...], a: Pointer, b: Pointer, c: Pointer, body: Body, index: Index = 0
) -> None:
    """Loops over dims; the body gets the innermost index and the three pointers moved there."""
    if not dims:
        body(index, a, b, c)
        return
    dim, rest = dims[0], dims[1:]

    def step(i: Index) -> None:
        nest(rest, a.advance(i, dim.a), b.advance(i, dim.b), c.advance(i, dim.c), body, i)

    loop(0, dim.extent, 1, step)
