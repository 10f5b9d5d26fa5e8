"""Contractions on memrefs -> loops around register tiles, as a plan says.

Before: `linalg.generic {ted.contraction} ins(%A, %B : memref, memref) outs(%C : memref)`.
After: scf loops over batches, reduction blocks, panels of B (packed when that pays), rows; inside,
`vector.fma` on accumulators in registers (microkernel.py).

The plan depends on where elements lie: a destination may be a strided slice of something else.
"""

from __future__ import annotations

from ted.cpu.contraction_loops import ContractionLoops, Scratch
from ted.cpu.contraction_plan import Plan
from ted.cpu.microkernel import Pointer
from ted.linalg.contractions import LinalgContraction
from ted.mlir import ir, memref
from ted.mlir.aliasing import ANYWHERE, memories
from ted.mlir.effects import effects_of
from ted.mlir.queries import is_zero

_PARALLEL = ("scf.forall", "scf.parallel", "omp.parallel")


def multiply_in_tiles(
    op: ir.Operation, contraction: LinalgContraction, plan: Plan, offsets: tuple[int, ...]
) -> None:
    """Replace a contraction by its loops, at the insertion point."""
    fill = _fill_before(op) if plan.single_block and contraction.writes_all else None
    a, b, c = (
        _flat(value).advance(offset)
        for value, offset in zip(contraction.values, offsets, strict=True)
    )
    if plan.swapped:
        a, b = b, a
    scratch = Scratch(contraction.factor, _entry_block(op))
    loops = ContractionLoops(
        plan, contraction.element, contraction.factor, scratch, fill is not None
    )
    loops.emit(a, b, c)
    scratch.free()
    op.erase()
    if fill is not None:
        fill.erase()


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


def _entry_block(op: ir.Operation) -> ir.Block | None:
    """First block of the function, for buffers on the stack; None where threads would share it."""
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        if parent.operation.name in _PARALLEL:
            return None
        parent = parent.operation.parent
    return None if parent is None else parent.operation.regions[0].blocks[0]


def _fill_before(op: ir.Operation) -> ir.Operation | None:
    """The `linalg.fill` with zero of the op's output, if nothing in between touches that memory.

    Different allocations and arguments do not overlap: results are never written over inputs.
    """
    output = op.operands[len(op.operands) - 1]
    memory = {*memories(output), ANYWHERE}
    siblings = [sibling.operation for sibling in op.block.operations]
    for other in reversed(siblings[: siblings.index(op)]):
        if other.name == "linalg.fill" and other.operands[1] == output:
            return other if is_zero(other.operands[0]) else None
        if memory & effects_of(other).touched:
            return None
    return None
