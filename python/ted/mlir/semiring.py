"""Addition and multiplication of one element type, float or integer, on scalars and vectors."""

from __future__ import annotations

from typing import Any, cast

from ted.mlir import arith, ir, vector

ADDITIONS = ("arith.addf", "arith.addi")
MULTIPLICATIONS = ("arith.mulf", "arith.muli")
FLOAT_OPERATIONS = ("arith.addf", "arith.mulf")
# The order of a contraction's sum is the schedule's choice.
FASTMATH = "#arith.fastmath<reassoc,contract>"


def is_float(type_: ir.Type) -> bool:
    """Whether the type is a float or a vector of floats."""
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.FloatType)


def zero(type_: ir.VectorType) -> ir.Value:
    """A vector of zeros."""
    element = type_.element_type
    kind = ir.FloatAttr.get(element, 0.0) if is_float(element) else ir.IntegerAttr.get(element, 0)
    attribute = ir.DenseElementsAttr.get_splat(type_, kind)
    return arith.ConstantOp(type_, cast(Any, attribute)).result


def add(left: ir.Value, right: ir.Value) -> ir.Value:
    """left + right."""
    if is_float(left.type):
        return arith.AddFOp(left, right, fastmath=ir.Attribute.parse(FASTMATH)).result
    return arith.AddIOp(left, right).result


def multiply(left: ir.Value, right: ir.Value) -> ir.Value:
    """left * right."""
    if is_float(left.type):
        return arith.MulFOp(left, right, fastmath=ir.Attribute.parse(FASTMATH)).result
    return arith.MulIOp(left, right).result


def multiply_add(left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """left * right + total on vectors, rounded once for floats."""
    if is_float(total.type):
        return vector.FMAOp(left, right, total).result
    return add(multiply(left, right), total)
