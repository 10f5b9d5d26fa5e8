"""How scalar operations are spelled in MLIR: one table, used for writing and for reading.

`%` on integers has no op that rounds down; it is written a - (a floordiv b) * b.
"""

from __future__ import annotations

from collections.abc import Callable

from ted.ir.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INDEX, INT64, DType
from ted.mlir import ir

# operation -> op on floats, op on integers and indices, op on bools; None where there is none.
SPELLING: dict[str, tuple[str | None, str | None, str | None]] = {
    "add": ("arith.addf", "arith.addi", None),
    "sub": ("arith.subf", "arith.subi", None),
    "mul": ("arith.mulf", "arith.muli", None),
    "div": ("arith.divf", None, None),
    "floordiv": (None, "arith.floordivsi", None),
    "maximum": ("arith.maximumf", "arith.maxsi", None),
    "minimum": ("arith.minimumf", "arith.minsi", None),
    "neg": ("arith.negf", None, None),
    "abs": ("math.absf", "math.absi", None),
    "and": (None, None, "arith.andi"),
    "or": (None, None, "arith.ori"),
    "not": (None, None, "arith.xori"),
    "select": ("arith.select", "arith.select", "arith.select"),
    "round": ("math.roundeven", None, None),
    "pow": ("math.powf", None, None),
    "stop_gradient": ("ted.stop_gradient", None, None),
    **{
        name: (f"math.{name}", None, None)
        for name in (
            "sqrt", "rsqrt", "cbrt", "floor", "ceil", "trunc", "exp", "exp2", "expm1", "log",
            "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
            "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "atan2",
        )
    },
}  # fmt: skip

_KIND = {"float": 0, "int": 1, "index": 1, "bool": 2}

# Comparison -> predicate of arith.cmpf (ne is true on NaN), of arith.cmpi signed and unsigned.
CMPF = {"eq": 1, "lt": 4, "le": 5, "ne": 13}
CMPI = {"eq": 0, "ne": 1, "lt": 2, "le": 3}
CMPI_BOOL = {"eq": 0, "ne": 1, "lt": 6, "le": 7}


def spelled(name: str, dtype: DType) -> str | None:
    """The op of an operation on operands of `dtype`; None when it takes more than one op."""
    row = SPELLING.get(name)
    return None if row is None else row[_KIND[dtype.kind]]


READING: dict[str, str] = {
    op: name for name, row in SPELLING.items() for op in row if op is not None
}

# arith.cmpf / arith.cmpi predicate -> (comparison, operands swapped, negated)
READ_CMPF: dict[int, tuple[str, bool, bool]] = {
    1: ("eq", False, False), 2: ("lt", True, False), 3: ("le", True, False),
    4: ("lt", False, False), 5: ("le", False, False), 13: ("ne", False, False),
    9: ("le", False, True), 10: ("lt", False, True), 11: ("le", True, True),
    12: ("lt", True, True),
}  # fmt: skip
READ_CMPI: dict[int, tuple[str, bool, bool]] = {
    0: ("eq", False, False), 1: ("ne", False, False), 2: ("lt", False, False),
    3: ("le", False, False), 4: ("lt", True, False), 5: ("le", True, False),
}  # fmt: skip


def mlir_type(dtype: DType) -> ir.Type:
    """The scalar type in the current context."""
    return ir.Type.parse(dtype.mlir)


def tensor_type(shape: tuple[int, ...], dtype: DType) -> ir.RankedTensorType:
    """The tensor type in the current context."""
    return ir.RankedTensorType.get(shape, mlir_type(dtype))


def constant_attribute(value: float, dtype: DType) -> ir.Attribute:
    """A number as an attribute of its type."""
    if dtype.is_float:
        return ir.FloatAttr.get(mlir_type(dtype), float(value))
    return ir.IntegerAttr.get(mlir_type(dtype), int(value))


Emit = Callable[[str, list[ir.Value], ir.Type], ir.Value]


def emit_cast(value: ir.Value, source: DType, target: DType, emit: Emit) -> ir.Value:
    """Convert a scalar, by as many ops as MLIR needs."""
    result = mlir_type(target)
    if source == INDEX and target != INDEX:
        wide = emit("arith.index_cast", [value], mlir_type(INT64))
        return wide if target == INT64 else emit_cast(wide, INT64, target, emit)
    if target == INDEX:
        op = "arith.index_castui" if source == BOOL else "arith.index_cast"
        return emit(op, [value], result)
    if {source, target} == {FLOAT16, BFLOAT16}:
        return emit("arith.truncf", [emit("arith.extf", [value], mlir_type(FLOAT32))], result)
    if source.is_float and target.is_float:
        op = "arith.extf" if target.bits > source.bits else "arith.truncf"
    elif source.is_float:
        op = "arith.fptosi"
    elif target.is_float:
        op = "arith.uitofp" if source == BOOL else "arith.sitofp"
    elif source == BOOL:
        op = "arith.extui"
    else:
        op = "arith.extsi" if target.bits > source.bits else "arith.trunci"
    return emit(op, [value], result)


CASTS = frozenset(
    {"arith.index_cast", "arith.index_castui", "arith.extf", "arith.truncf", "arith.fptosi",
     "arith.uitofp", "arith.sitofp", "arith.extui", "arith.extsi", "arith.trunci"}
)  # fmt: skip
