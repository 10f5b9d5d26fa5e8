"""Flat views: all memory behind a view in one dim, and the element at which the view starts.

Before: `%v = memref.subview %m[%t, 0] [1, 64] [1, 1]` of `memref<16x64xf32>`
After: the 1024 elements of `%m`, from element `64 * %t`

A start that is known is a number for the kernel; one that counts a loop of the host moves the
pointer that the kernel gets.
"""

from __future__ import annotations

from dataclasses import field, replace
from math import gcd, prod

from ted.domain.linear import Form, dot, term
from ted.linalg.contractions import element_strides
from ted.machine import ACCESS_BYTES
from ted.mlir import arith, ir, memref
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.building import constant
from ted.mlir.queries import defining
from ted.mlir.scalars import byte_width
from ted.records import dataclass

DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


@dataclass(frozen=True)
class FlatView:
    """Memory of `size` elements, and the one at which the view starts."""

    value: ir.Value
    element: ir.Type
    size: int
    start: Form[ir.Value] = field(default_factory=Form)

    @property
    def alignment(self) -> int:
        """Bytes to a multiple of which the pointer of a kernel points."""
        steps = [factor * byte_width(self.element) for _, factor in self.start.terms]
        return gcd(ACCESS_BYTES, *steps)

    def pointer(self) -> ir.Value:
        """The view as a memref of one dim, from where its terms say."""
        flat = self._flat()
        if not self.start.terms:
            return flat
        at = constant(0)
        for value, factor in self.start.terms:
            scaled = value if factor == 1 else arith.MulIOp(value, constant(factor)).result
            at = arith.AddIOp(at, scaled).result
        view = memref.subview(flat, [at], [self.size], [1])
        return memref.CastOp(ir.MemRefType.get([self.size], self.element), view).result

    def _flat(self) -> ir.Value:
        kind = ir.MemRefType(self.value.type)
        wanted = ir.MemRefType.get([prod(kind.shape)], kind.element_type)
        if len(kind.shape) == 1:
            return self.value
        if not kind.shape:
            return memref.ExpandShapeOp(wanted, self.value, [], [], [1]).result
        return memref.CollapseShapeOp(wanted, self.value, [list(range(len(kind.shape)))]).result


def flat_view_of(value: ir.Value) -> FlatView | None:
    """The flat view behind a view; None where strides are not known."""
    kind = ir.MemRefType(value.type)
    strides, offset = kind.get_strides_and_offset()
    whole = root(value)
    owner = ir.MemRefType(whole.type)
    if DYNAMIC in strides or element_strides(owner) is None:
        return None
    flat = FlatView(whole, kind.element_type, prod(owner.shape))
    if offset != DYNAMIC:
        return replace(flat, start=Form(offset))
    return _moved(flat, value, _span(kind))


def is_dense(value: ir.Value) -> bool:
    """Whether the elements of a view lie side by side, in order, at a place that the host knows."""
    kind = ir.MemRefType(value.type)
    dense = element_strides(ir.MemRefType.get(kind.shape, kind.element_type))
    strides = kind.get_strides_and_offset()[0]
    sides = zip(kind.shape, strides, dense or [], strict=True)
    return flat_view_of(value) is not None and all(e == 1 or s == d for e, s, d in sides)


def _span(kind: ir.MemRefType) -> int:
    """Elements from the first to the last one of a view."""
    strides = kind.get_strides_and_offset()[0]
    return 1 + sum((e - 1) * s for e, s in zip(kind.shape, strides, strict=True))


def _moved(flat: FlatView, value: ir.Value, span: int) -> FlatView | None:
    """The flat view from the start of a view that moves; it ends where the view does."""
    start = Form[ir.Value]()
    while value != flat.value:
        op = defining(value, *VIEWS)
        if op is None or op.name == "memref.reinterpret_cast":
            return None
        if op.name == "memref.subview":
            found = view_start(op)
            if found is None:
                return None
            start += found
        value = op.operands[0]
    return replace(flat, size=span + start.constant, start=start)


def view_start(op: ir.Operation) -> Form[ir.Value] | None:
    """Where a subview starts in its source, in elements."""
    strides = element_strides(op.operands[0].type)
    dynamic = iter(list(op.operands)[1:])
    offsets = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    starts = [term(next(dynamic)) if o == DYNAMIC else Form[ir.Value](o) for o in offsets]
    return None if strides is None else dot(starts, strides)
