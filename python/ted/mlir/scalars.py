"""Small scalar builders shared by the lowerings: constants, affine values, casts, conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from ted.mlir import affine, arith, ir, scf
from ted.mlir.affine_forms import operands_of, symbols_used

WIDER = {"f16": "f32", "bf16": "f32"}


def is_float(kind: ir.Type) -> bool:
    """Whether the type is a floating-point one."""
    return isinstance(kind, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type))


def constant(kind: ir.Type, value: float) -> ir.Value:
    """A constant of a float, integer or index type; infinities allowed for floats."""
    is_real = is_float(kind)
    attribute = ir.FloatAttr.get(kind, value) if is_real else ir.IntegerAttr.get(kind, int(value))
    return constant_from(kind, attribute)


def constant_from(kind: ir.Type, attribute: ir.Attribute) -> ir.Value:
    """A constant given as an attribute."""
    made: Any = attribute  # the stub of the operation knows numbers only
    return arith.ConstantOp(kind, made).result


def index(value: int) -> ir.Value:
    """A constant of type index."""
    return constant(ir.IndexType.get(), value)


def affine_value(
    expr: ir.AffineExpr, dims: Sequence[ir.Value], symbols: Sequence[ir.Value] = ()
) -> ir.Value:
    """The value of an affine expression at the given dims and symbols."""
    if isinstance(expr, ir.AffineConstantExpr):
        return index(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    if symbols_used(expr):
        return _with_symbols(expr, dims, symbols)
    used = ir.AffineMap.get(len(dims), 0, [expr])
    return affine.AffineApplyOp(ir.AffineMapAttr.get(used), list(dims)).result


def _with_symbols(
    expr: ir.AffineExpr, dims: Sequence[ir.Value], symbols: Sequence[ir.Value]
) -> ir.Value:
    # A yielded index is no affine symbol for the verifier, so the sum is built with arith.
    left, right = operands_of(expr)
    a, b = affine_value(left, dims, symbols), affine_value(right, dims, symbols)
    if isinstance(expr, ir.AffineAddExpr):
        return arith.AddIOp(a, b).result
    if isinstance(expr, ir.AffineMulExpr):
        return arith.MulIOp(a, b).result
    if isinstance(expr, ir.AffineFloorDivExpr):
        return arith.FloorDivSIOp(a, b).result
    quotient = arith.FloorDivSIOp(a, b).result
    return arith.SubIOp(a, arith.MulIOp(quotient, b).result).result


def all_of(conditions: Iterable[ir.Value]) -> ir.Value:
    """Whether all of some conditions hold, one at least."""

    def both(left: ir.Value, right: ir.Value) -> ir.Value:
        return arith.AndIOp(left, right).result

    return reduce(both, conditions)


def conditional(
    condition: ir.Value,
    types: list[ir.Type],
    then: Callable[[], list[ir.Value]],
    otherwise: Callable[[], list[ir.Value]],
) -> list[ir.Value]:
    """`scf.if` with results from two builders; memory is the same behind both."""
    mobile = [k for k, kind in enumerate(types) if not isinstance(kind, ir.MemRefType)]
    op = scf.IfOp(condition, [types[k] for k in mobile], has_else=True)
    with ir.InsertionPoint(op.then_block):
        found = then()
        scf.YieldOp([found[k] for k in mobile])
    otherwise_block = op.else_block
    assert otherwise_block is not None, "made with an else block"
    with ir.InsertionPoint(otherwise_block):
        others = otherwise()
        scf.YieldOp([others[k] for k in mobile])
    results = dict(zip(mobile, op.results, strict=True))
    return [results.get(k, value) for k, value in enumerate(found)]


def element_type(value: ir.Value) -> ir.Type:
    """Element type of a tensor or memref."""
    return ir.ShapedType(value.type).element_type


def byte_width(element: ir.Type) -> int:
    """Bytes of an element in memory; of an index those of an address."""
    return max(1, getattr(element, "width", 64) // 8)


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Shape of a tensor or memref."""
    return tuple(ir.ShapedType(value.type).shape)


def wider(kind: ir.Type) -> ir.Type:
    """The type in which sums of `kind` accumulate."""
    found = WIDER.get(str(kind))
    return kind if found is None else ir.Type.parse(found)


def widened(value: ir.Value, kind: ir.Type) -> ir.Value:
    """A float in a wider type."""
    return value if value.type == kind else arith.ExtFOp(kind, value).result


def narrowed(value: ir.Value, kind: ir.Type) -> ir.Value:
    """A float in a narrower type."""
    return value if value.type == kind else arith.TruncFOp(kind, value).result
