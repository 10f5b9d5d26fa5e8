"""Recognise a contraction among linalg ops and read it as strides.

A contraction is a `linalg.generic` with two inputs and one output of the same float type whose body
is `out + a * b`, and linear indexing maps (no floordiv, no mod). On memrefs with static strides the
maps and layouts together are the integers of `strided_contraction`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir
from ted.schedules.strided_contraction import Dim

# Discardable attribute by which the steps before bufferization claim an op for the vector route.
MARK = "ted.contraction"
ELEMENT_BYTES = {"f32": 4, "f64": 8}


@dataclass(frozen=True)
class LinearMap:
    """Row r of a map: `offset[r] + sum(coefficients[r][d] * d)`."""

    coefficients: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]


def is_contraction(op: ir.OpView) -> bool:
    """Whether the op is a `linalg.generic` that sums products into its output."""
    if op.operation.name != "linalg.generic" or len(op.operands) != 3:
        return False
    shaped = [ir.ShapedType(operand.type) for operand in op.operands if _is_shaped(operand.type)]
    if len(shaped) != 3 or not all(kind.has_static_shape for kind in shaped):
        return False
    elements = {str(kind.element_type) for kind in shaped}
    if len(elements) != 1 or not elements <= ELEMENT_BYTES.keys():
        return False
    return (
        "reduction" in iterator_types(op)
        and _sums_products(op.regions[0].blocks[0])
        and all(linear_map(map_) is not None for map_ in indexing_maps(op))
        and None not in extents(op)
    )


def iterator_types(op: ir.OpView) -> list[str]:
    """'parallel' or 'reduction' per dim."""
    kinds = ir.ArrayAttr(op.attributes["iterator_types"])
    return [str(kind).split("<")[1].rstrip(">") for kind in kinds]


def indexing_maps(op: ir.OpView) -> list[ir.AffineMap]:
    """One map per operand."""
    return [ir.AffineMapAttr(a).value for a in ir.ArrayAttr(op.attributes["indexing_maps"])]


def linear_map(map_: ir.AffineMap) -> LinearMap | None:
    """The map as integers; None if it is not linear."""
    rows = [_linear(expr, map_.n_dims) for expr in map_.results]
    if any(row is None for row in rows):
        return None
    return LinearMap(
        tuple(tuple(row[:-1]) for row in rows if row), tuple(row[-1] for row in rows if row)
    )


def extents(op: ir.OpView) -> list[int | None]:
    """Extent per dim, from the operands that are indexed by that dim alone."""
    maps = indexing_maps(op)
    found: list[int | None] = [None] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        shape = ir.ShapedType(operand.type).shape
        for expr, size in zip(map_.results, shape, strict=True):
            if isinstance(expr, ir.AffineDimExpr):
                found[ir.AffineDimExpr(expr).position] = size
    return found


def strided_dims(op: ir.OpView) -> tuple[tuple[Dim, ...], tuple[int, ...]] | None:
    """Dims and the constant offsets in A, B, C of a marked op on memrefs; None if not static."""
    strides: list[list[int]] = []
    offsets: list[int] = []
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    for operand, map_ in zip(op.operands, indexing_maps(op), strict=True):
        steps, _ = ir.MemRefType(operand.type).get_strides_and_offset()
        linear = linear_map(map_)
        if linear is None or dynamic in steps:
            return None
        columns = zip(*linear.coefficients, strict=True)
        strides.append([sum(x * s for x, s in zip(col, steps, strict=True)) for col in columns])
        offsets.append(sum(x * s for x, s in zip(linear.offsets, steps, strict=True)))
    dims = tuple(
        Dim(size or 0, a, b, c, kind == "reduction")
        for size, a, b, c, kind in zip(extents(op), *strides, iterator_types(op), strict=True)
    )
    return dims, tuple(offsets)


def _is_shaped(type_: ir.Type) -> bool:
    return isinstance(type_, (ir.RankedTensorType, ir.MemRefType))


def _sums_products(block: ir.Block) -> bool:
    """Whether the block yields out + a * b, operands in any order."""
    ops = list(block.operations)
    if [op.operation.name for op in ops] != ["arith.mulf", "arith.addf", "linalg.yield"]:
        return False
    product, total, result = ops
    a, b, out = block.arguments
    factors, terms = list(product.operands), list(total.operands)
    return (
        factors in ([a, b], [b, a])
        and terms in ([out, product.result], [product.result, out])
        and list(result.operands) == [total.result]
    )


def _linear(expr: ir.AffineExpr, dims: int) -> list[int] | None:
    """Coefficients of the dims, then the constant."""
    row = [0] * (dims + 1)
    if isinstance(expr, ir.AffineConstantExpr):
        row[-1] = ir.AffineConstantExpr(expr).value
        return row
    if isinstance(expr, ir.AffineDimExpr):
        row[ir.AffineDimExpr(expr).position] = 1
        return row
    if not isinstance(expr, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    binary = ir.AffineBinaryExpr(expr)
    left, right = _linear(binary.lhs, dims), _linear(binary.rhs, dims)
    if left is None or right is None:
        return None
    if isinstance(expr, ir.AffineAddExpr):
        return [x + y for x, y in zip(left, right, strict=True)]
    if any(right[:-1]):  # canonical form has the constant on the right
        return None
    return [x * right[-1] for x in left]
