"""Numbers of points: a linear index -> the dims of a box, affine expressions -> values."""

from __future__ import annotations

from collections.abc import Sequence

from ted.mlir import affine, arith, ir
from ted.mlir.building import constant


def delinearized(linear: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    """The dims of point number `linear` of a box, the last dim fastest."""
    dims: list[ir.Value] = []
    rest = linear
    outermost = next((k for k, e in enumerate(extents) if e != 1), 0)
    for k in reversed(range(len(extents))):
        if extents[k] == 1:
            dims.append(constant(0))
        elif k == outermost:
            dims.append(rest)
        else:
            size = constant(extents[k])
            dims.append(arith.RemUIOp(rest, size).result)
            rest = arith.DivUIOp(rest, size).result
    return dims[::-1]


def linearized(dims: Sequence[ir.Value], extents: Sequence[int]) -> ir.Value:
    """The number of a point of a box, the last dim fastest."""
    total = constant(0)
    for dim, extent in zip(dims, extents, strict=True):
        total = plus(times(total, extent), dim)
    return total


def apply(expr: ir.AffineExpr, dims: Sequence[ir.Value]) -> ir.Value:
    """The value of an affine expression of dims."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return constant(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    amap = ir.AffineMap.get(len(dims), 0, [expr])
    return affine.AffineApplyOp(ir.AffineMapAttr.get(amap), list(dims)).result


def below(value: ir.Value, bound: int) -> ir.Value:
    """value < bound, both not negative."""
    return arith.CmpIOp(arith.CmpIPredicate.ult, value, constant(bound)).result


def plus(left: ir.Value, right: ir.Value | int) -> ir.Value:
    """left + right."""
    if right == 0:
        return left
    return arith.AddIOp(left, constant(right)).result


def times(left: ir.Value, factor: int) -> ir.Value:
    """left * factor."""
    return left if factor == 1 else arith.MulIOp(left, constant(factor)).result
