"""Arithmetic on 32-bit numbers that are known or computed by the kernel, folded while built.

Positions inside operands fit 31 bits (the planner declines others), so kernels count in i32, where
the GPU is twice as fast, and widen a position only to address memory. Nothing here is negative but
offsets, so division and remainder are unsigned.
"""

from __future__ import annotations

from ted.gpu.templates.problem import Layout
from ted.mlir import arith, gpu, ir

Number = int | ir.Value
Condition = bool | ir.Value
NO_WRAP = "#arith.overflow<nsw>"


def constant(value: Number) -> ir.Value:
    """The number as an SSA value of type i32."""
    if not isinstance(value, int):
        return value
    return arith.ConstantOp(ir.IntegerType.get_signless(32), value).result


def index(value: Number) -> ir.Value:
    """The number as an SSA value of type index."""
    if isinstance(value, int):
        return arith.ConstantOp(ir.IndexType.get(), value).result
    return arith.IndexCastOp(ir.IndexType.get(), value).result


def add(left: Number, right: Number) -> Number:
    """left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0 or right == 0:
        return right if isinstance(left, int) else left
    flags = ir.Attribute.parse(NO_WRAP)
    return arith.AddIOp(constant(left), constant(right), overflowFlags=flags).result


def total(*terms: Number) -> Number:
    """The sum of the terms, the known ones first."""
    known = sum(term for term in terms if isinstance(term, int))
    result: Number = 0
    for term in terms:
        if not isinstance(term, int):
            result = add(result, term)
    return add(result, known)


def subtract(left: Number, right: Number) -> Number:
    """left - right."""
    if isinstance(right, int):
        return add(left, -right)
    return arith.SubIOp(constant(left), right).result


def scale(value: Number, factor: int) -> Number:
    """value * factor."""
    if isinstance(value, int) or factor in (0, 1):
        return value if factor == 1 else value * factor if isinstance(value, int) else 0
    flags = ir.Attribute.parse(NO_WRAP)
    return arith.MulIOp(value, constant(factor), overflowFlags=flags).result


def divide(value: Number, factor: int) -> Number:
    """value // factor."""
    if isinstance(value, int) or factor == 1:
        return value if factor == 1 else value // factor if isinstance(value, int) else value
    return arith.DivUIOp(value, constant(factor)).result


def remainder(value: Number, factor: int) -> Number:
    """value % factor."""
    if factor == 1:
        return 0
    if isinstance(value, int):
        return value % factor
    return arith.RemUIOp(value, constant(factor)).result


def exclusive_or(left: Number, right: Number) -> Number:
    """left ^ right."""
    if isinstance(left, int) and isinstance(right, int):
        return left ^ right
    return arith.XOrIOp(constant(left), constant(right)).result


def minimum(value: Number, bound: int) -> Number:
    """min(value, bound)."""
    if isinstance(value, int):
        return min(value, bound)
    return arith.MinUIOp(value, constant(bound)).result


def smaller(left: Number, right: Number) -> Number:
    """The smaller of two numbers."""
    if isinstance(right, int):
        return minimum(left, right)
    return arith.MinUIOp(constant(left), right).result


def less(left: Number, right: Number) -> Condition:
    """left < right."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    return arith.CmpIOp(arith.CmpIPredicate.ult, constant(left), constant(right)).result


def equal(left: Number, right: Number) -> Condition:
    """left == right."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return arith.CmpIOp(arith.CmpIPredicate.eq, constant(left), constant(right)).result


def both(left: Condition, right: Condition) -> Condition:
    """left and right."""
    if isinstance(left, bool) or isinstance(right, bool):
        known, other = (left, right) if isinstance(left, bool) else (right, left)
        return other if known else False
    return arith.AndIOp(left, right).result


def choose(condition: Condition, then: ir.Value, otherwise: ir.Value) -> ir.Value:
    """then if condition else otherwise."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return arith.SelectOp(condition, then, otherwise).result


def choose_number(condition: Condition, then: Number, otherwise: Number) -> Number:
    """then if condition else otherwise, of numbers."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return choose(condition, constant(then), constant(otherwise))


def thread() -> ir.Value:
    """The number of the thread in its block."""
    return _small(gpu.ThreadIdOp(gpu.Dimension.x).result)


def block() -> ir.Value:
    """The number of the block in the grid."""
    return _small(gpu.BlockIdOp(gpu.Dimension.x).result)


def _small(value: ir.Value) -> ir.Value:
    return arith.IndexCastOp(ir.IntegerType.get_signless(32), value).result


def offset(number: Number, layout: Layout) -> Number:
    """Where an operand has the given number of an index: one term per dim of the layout."""
    terms: list[Number] = []
    for place, (extent, stride) in enumerate(reversed(layout.groups)):
        outermost = place + 1 == len(layout.groups)
        terms.append(scale(number if outermost else remainder(number, extent), stride))
        number = number if outermost else divide(number, extent)
    return total(*terms)
