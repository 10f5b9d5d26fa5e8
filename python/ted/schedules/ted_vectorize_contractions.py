"""`ted-vectorize-contractions`: marked contractions on memrefs -> loops around register tiles.

Before: `linalg.generic {ted.contraction} ins(%A, %B : memref, memref) outs(%C : memref)`.
After: scf loops over batches, reduction blocks, panels of B (packed when that pays), rows; inside,
`vector.fma` on accumulators in registers (microkernel.py). Contractions without a plan
(`plan_contraction` says which) stay as they are, for scalar loops and the loop vectoriser.

It runs on memrefs and not on tensors because the plan depends on where elements lie: only after
bufferization is it known that a destination is a strided slice of something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ted.mlir import arith, ir, memref
from ted.schedules.contraction_plan import Plan, plan_contraction, split
from ted.schedules.emit import Index, constant, loop
from ted.schedules.linalg_contraction import (
    ELEMENT_BYTES,
    MARK,
    LinalgContraction,
    producer,
    recognise,
)
from ted.schedules.microkernel import Lanes, Pointer, Tile, multiply_tile
from ted.schedules.packing import Panel, pack_panel
from ted.schedules.strided_contraction import Dim
from ted.schedules.vector_target import TARGETS, host_target

# A packed panel of at most this size lies on the stack: no allocation in a small product.
STACK_BYTES = 32768
_VIEWS = {
    "memref.subview",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.expand_shape",
    "memref.collapse_shape",
}


@dataclass(frozen=True)
class TedVectorizeContractions:
    """The pass. `target` is a row of `vector_target.TARGETS`, empty for the host's."""

    target: str = ""

    def run(self, module: ir.Module) -> None:
        """Rewrite every marked contraction that has a plan."""
        target = TARGETS[self.target] if self.target else host_target()
        for op in _marked(module.operation):
            contraction = recognise(op)
            strided = contraction.strided() if contraction else None
            if contraction is None or strided is None:
                continue
            element_bytes = ELEMENT_BYTES[str(contraction.element)]
            plan = plan_contraction(strided[0], element_bytes, target)
            if plan is not None:
                with ir.InsertionPoint(op), op.location:
                    _rewrite(op, contraction, plan, strided[1])


def _marked(root: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic" and MARK in op.attributes:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _rewrite(
    op: ir.Operation, contraction: LinalgContraction, plan: Plan, offsets: tuple[int, ...]
) -> None:
    fill = _fill_before(op) if plan.single_block else None
    a, b, c = (
        _flat(value).advance(offset)
        for value, offset in zip(contraction.values, offsets, strict=True)
    )
    if plan.swapped:
        a, b = b, a
    _Emitter(plan, contraction.element, fill is not None, _entry_block(op)).run(a, b, c)
    op.erase()
    if fill is not None:
        fill.erase()


@dataclass(frozen=True)
class _Emitter:
    """Loop order: batch, reduction blocks, columns, panels, rows, row tiles, tile."""

    plan: Plan
    element: ir.Type
    starts_at_zero: bool
    entry: ir.Block

    def run(self, a: Pointer, b: Pointer, c: Pointer) -> None:
        if self.plan.pack == "none":
            self._batches(a, b, c, None)
            return
        widest = max(size for _, size in self._panel_sizes())
        size = self._panel(widest).size
        scratch_type = ir.MemRefType.get([size], self.element)
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64)
        if size * ELEMENT_BYTES[str(self.element)] <= STACK_BYTES:
            with ir.InsertionPoint.at_block_begin(self.entry):
                scratch = memref.AllocaOp(scratch_type, [], [], alignment=alignment).result
            self._batches(a, b, c, Pointer(scratch))
            return
        scratch = memref.AllocOp(scratch_type, [], [], alignment=alignment).result
        self._batches(a, b, c, Pointer(scratch))
        memref.DeallocOp(scratch)

    def _batches(self, a: Pointer, b: Pointer, c: Pointer, scratch: Pointer | None) -> None:
        def block(index: Index, a: Pointer, b: Pointer, c: Pointer) -> None:
            extent = self._block_extent(index)
            nest(
                self.plan.columns,
                a,
                b,
                c,
                lambda _, a, b, c: self._panels(a, b, c, scratch, extent),
            )

        nest(
            (*self.plan.batch, *self.plan.reduction_blocks),
            a,
            b,
            c,
            block,
        )

    def _block_extent(self, block: Index) -> Index | None:
        """Extent of the outermost inner reduction dim, when the last block is shorter."""
        plan = self.plan
        if not plan.last_block:
            return None
        last = plan.reduction_blocks[-1].extent - 1
        is_last = arith.CmpIOp(arith.CmpIPredicate.eq, constant(block), constant(last)).result
        return arith.SelectOp(
            is_last, constant(plan.last_block), constant(plan.reduction[0].extent)
        ).result

    def _panel_sizes(self) -> tuple[tuple[int, int], ...]:
        return split(self.plan.lane_dim.extent, self.plan.tile_vectors * self.plan.lanes)

    def _panel(self, count: int) -> Panel:
        lanes = Lanes(count, self.plan.lanes, self.element)
        return Panel(lanes, self.plan.lane_dim.b, self.plan.reduction)

    def _panels(
        self, a: Pointer, b: Pointer, c: Pointer, scratch: Pointer | None, extent: Index | None
    ) -> None:
        """Full panels of columns, then the last narrower one."""
        lane, first = self.plan.lane_dim, 0
        for count, size in self._panel_sizes():
            panel = self._panel(size)

            def body(column: Index, panel: Panel = panel) -> None:
                b_panel, reduction = b.advance(column, lane.b), self.plan.reduction
                if scratch is not None:
                    pack_panel(self.plan.pack, panel, b_panel, scratch, extent)
                    b_panel, reduction = scratch, panel.packed_reduction
                self._rows(a, b_panel, c.advance(column, lane.c), panel.lanes, reduction, extent)

            loop(first, first + count * size, size, body)
            first += count * size

    def _rows(
        self,
        a: Pointer,
        b: Pointer,
        c: Pointer,
        lanes: Lanes,
        reduction: tuple[Dim, ...],
        extent: Index | None,
    ) -> None:
        """All row tiles against one panel: full ones, then the last lower one."""
        dim = self.plan.row_dim

        def tiles(_: Index, a: Pointer, b: Pointer, c: Pointer) -> None:
            first = 0
            for count, size in split(dim.extent, self.plan.tile_rows):
                tile = Tile(
                    size, lanes, dim.a, dim.c, self.plan.lane_dim.c, reduction, self.starts_at_zero
                )

                def body(row: Index, tile: Tile = tile) -> None:
                    multiply_tile(tile, a.advance(row, dim.a), b, c.advance(row, dim.c), extent)

                loop(first, first + count * size, size, body)
                first += count * size

        nest(self.plan.rows, a, b, c, tiles)


def nest(
    dims: tuple[Dim, ...],
    a: Pointer,
    b: Pointer,
    c: Pointer,
    body: Callable[[Index, Pointer, Pointer, Pointer], None],
    index: Index = 0,
) -> None:
    """Loops over dims; the body gets the innermost index and the three pointers moved there."""
    if not dims:
        body(index, a, b, c)
        return
    dim, rest = dims[0], dims[1:]
    loop(
        0,
        dim.extent,
        1,
        lambda i: nest(
            rest, a.advance(i, dim.a), b.advance(i, dim.b), c.advance(i, dim.c), body, i
        ),
    )


def _flat(value: ir.Value) -> Pointer:
    """The memref as one row of elements, so that positions are plain sums of strides."""
    kind = ir.MemRefType(value.type)
    strides, offset = kind.get_strides_and_offset()
    size = 1 + sum((n - 1) * s for n, s in zip(kind.shape, strides, strict=True))
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets: list[ir.Value] = []
    if offset == dynamic:
        offsets = [memref.ExtractStridedMetadataOp(value).results[1]]
    layout = ir.StridedLayoutAttr.get(offset, [1])
    flat = ir.MemRefType.get([size], kind.element_type, layout, kind.memory_space)
    row = memref.ReinterpretCastOp(flat, value, offsets, [], [], [offset], [size], [1])
    return Pointer(row.result)


def _entry_block(op: ir.Operation) -> ir.Block:
    """First block of the function: a stack buffer made there exists once, not per iteration."""
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        parent = parent.operation.parent
    assert parent is not None, "code is inside functions"
    return parent.regions[0].blocks[0]


def _fill_before(op: ir.Operation) -> ir.Operation | None:
    """The `linalg.fill` with zero of the op's output, if nothing in between touches that memory.

    Different allocations and arguments do not overlap: results are never written over inputs.
    """
    output = op.operands[len(op.operands) - 1]
    root = _root(output)
    siblings = [sibling.operation for sibling in op.block.operations]
    for other in reversed(siblings[: siblings.index(op)]):
        if other.name == "linalg.fill" and other.operands[1] == output:
            return other if _is_zero(other.operands[0]) else None
        if other.name in _VIEWS or other.name.startswith("arith."):
            continue
        if len(other.regions) and not other.name.startswith("linalg."):
            return None
        if not other.name.startswith(("linalg.", "memref.")) or root in map(_root, other.operands):
            return None
    return None


def _root(value: ir.Value) -> ir.Value:
    """The allocation or argument that a view looks at."""
    owner = producer(value)
    while owner is not None and owner.name in _VIEWS:
        value = owner.operands[0]
        owner = producer(value)
    return value


def _is_zero(value: ir.Value) -> bool:
    owner = producer(value)
    if owner is None or owner.name != "arith.constant":
        return False
    return ir.FloatAttr(owner.attributes["value"]).value == 0.0
