"""The least and the greatest value of an index, from the bounds of loops around it."""

from __future__ import annotations

from ted.domain.intervals import OPERATIONS, Interval
from ted.mlir import ir
from ted.mlir.affine_forms import down, operands_of
from ted.mlir.affine_ranges import RULES
from ted.mlir.queries import constant_of, defining

Range = tuple[int, int]
_ARITHMETIC = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}


def range_of(value: ir.Value) -> Range | None:
    """Both ends included; None if it is not known."""
    known = constant_of(value)
    if known is not None:
        return known, known
    if isinstance(value.owner, ir.Block):
        return _of_counter(value)
    op = defining(value)
    assert op is not None, "not a block argument"
    operands = [range_of(o) for o in op.operands]
    ranges = [r for r in operands if r is not None]
    if len(ranges) < len(operands):
        return None
    if op.name in ("affine.apply", "affine.max", "affine.min"):
        return _of_map(op, ranges)
    if op.name in _ARITHMETIC:
        return _whole(OPERATIONS[_ARITHMETIC[op.name]](*ranges))
    return None


def _of_counter(value: ir.Value) -> Range | None:
    block = value.owner
    assert isinstance(block, ir.Block), "a block argument"
    loop = block.owner.operation
    if loop.name != "scf.for" or value != block.arguments[0]:
        return None
    low, high = range_of(loop.operands[0]), range_of(loop.operands[1])
    if low is None or high is None:
        return None
    return low[0], max(low[0], high[1] - 1)


def _of_map(op: ir.Operation, ranges: list[Range]) -> Range:
    amap = ir.AffineMapAttr(op.attributes["map"]).value
    found = [_of_expr(e, ranges[: amap.n_dims], ranges[amap.n_dims :]) for e in amap.results]
    choose = min if op.name == "affine.min" else max
    return choose(low for low, _ in found), choose(high for _, high in found)


def _of_expr(expr: ir.AffineExpr, dims: list[Range], symbols: list[Range]) -> Range:
    expr = down(expr)
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    left, right = (_of_expr(e, dims, symbols) for e in operands_of(expr))
    return _whole(RULES[type(expr).__name__](left, right))


def _whole(found: Interval) -> Range:
    return int(found[0]), int(found[1])  # of ends that are known
