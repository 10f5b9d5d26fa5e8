"""Elements, slices and views of tensors, and of memory: equations are emitted on either.

A tensor is a value: what changes it gives a new one, and loops and tests carry it. Memory is
changed where it is, and stays the value that it was, so that nothing carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ted.mlir import ir, memref, scf, tensor
from ted.mlir.scalars import element_type, shape_of

Values = list[ir.Value]
Offset: TypeAlias = "int | ir.Value"  # a number, or what is one when the program runs


def is_memory(value: ir.Value) -> bool:
    """Whether a value is memory, and no tensor."""
    return isinstance(value.type, ir.MemRefType)


def empty(shape: Sequence[int], kind: ir.Type, like: ir.Value) -> ir.Value:
    """Room for elements of a type, in a tensor or in memory as `like` is."""
    if is_memory(like):
        return allocated(shape, kind)
    return tensor.EmptyOp(list(shape), kind).result


def allocated(shape: Sequence[int], kind: ir.Type) -> ir.Value:
    """Memory of its own."""
    return memref.AllocOp(ir.MemRefType.get(list(shape), kind), [], []).result


def saved(value: ir.Value) -> ir.Value:
    """The value for later: a tensor stays what it is, memory is copied."""
    if not is_memory(value):
        return value
    copy = allocated(shape_of(value), element_type(value))
    memref.CopyOp(value, copy)
    return copy


def element(source: ir.Value, place: Sequence[ir.Value]) -> ir.Value:
    """An element."""
    if is_memory(source):
        return memref.LoadOp(source, list(place)).result
    return tensor.ExtractOp(source, list(place)).result


def with_element(value: ir.Value, target: ir.Value, place: Sequence[ir.Value]) -> ir.Value:
    """The target with an element replaced."""
    if is_memory(target):
        memref.StoreOp(value, target, list(place))
        return target
    return tensor.InsertOp(value, target, list(place)).result


def part(
    source: ir.Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    strides: Sequence[int],
    kept: Sequence[int],
) -> ir.Value:
    """A slice with only the `kept` dims, the others of one element."""
    values, known = _places(offsets)
    shape = [sizes[k] for k in kept]
    if is_memory(source):
        kind: ir.Type = _view_type(source, offsets, shape, strides, kept)
        return memref.SubViewOp(
            kind, source, values, [], [], known, list(sizes), list(strides)
        ).result
    kind = ir.RankedTensorType.get(shape, element_type(source))
    return tensor.ExtractSliceOp(
        kind, source, values, [], [], known, list(sizes), list(strides)
    ).result


def _view_type(
    source: ir.Value, offsets: Sequence[Offset], shape: Sequence[int], strides: Sequence[int],
    kept: Sequence[int],
) -> ir.MemRefType:  # fmt: skip
    """The type of a slice of memory whose strides are known."""
    distances, first = ir.MemRefType(source.type).get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    for offset, distance in zip(offsets, distances, strict=True):
        is_known = isinstance(offset, int) and first != dynamic
        first = first + offset * distance if isinstance(offset, int) and is_known else dynamic
    steps = [strides[k] * distances[k] for k in kept]
    layout = ir.StridedLayoutAttr.get(first, steps)
    return ir.MemRefType.get(list(shape), element_type(source), layout)


def with_part(
    made: ir.Value,
    target: ir.Value,
    offsets: Sequence[Offset],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> ir.Value:
    """The target with a slice replaced by another tensor, or by what is in other memory."""
    if is_memory(target):
        kept = _kept(sizes, shape_of(made))
        memref.CopyOp(made, part(target, offsets, sizes, strides, kept))
        return target
    values, known = _places(offsets)
    return tensor.InsertSliceOp(
        made, target, values, [], [], known, list(sizes), list(strides)
    ).result


def _kept(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dims of a slice that a shape has, which lacks some of one element."""
    found: list[int] = []
    for k, size in enumerate(sizes):
        left = len(sizes) - k
        wanted = len(shape) - len(found)
        if wanted and (size != 1 or left == wanted or shape[len(found)] == 1):
            found.append(k)
    return found


def _places(offsets: Sequence[Offset]) -> tuple[list[ir.Value], list[int]]:
    """The offsets that are values, and all as MLIR has them, with a mark for those."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    values = [one for one in offsets if not isinstance(one, int)]
    return values, [one if isinstance(one, int) else dynamic for one in offsets]


def split_dims(value: ir.Value, groups: ir.ArrayAttr, shape: Sequence[int]) -> ir.Value:
    """A view with more dims, each group of which was one."""
    if is_memory(value):
        kind = _split_type(value, groups, shape)
        return memref.ExpandShapeOp(kind, value, groups, [], list(shape)).result
    made = ir.RankedTensorType.get(list(shape), element_type(value))
    return tensor.ExpandShapeOp(made, value, groups, [], list(shape)).result


def is_dense(memory: ir.Value) -> bool:
    """Whether elements lie in their order, from the first one on, without gaps."""
    kind = ir.MemRefType(memory.type)
    return kind.affine_map == ir.AffineMap.get_identity(kind.rank)


def _split_type(value: ir.Value, groups: ir.ArrayAttr, shape: Sequence[int]) -> ir.MemRefType:
    kind = ir.MemRefType(value.type)
    distances, begin = kind.get_strides_and_offset()
    steps = [1] * len(shape)
    for distance, group in zip(distances, groups, strict=True):
        for dim in reversed([ir.IntegerAttr(k).value for k in ir.ArrayAttr(group)]):
            steps[dim] = distance
            distance *= shape[dim]
    if is_dense(value):
        return ir.MemRefType.get(list(shape), kind.element_type)
    layout = ir.StridedLayoutAttr.get(begin, steps)
    return ir.MemRefType.get(list(shape), kind.element_type, layout)


def loop(
    bounds: tuple[ir.Value, ir.Value], step: ir.Value, carried: Values,
    body: Callable[[ir.Value, Values], Values],
) -> tuple[ir.Operation, Values]:  # fmt: skip
    """`scf.for` and what is carried behind it; `body` maps the number of a turn and what is
    carried to the latter after the turn."""
    mobile = [k for k, value in enumerate(carried) if not is_memory(value)]
    made = scf.ForOp(*bounds, step, [carried[k] for k in mobile])
    with ir.InsertionPoint(made.body):
        inside = list(carried)
        for k, value in zip(mobile, made.inner_iter_args, strict=True):
            inside[k] = value
        after = body(made.induction_variable, inside)
        scf.YieldOp([after[k] for k in mobile])
    for k, value in zip(mobile, made.results, strict=True):
        carried = [*carried[:k], value, *carried[k + 1 :]]
    return made.operation, carried


def forall(extents: Sequence[int], body: Callable[[Values], None]) -> None:
    """`scf.forall` over a box, on memory; `body` is given the numbers of a turn."""
    names = ", ".join(f"%i{k}" for k in range(len(extents)))
    sizes = ", ".join(map(str, extents))
    made = ir.Operation.parse(f"scf.forall ({names}) in ({sizes}) {{}}")
    ir.InsertionPoint.current.insert(made)
    block = made.regions[0].blocks[0]
    with ir.InsertionPoint(block.operations[0]):
        body(list(block.arguments))
