"""Parts of operations of linalg on memory: the same operation over a range of one loop.

Before: `linalg.generic` over `i < 512, j < 512`, the loop `i`, 64 points from `%first` on
After: `memref.subview` of every operand that `i` moves through, `linalg.generic` over 64 x 512
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.mlir import arith, ir, memref
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.building import Index, constant, scale
from ted.mlir.generic import Generic
from ted.mlir.queries import copied_with, operations


def may_slice(generic: Generic, loop: int) -> bool:
    """Whether every operand moves along the loop by equal steps, upwards."""
    for amap in generic.maps:
        for expr in amap.results:
            form = linear(expr)
            if loop in dims_used(expr) and (form is None or form[loop] < 1):
                return False
    return True


def steps_along(loop: int, amap: ir.AffineMap) -> tuple[int, ...]:
    """How far a point of the loop moves each subscript."""
    forms = [linear(expr) for expr in amap.results]
    return tuple(0 if form is None else form[loop] for form in forms)


def slice_of(
    value: ir.Value, amap: ir.AffineMap, loop: int, first: Index, size: int, extent: int
) -> ir.Value:
    """The part of an operand that `size` points of the loop from `first` on touch."""
    if loop not in dims_used(*amap.results):
        return value
    shape = list(ir.MemRefType(value.type).shape)
    offsets: list[Index] = [0] * len(shape)
    for k, step in enumerate(steps_along(loop, amap)):
        if step:
            offsets[k] = scale(first, step)
            shape[k] -= step * (extent - size)
    return memref.subview(value, offsets, shape, [1] * len(shape))


def sliced(
    op: ir.Operation, operands: Sequence[ir.Value], starts: Mapping[int, Index]
) -> ir.Operation:
    """The operation at the insertion point, on parts of its operands: loops start there."""
    copy = copied_with(op, {})
    for k, value in enumerate(operands):
        copy.operands[k] = value
    for place in operations(copy, "linalg.index"):
        first = starts.get(ir.IntegerAttr(place.attributes["dim"]).value, 0)
        if first != 0:
            with place.location:
                shift(place.results[0], ir.InsertionPoint.after(place), first)
    return copy


def shift(value: ir.Value, where: ir.InsertionPoint, first: Index) -> None:
    """Let what uses the number of a point of a part see that of the whole loop."""
    users = [(use.owner.operation, use.operand_number) for use in value.uses]
    with where:
        moved = arith.AddIOp(value, constant(first)).result
    for user, position in users:
        user.operands[position] = moved
