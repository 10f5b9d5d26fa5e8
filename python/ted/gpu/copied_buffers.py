"""Buffers that only hold, elsewhere or in another order, what other memory holds.

A padding is a fill with zero and a copy into the inner part; a reversal is a generic that loads
one element per point. Both are views of what they copy.
"""

from __future__ import annotations

from ted.domain.linear import Form, dot, term
from ted.gpu.padded_views import View, plain_layout
from ted.mlir import ir
from ted.mlir.generic import Generic, generic_of
from ted.mlir.index_values import form_of
from ted.mlir.queries import defining, is_zero
from ted.records import dataclass

_NUMBERS = ("linalg.index", "affine.apply", "arith.constant")


@dataclass(frozen=True)
class Copied:
    """What a buffer is a view of, who writes it in order, and its other users."""

    view: View
    writers: tuple[ir.Operation, ...]
    readers: tuple[ir.Operation, ...]


def copied(alloc: ir.Operation) -> Copied | None:
    """The buffer as a view of other memory; None if it is none."""
    buffer = alloc.results[0]
    users = {use.owner.operation for use in buffer.uses}
    fills = [op for op in users if op.name == "linalg.fill"]
    parts = [op for op in users if op.name == "memref.subview"]
    generics = [found for op in users if (found := generic_of(op)) is not None]
    gathers = [generic.op for generic in generics if _is_gather(generic, buffer)]
    if len(fills) == len(parts) == 1 and not gathers:
        found = _padding(fills[0], parts[0])
    elif len(gathers) == 1 and not fills and not parts:
        found = _gathered(gathers[0], buffer)
    else:
        return None
    if found is None:
        return None
    view, writers = found
    if any(op.block != alloc.block for op in (*users, *writers)):
        return None
    return Copied(view, writers, tuple(users - set(writers) - set(parts)))


def _padding(
    fill: ir.Operation, part: ir.Operation
) -> tuple[View, tuple[ir.Operation, ...]] | None:
    """The fill with zero and the copy into a part of the buffer."""
    users = [use.owner.operation for use in part.results[0].uses]
    if len(users) != 1 or users[0].name != "memref.copy" or not is_zero(fill.operands[0]):
        return None
    copy = users[0]
    buffer, source = part.operands[0], copy.operands[0]
    layout = plain_layout(source)
    lists = (
        tuple(ir.DenseI64ArrayAttr(part.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    low, inner, strides = lists
    dynamic = ir.ShapedType.get_dynamic_size()
    kinds = (ir.MemRefType(source.type), ir.MemRefType(copy.operands[1].type))
    if layout is None or copy.operands[1] != part.results[0] or len(part.operands) != 1:
        return None
    if any(s != 1 for s in strides) or dynamic in inner or list(kinds[0].shape) != list(inner):
        return None
    if kinds[1].rank != len(inner) or kinds[0].element_type != kinds[1].element_type:
        return None
    offset, steps = layout
    sizes = tuple(ir.MemRefType(buffer.type).shape)
    return View(source, offset, sizes, tuple(steps), low, inner), (fill, copy)


def _is_gather(generic: Generic, buffer: ir.Value) -> bool:
    """Whether a generic, of no inputs, writes each element of the buffer in order."""
    in_order = ir.AffineMap.get_identity(ir.MemRefType(buffer.type).rank)
    is_alone = generic.operands == [buffer] and generic.maps[0] == in_order
    return is_alone and not list(generic.body.arguments[0].uses)


def _gathered(op: ir.Operation, buffer: ir.Value) -> tuple[View, tuple[ir.Operation, ...]] | None:
    """One load per point, at indices that are linear in the point's."""
    *steps, end = [o.operation for o in op.regions[0].blocks[0].operations]
    load = defining(end.operands[0], "memref.load")
    if load is None or load.block != end.block:
        return None
    numbers = [o for o in steps if o != load]
    source, *places = load.operands
    layout, shape = plain_layout(source), tuple(ir.MemRefType(buffer.type).shape)
    forms = [form_of(place, _dim) for place in places]
    known = [form for form in forms if form is not None]
    if layout is None or len(known) != len(forms) or any(o.name not in _NUMBERS for o in numbers):
        return None
    offset, strides = layout
    place, rank = dot(known, strides) + offset, len(shape)
    steps = tuple(place[dim] for dim in range(rank))
    return View(source, place.constant, shape, steps, (0,) * rank, shape), (op,)


def _dim(value: ir.Value) -> Form[int] | None:
    """The dim of the point that a value is."""
    op = defining(value, "linalg.index")
    if op is None:
        return None
    return term(ir.IntegerAttr(op.attributes["dim"]).value)
