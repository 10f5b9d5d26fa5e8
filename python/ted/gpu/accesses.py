"""How operands move in memory along the dims of a box."""

from __future__ import annotations

from ted.gpu.bodies import Operand
from ted.linalg.contractions import element_strides
from ted.mlir import ir
from ted.mlir.affine_forms import linear

FAR = 1 << 30  # a step that is not known, or not the same everywhere


def byte_width(element: ir.Type) -> int:
    """Bytes of an element in memory."""
    return max(1, getattr(element, "width", 64) // 8)


def steps_along(operand: Operand, dim: int, rank: int) -> int:
    """By how many elements an access moves when a dim advances; FAR when it depends."""
    assert operand.amap is not None, "a scalar does not move"
    strides = element_strides(operand.value.type)
    if strides is None:
        return FAR
    total = 0
    for expr, stride in zip(operand.amap.results, strides, strict=True):
        form = linear(expr, rank)
        if form is None:
            return FAR
        total += form[0][dim] * stride
    return total


def start_of(operand: Operand) -> int:
    """Where the point of zeros lies, from the start of the view, in elements."""
    assert operand.amap is not None, "a scalar is not in memory"
    zeros = [ir.AffineExpr.get_constant(0)] * operand.amap.n_dims
    strides = element_strides(operand.value.type) or []
    total = 0
    for expr, stride in zip(operand.amap.results, strides, strict=True):
        value = ir.AffineExpr.simplify_affine_expr(
            expr.compose(ir.AffineMap.get(0, 0, zeros)), 0, 0
        ).maybe_downcast()
        total += ir.AffineConstantExpr(value).value * stride
    return total
