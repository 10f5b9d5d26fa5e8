"""The loops around the register tile, as a plan says: batches, blocks, panels, rows.

Before: three pointers and a plan. After: scf loops in this order: batch dims; blocks of the
reduction; blocks of rows (A packed here if at all, used by every panel); column dims; panels of
columns (B packed here, used by every row; before the blocks of rows if there are several); row
dims; row tiles. Extents that no tile divides give one more, smaller tile at the end of each of the
two tiled dims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from math import ceil

from ted.cpu.contraction_plan import Plan, split
from ted.cpu.kernel_memory import STACK_BYTES, on_heap, on_stack
from ted.cpu.matrix_tiles import configure, multiply_matrices
from ted.cpu.microkernel import Lanes, Pointer, Tile, multiply_tile
from ted.cpu.packing import Panel, pack_panel
from ted.cpu.work import bytes_of
from ted.linalg.strided_contractions import Dim, fuse, swap_inputs
from ted.mlir import arith, ir, memref
from ted.mlir.building import Index, add, constant, loop, scale
from ted.mlir.matrix_registers import CONFIGURATION_WORDS, release
from ted.records import dataclass

Body = Callable[[Index, Pointer, Pointer, Pointer], None]


@dataclass(frozen=True)
class Scratch:
    """Memory for packed panels: small ones on the stack of the function, others on the heap."""

    element: ir.Type
    entry: ir.Block | None
    allocated: list[ir.Value] = field(default_factory=list)

    def get(self, size: int) -> Pointer:
        """Room for `size` elements."""
        kind = ir.MemRefType.get([size], self.element)
        if self.entry is not None and bytes_of(kind) <= STACK_BYTES:
            return Pointer(on_stack(kind, self.entry))
        self.allocated.append(on_heap(kind))
        return Pointer(self.allocated[-1])

    def free(self) -> None:
        """Give the heap's part back."""
        for memory in self.allocated:
            memref.DeallocOp(memory)


@dataclass(frozen=True)
class Visit:
    """Where the loops are: the current blocks, and the packed operands if there are any.

    `extent` is that of the outermost reduction dim, where the last block is shorter; `tiles` counts
    the full row tiles of the row block from row `first_row` on, `lower_tiles` (0 or 1) the rest.
    Shapes of registers for matrices are said in `shapes`.
    """

    packed_a: Pointer | None
    packed_b: Pointer | None
    shapes: Pointer | None
    extent: Index | None
    first_row: Index
    tiles: Index
    lower_tiles: Index


@dataclass(frozen=True)
class ContractionLoops:
    """Emits a plan at the insertion point: sums of `element`, products of `factor`."""

    plan: Plan
    element: ir.Type
    factor: ir.Type
    scratch: Scratch
    starts_at_zero: bool

    def emit(self, a: Pointer, b: Pointer, c: Pointer) -> None:
        """All loops for C += A * B."""
        plan = self.plan
        packed_a = self.scratch.get(self._size_of_rows()) if plan.pack_a != "none" else None
        packed_b = self.scratch.get(self._size_of_panels()) if plan.pack_b != "none" else None
        shapes = self.scratch.get(CONFIGURATION_WORDS) if plan.depth is not None else None

        def row_block(number: Index, extent: Index | None) -> Visit:
            return Visit(packed_a, packed_b, shapes, extent, *self._row_block(number))

        def reduction_block(number: Index, a: Pointer, b: Pointer, c: Pointer) -> None:
            extent = self._block_extent(number)
            if self._packs_all_panels:
                self._pack_all_panels(b, row_block(0, extent))
            loop(
                0,
                plan.row_blocks,
                1,
                lambda number: self._row_block_loops(a, b, c, row_block(number, extent)),
            )

        nest((*plan.batch, *plan.reduction_blocks), a, b, c, reduction_block)
        if shapes is not None:
            release()

    def _row_block_loops(self, a: Pointer, b: Pointer, c: Pointer, visit: Visit) -> None:
        """Pack the rows if at all, then take all panels past them."""
        if visit.packed_a is not None:
            self._pack_rows(a, visit)
        nest(self.plan.columns, a, b, c, lambda _, a, b, c: self._columns(a, b, c, visit))

    def _columns(self, a: Pointer, b: Pointer, c: Pointer, visit: Visit) -> None:
        """All panels of columns: full ones, then the last narrower one."""

        def body(column: Index, place: Index, panel: Panel) -> None:
            source = b.advance(column, self.plan.lane_dim.b)
            if visit.packed_b is not None and self._packs_all_panels:
                source = visit.packed_b.advance(place)
            elif visit.packed_b is not None:
                pack_panel(self.plan.pack_b, panel, source, visit.packed_b, visit.extent)
                source = visit.packed_b
            target = c.advance(column, self.plan.lane_dim.c)
            nest(self.plan.rows, a, source, target, rows_of(panel))

        def rows_of(panel: Panel) -> Body:
            return lambda _, a, b, c: self._rows(a, b, c, panel, visit)

        self._each_panel(body)

    def _rows(self, a: Pointer, b: Pointer, c: Pointer, panel: Panel, visit: Visit) -> None:
        """All row tiles of the block against one panel."""
        dim = self.plan.row_dim
        multiply = multiply_tile if visit.shapes is None else multiply_matrices

        def start(rows: Panel) -> None:
            if visit.shapes is not None:
                configure(self._tile(rows, panel, visit), visit.shapes)

        def body(row: Index, place: Index, rows: Panel) -> None:
            source = a.advance(row, dim.a)
            if visit.packed_a is not None:
                source = visit.packed_a.advance(place)
            tile = self._tile(rows, panel, visit)
            multiply(tile, source, b, c.advance(row, dim.c), visit.extent)

        self._each_tile(visit, body, start)

    def _pack_all_panels(self, b: Pointer, visit: Visit) -> None:
        def body(column: Index, place: Index, panel: Panel) -> None:
            assert visit.packed_b is not None, "the plan packs B"
            source, target = b.advance(column, self.plan.lane_dim.b), visit.packed_b.advance(place)
            pack_panel(self.plan.pack_b, panel, source, target, visit.extent)

        self._each_panel(body)

    def _pack_rows(self, a: Pointer, visit: Visit) -> None:
        def body(row: Index, place: Index, rows: Panel) -> None:
            assert visit.packed_a is not None, "the plan packs A"
            source, target = a.advance(row, self.plan.row_dim.a), visit.packed_a.advance(place)
            pack_panel(self.plan.pack_a, rows, source, target, visit.extent)

        self._each_tile(visit, body)

    def _each_panel(self, body: Callable[[Index, Index, Panel], None]) -> None:
        """Call with the first column, the place among packed panels, and the panel's form."""
        first, place = 0, 0
        for count, columns in self._panels():
            panel = self._panel(columns)
            _strips(count, (first, columns), (place, panel.size), panel, body)
            first, place = first + count * columns, place + count * panel.size

    def _each_tile(
        self,
        visit: Visit,
        body: Callable[[Index, Index, Panel], None],
        start: Callable[[Panel], None] = lambda _: None,
    ) -> None:
        """Call with the first row, the place among packed tiles, and the tile's form.

        `start` is called for each form, before the loop over tiles of it.
        """
        full, rest = divmod(self.plan.row_dim.extent, self.plan.tile_rows)
        rows = self._row_panel(self.plan.tile_rows)
        place = self._tiles_per_block() * rows.size
        if full:
            start(rows)
            steps = (visit.first_row, self.plan.tile_rows)
            _strips(visit.tiles, steps, (0, rows.size), rows, body)
        if rest:
            rows = self._row_panel(rest)
            start(rows)
            steps = (full * self.plan.tile_rows, rest)
            _strips(visit.lower_tiles, steps, (place, 0), rows, body)

    def _row_block(self, number: Index) -> tuple[Index, Index, Index]:
        """First row, full tiles and lower tiles of a block; the last one may have fewer."""
        full, rest = divmod(self.plan.row_dim.extent, self.plan.tile_rows)
        if self.plan.row_blocks == 1:
            return 0, full, 1 if rest else 0
        size = self._tiles_per_block()
        first = scale(number, size)
        tiles: Index = size
        if full % size:
            left = arith.SubIOp(constant(full), constant(first)).result
            tiles = arith.MinSIOp(left, constant(size)).result
        last = constant(self.plan.row_blocks - 1)
        is_last = arith.CmpIOp(arith.CmpIPredicate.eq, constant(number), last).result
        lower = arith.SelectOp(is_last, constant(1), constant(0)).result if rest else 0
        return scale(first, self.plan.tile_rows), tiles, lower

    def _block_extent(self, number: Index) -> Index | None:
        """Extent of the outermost inner reduction dim, where the last block is shorter."""
        plan = self.plan
        if not plan.last_block:
            return None
        last = constant(plan.reduction_blocks[-1].extent - 1)
        is_last = arith.CmpIOp(arith.CmpIPredicate.eq, constant(number), last).result
        full = constant(plan.reduction[0].extent)
        return arith.SelectOp(is_last, constant(plan.last_block), full).result

    def _tile(self, rows: Panel, panel: Panel, visit: Visit) -> Tile:
        """The register tile with the strides of the memory that it will read."""
        plan, reduction, rows_a = self.plan, self.plan.all_reduction, self.plan.row_dim.a
        if visit.packed_b is not None:
            reduction = panel.packed_reduction
        if visit.packed_a is not None:
            dense = rows.packed_reduction
            reduction = tuple(
                replace(dim, a=packed_dim.b)
                for dim, packed_dim in zip(reduction, dense, strict=True)
            )
            rows_a = 1
        pairs = None
        if plan.depth is not None:
            *outer, pairs = reduction
            reduction = tuple(outer)
        if visit.extent is None:
            reduction = fuse(reduction)
        return Tile(
            rows.lanes.count, replace(panel.lanes, element=self.element), rows_a,
            plan.row_dim.c, plan.lane_dim.c, reduction, self.starts_at_zero, self.factor,
            self.plan.chain, pairs,
        )  # fmt: skip

    @property
    def _packs_all_panels(self) -> bool:
        """Whether the panels are packed together, because several row blocks read them."""
        return self.plan.pack_b != "none" and self.plan.row_blocks > 1

    def _panels(self) -> tuple[tuple[int, int], ...]:
        return split(self.plan.lane_dim.extent, self.plan.tile_vectors * self.plan.lanes)

    def _panel(self, columns: int) -> Panel:
        lanes = Lanes(columns, self.plan.lanes, self.factor)
        return Panel(lanes, self.plan.lane_dim.b, self.plan.all_reduction)

    def _row_panel(self, rows: int) -> Panel:
        """A row tile of A, packed like a panel of B, with no more padding than to a power of 2."""
        width = min(self.plan.lanes, max(4, 1 << (rows - 1).bit_length()))
        lanes = Lanes(rows, width, self.factor)
        return Panel(lanes, self.plan.row_dim.a, swap_inputs(self.plan.reduction))

    def _tiles_per_block(self) -> int:
        return ceil(self.plan.row_dim.extent // self.plan.tile_rows / self.plan.row_blocks)

    def _size_of_rows(self) -> int:
        tile_rows, rest = self.plan.tile_rows, self.plan.row_dim.extent % self.plan.tile_rows
        size = self._tiles_per_block() * self._row_panel(tile_rows).size
        return size + (self._row_panel(rest).size if rest else 0)

    def _size_of_panels(self) -> int:
        sizes = [(count, self._panel(columns).size) for count, columns in self._panels()]
        if self._packs_all_panels:
            return sum(count * size for count, size in sizes)
        return max(size for _, size in sizes)


def _strips(
    count: Index,
    steps: tuple[Index, int],
    places: tuple[int, int],
    panel: Panel,
    body: Callable[[Index, Index, Panel], None],
) -> None:
    """Strip `number` starts at steps[0] + number * steps[1]; its packed copy likewise in places."""

    def strip(number: Index) -> None:
        at = add(scale(number, steps[1]), steps[0])
        body(at, add(scale(number, places[1]), places[0]), panel)

    loop(0, count, 1, strip)


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
