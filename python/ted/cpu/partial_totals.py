"""Totals of units of work: each unit has its own, and they are joined in their order.

Before: `%out : memref<1024xf32>`, to which 4096 rows are added
After: `memref.alloc() : memref<64x1024xf32>`, a row of it for each of 64 units, then
`%out = %out + row 0 + row 1 ...`: the same bits, whoever has run which unit
"""

from __future__ import annotations

from ted.cpu.kernel_memory import on_heap
from ted.mlir import ir, linalg, memref
from ted.mlir.combining import Combiner
from ted.mlir.generic import empty_generic


def partial_totals(out: ir.Value, count: int) -> ir.Value:
    """Memory for so many results like `out`, on the heap."""
    kind = ir.MemRefType(out.type)
    return on_heap(ir.MemRefType.get([count, *kind.shape], kind.element_type))


def total_of_unit(memory: ir.Value, unit: ir.Value) -> ir.Value:
    """The one of a unit, without the dim that counts them."""
    kind = ir.MemRefType(memory.type)
    shape = list(kind.shape)[1:]
    rest = [0] * len(shape)
    strides, _ = kind.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(
        ir.ShapedType.get_dynamic_stride_or_offset(), list(strides)[1:]
    )
    row = ir.MemRefType.get(shape, kind.element_type, layout)
    return memref.SubViewOp(
        row, memory, [unit], [], [], [ir.ShapedType.get_dynamic_size(), *rest], [1, *shape],
        [1] * (len(shape) + 1),
    ).result  # fmt: skip


def join_totals(memory: ir.Value, out: ir.Value, combiner: Combiner, place: int = 0) -> None:
    """`out = out + memory[0] + memory[1] ...` along the dim at a place, in this order."""
    rank = len(ir.MemRefType(memory.type).shape)
    maps = [ir.AffineMap.get_identity(rank), without_dim(rank, place)]
    op = empty_generic([memory], [out], maps, [k == place for k in range(rank)])
    block = op.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        linalg.YieldOp([combiner.join(block.arguments[1], block.arguments[0])])


def without_dim(rank: int, place: int) -> ir.AffineMap:
    """From a point to what has all of its dims but one."""
    return ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(k) for k in range(rank) if k != place])
