"""Recognise a contraction among linalg ops and read it as strides.

A contraction is a `linalg.generic` whose body is `out + a * b` on one type, or on pairs, which may
be neighbours of one factor (ted/mlir/pairs.py), with linear indexing maps (no floordiv, no mod) and
at least one reduction dim. Inputs that the body does not read may be there; they only carry shapes.
On memrefs with static strides, maps and layouts together are the integers of `strided_contraction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.domain.linear import Form, dot, term
from ted.linalg.strided_contractions import Dim
from ted.mlir import ir
from ted.mlir.affine_forms import linear
from ted.mlir.generic import Generic, generic_of
from ted.mlir.pairs import factors_of_pairs
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type
from ted.mlir.semiring import ADDITIONS, MULTIPLICATIONS
from ted.records import dataclass

# Discardable attribute by which an op is claimed for the vector route, or for its kernel.
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
    def factor(self) -> ir.Type:
        """The type of what is multiplied: that of the sums, or pairs."""
        left, right = (element_type(value) for value in self.values[:2])
        return right if isinstance(left, ir.BF16Type) else left

    def has_halves(self, side: int) -> bool:
        """Whether neighbours of a factor are the pairs: positions in it count two of them."""
        return element_type(self.values[side]) != self.factor

    @property
    def writes_all(self) -> bool:
        """Whether every element of the output is a sum, so that none keeps what was there."""
        single = {term(dim) for dim in range(len(self.extents))}
        return len(single.intersection(self.maps[2])) == len(self.maps[2])

    def strided(self) -> tuple[tuple[Dim, ...], tuple[int, ...]] | None:
        """Dims, and the constant offsets in A, B, C.

        None when a stride is dynamic, or halves of pairs are no neighbours or begin at an odd one.
        """
        found = [element_strides(value.type) for value in self.values]
        layouts = [layout for layout in found if layout is not None]
        if len(layouts) < len(found):
            return None
        places = [dot(m, s) for m, s in zip(self.maps, layouts, strict=True)]
        for side in (k for k in range(2) if self.has_halves(k)):
            halved = _halved(places[side]) if layouts[side][-1] == 1 else None
            if halved is None:
                return None
            places[side] = halved
        dims = tuple(
            Dim(extent, *(place[d] for place in places), reduction=self.reductions[d])
            for d, extent in enumerate(self.extents)
        )
        return dims, tuple(place.constant for place in places)


def recognise(op: ir.Operation) -> LinalgContraction | None:
    """The op as a contraction, or None."""
    found = reduction_of(op)
    if found is None:
        return None
    factors = _factors(found.body)
    if factors is not None:
        contraction = contraction_of_factors(found, *factors)
        is_one = contraction and len({element_type(value) for value in contraction.values}) == 1
        return contraction if is_one else None
    factors = factors_of_pairs(found.body)
    return None if factors is None else _of_pairs(found, *factors)


def _of_pairs(
    generic: Generic, low: tuple[int, int], high: tuple[int, int]
) -> LinalgContraction | None:
    """The contraction of pairs; None where halves that are multiplied are none."""
    found = contraction_of_factors(generic, *low)
    upper = contraction_of_factors(generic, *high)
    if found is None or upper is None or isinstance(found.factor, ir.BF16Type):
        return None
    for side in range(2):
        if not found.has_halves(side):
            if low[side] != high[side]:
                return None
            continue
        *outer, last = found.maps[side]
        if upper.maps[side] != (*outer, last + 1):
            return None
        if _start(upper.values[side]) != _start(found.values[side]):
            return None
    return found


def _start(value: ir.Value) -> tuple[Any, ...]:
    """Where a value begins, and its strides: views of other sizes may begin alike."""
    strides = element_strides(value.type) if isinstance(value.type, ir.MemRefType) else None
    view = defining(value, "memref.subview")
    if view is None:
        return value, strides
    offsets = list(ir.DenseI64ArrayAttr(view.attributes["static_offsets"]))
    source, *moving = view.operands
    return (source, strides, offsets, moving) if any(offsets) else (source, strides)


def contraction_of_factors(generic: Generic, left: int, right: int) -> LinalgContraction | None:
    """The contraction of two operands; None where a map is not linear, or there are no points."""
    maps = [linear_map(generic.maps[k]) for k in (left, right, -1)]
    a, b, c = maps
    box = points_of_tensors(generic)
    if a is None or b is None or c is None or box is None:
        return None
    first, second, total = (generic.operands[k] for k in (left, right, -1))
    return LinalgContraction(
        (first, second, total), (a, b, c), box, generic.reductions, element_type(total)
    )


def _halved(place: Form[int]) -> Form[int] | None:
    """The place of a pair, from that of its lower half; None where there is none."""
    if place.constant % 2 or any(factor % 2 for _, factor in place.terms):
        return None
    return Form(place.constant // 2, tuple((dim, factor // 2) for dim, factor in place.terms))


def points_of_tensors(generic: Generic) -> tuple[int, ...] | None:
    """The extents of the loops; None if there are no points, or an operand is a scalar."""
    shaped = (ir.RankedTensorType, ir.MemRefType)
    found = generic.extents
    are_shaped = all(isinstance(value.type, shaped) for value in generic.operands)
    return found if found is not None and all(found) and are_shaped else None


def reduction_of(op: ir.Operation) -> Generic | None:
    """The op as a generic that sums, with one output of a type that has vectors; else None."""
    found = generic_of(op)
    if found is None or found.is_map or len(found.yielded) != 1:
        return None
    return found if str(element_type(found.operands[-1])) in ELEMENT_BYTES else None


def element_strides(type_: ir.Type) -> list[int] | None:
    """Distance of neighbours per dim: of the memref's layout, dense for a tensor."""
    if isinstance(type_, ir.MemRefType):
        strides, _ = type_.get_strides_and_offset()
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        return None if dynamic in strides else strides
    return dense_strides(ir.ShapedType(type_).shape)


def dense_strides(shape: Sequence[int]) -> list[int]:
    """Distance of neighbours per dim, without gaps, the last dim contiguous."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides[: len(shape)]


def linear_map(map_: ir.AffineMap) -> LinearMap | None:
    """The map as forms; None if it is not linear."""
    found = [form for expr in map_.results if (form := linear(expr)) is not None]
    return tuple(found) if len(found) == len(map_.results) else None


def address_in(type_: ir.Type, map_: ir.AffineMap) -> Form[int] | None:
    """Where an element lies, from the first; None if it is not linear or strides are dynamic."""
    strides, forms = element_strides(type_), linear_map(map_)
    return None if strides is None or forms is None else dot(forms, strides)


def added_value(block: ir.Block) -> ir.Value | None:
    """x of a body that yields `out + x`, where x does not read out; else None."""
    out = block.arguments[-1]
    total = defining(block.operations[-1].operands[0], *ADDITIONS)
    if total is None or len(list(out.uses)) != 1:
        return None
    left, right = total.operands
    if out not in (left, right):
        return None
    return right if left == out else left


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body `out + a * b` multiplies."""
    added = added_value(block)
    product = None if added is None else defining(added, *MULTIPLICATIONS)
    if product is None or len(block.operations) != 3:
        return None
    arguments: list[ir.Value] = list(block.arguments)
    left, right = (arguments.index(v) if v in arguments else -1 for v in product.operands)
    return None if -1 in (left, right) else (left, right)
