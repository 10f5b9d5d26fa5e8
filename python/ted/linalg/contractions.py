"""Recognise a contraction among linalg ops and read it as strides.

A contraction is a `linalg.generic` whose body is `out + a * b` on one type, with linear
indexing maps (no floordiv, no mod) and at least one reduction dim. Inputs that the body does not
read may be there; they only carry shapes. On memrefs with static strides, maps and layouts together
are the integers of `strided_contraction`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.domain.linear import Form, dot, term
from ted.linalg.strided_contractions import Dim
from ted.mlir import ir
from ted.mlir.affine_forms import linear
from ted.mlir.semiring import ADDITIONS, MULTIPLICATIONS

# Discardable attribute by which the step before bufferization claims an op for the vector route.
MARK = "ted.contraction"
ELEMENT_BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8}


LinearMap = tuple[Form[int], ...]  # one for each result of a map


@dataclass(frozen=True)
class LinalgContraction:
    """A recognised op: its two factors and its output as (value, map), extents, kinds of dims."""

    values: tuple[ir.Value, ir.Value, ir.Value]
    maps: tuple[LinearMap, LinearMap, LinearMap]
    extents: tuple[int, ...]
    reductions: tuple[bool, ...]
    element: ir.Type

    @property
    def writes_all(self) -> bool:
        """Whether every element of the output is a sum, so that none keeps what was there."""
        single = {term(dim) for dim in range(len(self.extents))}
        return len(single.intersection(self.maps[2])) == len(self.maps[2])

    def strided(self) -> tuple[tuple[Dim, ...], tuple[int, ...]] | None:
        """Dims, and the constant offsets in A, B, C; None when a stride is dynamic."""
        layouts = [element_strides(value.type) for value in self.values]
        if any(layout is None for layout in layouts):
            return None
        places = [dot(m, s) for m, s in zip(self.maps, layouts, strict=True) if s is not None]
        dims = tuple(
            Dim(extent, *(place[d] for place in places), reduction=self.reductions[d])
            for d, extent in enumerate(self.extents)
        )
        return dims, tuple(place.constant for place in places)


def recognise(op: ir.Operation) -> LinalgContraction | None:
    """The op as a contraction, or None."""
    if not is_reduction(op):
        return None
    factors = _factors(op.regions[0].blocks[0])
    found = extents(op)
    if factors is None or found is None:
        return None
    maps = [linear_map(map_) for map_ in indexing_maps(op)]
    places = (*factors, len(maps) - 1)
    a, b, c = (maps[place] for place in places)
    if a is None or b is None or c is None:
        return None
    values = (op.operands[places[0]], op.operands[places[1]], op.operands[places[2]])
    elements = {str(ir.ShapedType(value.type).element_type) for value in values}
    if len(elements) != 1:
        return None
    return LinalgContraction(
        values, (a, b, c), found, reductions(op), ir.ShapedType(values[2].type).element_type
    )


def is_reduction(op: ir.Operation) -> bool:
    """Whether the op is a generic with a reduction dim and one output of a type we vectorise."""
    if op.name != "linalg.generic" or not any(reductions(op)):
        return False
    if len(op.regions[0].blocks[0].operations[-1].operands) != 1:
        return False
    return str(ir.ShapedType(op.operands[-1].type).element_type) in ELEMENT_BYTES


def reductions(op: ir.Operation) -> tuple[bool, ...]:
    """Per dim, whether it is summed over."""
    return tuple("reduction" in str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"]))


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    """One map per operand."""
    return [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]


def extents(op: ir.Operation) -> tuple[int, ...] | None:
    """Extent per dim, from the operands that are indexed by that dim alone; None if dynamic."""
    maps = indexing_maps(op)
    found = [0] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        if not isinstance(operand.type, (ir.RankedTensorType, ir.MemRefType)):
            return None
        shaped = ir.ShapedType(operand.type)
        if not shaped.has_static_shape:
            return None
        for expr, size in zip(map_.results, shaped.shape, strict=True):
            if isinstance(expr, ir.AffineDimExpr):
                found[expr.position] = size
    return tuple(found) if all(found) else None


def element_strides(type_: ir.Type) -> list[int] | None:
    """Distance of neighbours per dim: of the memref's layout, dense for a tensor."""
    if isinstance(type_, ir.MemRefType):
        strides, _ = type_.get_strides_and_offset()
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        return None if dynamic in strides else strides
    strides = [1]
    for size in reversed(ir.ShapedType(type_).shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides[: ir.ShapedType(type_).rank]


def linear_map(map_: ir.AffineMap) -> LinearMap | None:
    """The map as forms; None if it is not linear."""
    found = [form for expr in map_.results if (form := linear(expr)) is not None]
    return tuple(found) if len(found) == len(map_.results) else None


def address_in(type_: ir.Type, map_: ir.AffineMap) -> Form[int] | None:
    """Where an element lies, from the first; None if it is not linear or strides are dynamic."""
    strides, forms = element_strides(type_), linear_map(map_)
    return None if strides is None or forms is None else dot(forms, strides)


def producer(value: ir.Value) -> ir.Operation | None:
    """The operation that makes a value; None for an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def added_value(block: ir.Block) -> ir.Value | None:
    """x of a body that yields `out + x`, where x does not read out; else None."""
    out = block.arguments[-1]
    total = producer(block.operations[-1].operands[0])
    if total is None or total.name not in ADDITIONS or len(list(out.uses)) != 1:
        return None
    left, right = total.operands
    if out not in (left, right):
        return None
    return right if left == out else left


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body `out + a * b` multiplies."""
    added = added_value(block)
    product = None if added is None else producer(added)
    if product is None or product.name not in MULTIPLICATIONS or len(block.operations) != 3:
        return None
    arguments: list[ir.Value] = list(block.arguments)
    left, right = (arguments.index(v) if v in arguments else -1 for v in product.operands)
    return None if -1 in (left, right) else (left, right)
