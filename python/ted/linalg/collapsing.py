"""Neighbouring dims that every operand goes through as one -> one dim.

Before: points (i, j) of `memref<64x250xf32>` and nothing that knows i or j
After: points (k) of `memref<16000xf32>`, whose rows of vectors need not end where j ends
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.linalg.contractions import element_strides
from ted.mlir import ir, memref
from ted.mlir.affine_forms import dims_used, linear
from ted.mlir.generic import set_maps, set_reductions
from ted.records import dataclass


@dataclass(frozen=True)
class Access:
    """A memref and where a point meets it; a scalar has no map."""

    value: ir.Value
    amap: ir.AffineMap | None


@dataclass(frozen=True)
class Box:
    """Points whose number nothing asks for, and what they meet."""

    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    accesses: tuple[Access, ...]


def collapsed(box: Box) -> Box:
    """The box with as few dims as possible; views are made at the insertion point."""
    for dim in reversed(merging(box)):
        box = merged(box, dim)
    return box


def put(op: ir.Operation, box: Box) -> None:
    """Let a generic go through the points of a box, whose accesses are those of its operands."""
    rank = len(box.extents)
    for k, access in enumerate(box.accesses):
        op.operands[k] = access.value
    set_maps(op, [a.amap or ir.AffineMap.get(rank, 0, []) for a in box.accesses])
    set_reductions(op, [not parallel for parallel in box.parallel])


def collapsed_extents(extents: Sequence[int], merging_dims: Sequence[int]) -> tuple[int, ...]:
    """The extents of the collapsed box; nothing is made."""
    found = list(extents)
    for dim in reversed(merging_dims):
        found[dim] *= found.pop(dim + 1)
    return tuple(found)


def merging(box: Box) -> list[int]:
    """The dims that go with the next one; none of them depends on whether others do."""
    return [dim for dim in range(len(box.extents) - 1) if _may_merge(box, dim)]


def _may_merge(box: Box, dim: int) -> bool:
    if box.parallel[dim] != box.parallel[dim + 1]:
        return False
    return all(fits(access, box, dim) for access in box.accesses)


def fits(access: Access, box: Box, dim: int) -> bool:
    """Whether an access goes through a dim and the next one as through one."""
    return _place(access, box, dim) is not None


_ABSENT = -1


def _place(access: Access, box: Box, dim: int) -> int | None:
    """The first of two subscripts that are the two dims; None: no merging.

    _ABSENT if no subscript is one of the dims alone: none uses them, or all use their number.
    """
    if access.amap is None:
        return _ABSENT
    results = [e.maybe_downcast() for e in access.amap.results]
    using = [k for k, e in enumerate(results) if dims_used(e) & {dim, dim + 1}]
    if all(_counts_both(results[k], box, dim) for k in using):
        return _ABSENT
    if len(using) != 2 or using[1] != using[0] + 1:
        return None
    for k, wanted in zip(using, (dim, dim + 1), strict=True):
        e = results[k]
        if not isinstance(e, ir.AffineDimExpr) or e.position != wanted:
            return None
    shape = ir.MemRefType(access.value.type).shape
    strides = element_strides(access.value.type)
    first, second = using
    if strides is None or shape[second] != box.extents[dim + 1]:
        return None
    return first if strides[first] == strides[second] * shape[second] else None


def _counts_both(expr: ir.AffineExpr, box: Box, dim: int) -> bool:
    """Whether an expression moves with the second dim, and by as much as all of it with the first.

    Then it moves with their common number.
    """
    form = linear(expr)
    return form is not None and form[dim] == form[dim + 1] * box.extents[dim + 1]


def merged(box: Box, dim: int) -> Box:
    """The box whose dim goes with the next one as one; views are made at the insertion point."""
    extent = box.extents[dim] * box.extents[dim + 1]
    return replace(
        box,
        extents=(*box.extents[:dim], extent, *box.extents[dim + 2 :]),
        parallel=(*box.parallel[:dim], *box.parallel[dim + 1 :]),
        accesses=tuple(_merged_access(access, box, dim) for access in box.accesses),
    )


def _merged_access(access: Access, box: Box, dim: int) -> Access:
    if access.amap is None:
        return access
    rank = len(box.extents)
    # d_dim + 1 becomes the number of both, later dims move up.
    moved: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(k if k <= dim else k - 1) for k in range(rank)
    ]
    moved[dim] = ir.AffineExpr.get_constant(0)
    results = [e.compose(ir.AffineMap.get(rank - 1, 0, moved)) for e in access.amap.results]
    place = _place(access, box, dim)
    if place is None or place == _ABSENT:
        return Access(access.value, ir.AffineMap.get(rank - 1, 0, results))
    del results[place]
    kind = ir.MemRefType(access.value.type)
    groups = [[k] for k in range(place)]
    groups += [[place, place + 1], *([k] for k in range(place + 2, len(kind.shape)))]
    view = memref.CollapseShapeOp(_collapsed_type(kind, place), access.value, groups).result
    return Access(view, ir.AffineMap.get(rank - 1, 0, results))


def _collapsed_type(kind: ir.MemRefType, place: int) -> ir.MemRefType:
    shape, (strides, offset) = list(kind.shape), kind.get_strides_and_offset()
    shape[place : place + 2] = [shape[place] * shape[place + 1]]
    strides = [*strides[:place], *strides[place + 1 :]]
    dense = ir.MemRefType.get(shape, kind.element_type, memory_space=kind.memory_space)
    if not isinstance(kind.layout, ir.StridedLayoutAttr):
        return dense
    layout = ir.StridedLayoutAttr.get(offset, strides)
    return ir.MemRefType.get(shape, kind.element_type, layout, kind.memory_space)
