"""Neighbouring dims that every operand goes through as one -> one dim.

Before: points (i, j) of `memref<64x250xf32>` and nothing that knows i or j
After: points (k) of `memref<16000xf32>`, whose rows of vectors need not end where j ends
"""

from __future__ import annotations

from dataclasses import replace

from ted.gpu.bodies import Operand, Work
from ted.linalg.contractions import element_strides
from ted.mlir import ir, memref
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.queries import operations


def collapsed(work: Work) -> Work:
    """The work with as few dims as possible; views are made at the insertion point."""
    for dim in reversed(_merging(work)):
        work = _merged(work, dim)
    return work


def collapsed_extents(work: Work) -> tuple[int, ...]:
    """The extents of the collapsed work; nothing is made."""
    found = list(work.extents)
    for dim in reversed(_merging(work)):
        found[dim] *= found.pop(dim + 1)
    return tuple(found)


def _merging(work: Work) -> list[int]:
    """The dims that go with the next one; none of them depends on whether others do."""
    return [dim for dim in range(len(work.extents) - 1) if _may_merge(work, dim)]


def _may_merge(work: Work, dim: int) -> bool:
    if work.parallel[dim] != work.parallel[dim + 1] or _is_counted(work):
        return False
    return all(_place(o, work, dim) is not None for o in (*work.inputs, *work.outputs))


def _is_counted(work: Work) -> bool:
    """Whether the body asks for the value of a dim: merged dims are counted otherwise."""
    return work.body is not None and any(
        operations(op.operation, "linalg.index") for op in work.body.operations
    )


_ABSENT = -1


def _place(operand: Operand, work: Work, dim: int) -> int | None:
    """The first of two subscripts that are the two dims; None: no merging.

    _ABSENT if no subscript is one of the dims alone: none uses them, or all use their number.
    """
    if operand.amap is None:
        return _ABSENT
    results = [e.maybe_downcast() for e in operand.amap.results]
    using = [k for k, e in enumerate(results) if dims_used(e) & {dim, dim + 1}]
    if all(_counts_both(results[k], work, dim) for k in using):
        return _ABSENT
    if len(using) != 2 or using[1] != using[0] + 1:
        return None
    for k, wanted in zip(using, (dim, dim + 1), strict=True):
        e = results[k]
        if not isinstance(e, ir.AffineDimExpr) or e.position != wanted:
            return None
    shape = ir.MemRefType(operand.value.type).shape
    strides = element_strides(operand.value.type)
    first, second = using
    if strides is None or shape[second] != work.extents[dim + 1]:
        return None
    return first if strides[first] == strides[second] * shape[second] else None


def _counts_both(expr: ir.AffineExpr, work: Work, dim: int) -> bool:
    """Whether an expression moves with the second dim, and by as much as all of it with the first.

    Then it moves with their common number.
    """
    form = linear(expr)
    return form is not None and form[dim] == form[dim + 1] * work.extents[dim + 1]


def _merged(work: Work, dim: int) -> Work:
    extent = work.extents[dim] * work.extents[dim + 1]
    return replace(
        work,
        extents=(*work.extents[:dim], extent, *work.extents[dim + 2 :]),
        parallel=(*work.parallel[:dim], *work.parallel[dim + 1 :]),
        inputs=tuple(_merged_operand(o, work, dim) for o in work.inputs),
        outputs=tuple(_merged_operand(o, work, dim) for o in work.outputs),
    )


def _merged_operand(operand: Operand, work: Work, dim: int) -> Operand:
    if operand.amap is None:
        return operand
    rank = len(work.extents)
    # d_dim + 1 becomes the number of both, later dims move up.
    moved: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k <= dim else k - 1) for k in range(rank)
    ]
    moved[dim] = ir.AffineExpr.get_constant(0)
    results = [e.compose(ir.AffineMap.get(rank - 1, 0, moved)) for e in operand.amap.results]
    place = _place(operand, work, dim)
    if place is None or place == _ABSENT:
        return Operand(operand.value, ir.AffineMap.get(rank - 1, 0, results))
    del results[place]
    kind = ir.MemRefType(operand.value.type)
    groups = [[k] for k in range(place)]
    groups += [[place, place + 1], *([k] for k in range(place + 2, len(kind.shape)))]
    view = memref.CollapseShapeOp(_collapsed_type(kind, place), operand.value, groups).result
    return Operand(view, ir.AffineMap.get(rank - 1, 0, results))


def _collapsed_type(kind: ir.MemRefType, place: int) -> ir.MemRefType:
    shape, (strides, offset) = list(kind.shape), kind.get_strides_and_offset()
    shape[place : place + 2] = [shape[place] * shape[place + 1]]
    strides = [*strides[:place], *strides[place + 1 :]]
    dense = ir.MemRefType.get(shape, kind.element_type, memory_space=kind.memory_space)
    if not isinstance(kind.layout, ir.StridedLayoutAttr):
        return dense
    layout = ir.StridedLayoutAttr.get(offset, strides)
    return ir.MemRefType.get(shape, kind.element_type, layout, kind.memory_space)
