"""The table between scalar operations of equations and the `arith` and `math` ops that spell them.

One row per operation and kind of type; both directions read the same rows. What one op cannot say
(`neg` of integers, `mod`, casts) is spelled by the functions at the end, and read back by
`ted.ir.from_body`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ted.ir.constants import Constant
from ted.ir.dtypes import BFLOAT16, BOOL, FLOAT32, INDEX, INT64, DType, with_sign_of
from ted.ir.expressions import Expr
from ted.mlir import ir

# Operation -> (op on floats, op on integers and indices, op on bools); None where there is none.
# `_UNSIGNED` has what is another op on integers without a sign.
_ROWS: dict[str, tuple[str | None, str | None, str | None]] = {
    "add": ("arith.addf", "arith.addi", None),
    "sub": ("arith.subf", "arith.subi", None),
    "mul": ("arith.mulf", "arith.muli", None),
    "div": ("arith.divf", None, None),
    "fmod": ("arith.remf", None, None),
    "bitand": (None, "arith.andi", None),
    "bitor": (None, "arith.ori", None),
    "bitxor": (None, "arith.xori", None),
    "shiftleft": (None, "arith.shli", None),
    "shiftright": (None, "arith.shrsi", None),
    "floordiv": (None, "arith.floordivsi", None),
    "maximum": ("arith.maximumf", "arith.maxsi", None),
    "minimum": ("arith.minimumf", "arith.minsi", None),
    "neg": ("arith.negf", None, None),
    "abs": ("math.absf", "math.absi", None),
    "and": (None, None, "arith.andi"),
    "or": (None, None, "arith.ori"),
    "select": ("arith.select", "arith.select", "arith.select"),
    "stop_gradient": ("ted.stop_gradient", None, None),
    "round": ("math.roundeven", None, None),
    "pow": ("math.powf", None, None),
    **{
        name: (f"math.{name}", None, None)
        for name in (
            "sqrt", "rsqrt", "cbrt", "floor", "ceil", "trunc", "exp", "exp2", "expm1", "log",
            "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
            "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "atan2",
        )
    },
}  # fmt: skip

_UNSIGNED = {
    "shiftright": "arith.shrui",
    "floordiv": "arith.divui",
    "mod": "arith.remui",
    "maximum": "arith.maxui",
    "minimum": "arith.minui",
}
_COLUMN = {"float": 0, "int": 1, "index": 1, "bool": 2}

# op -> operation, for the rows that are read back by name alone.
OPERATION_OF = {op: name for name, row in _ROWS.items() for op in row if op is not None}
OPERATION_OF |= {op: name for name, op in _UNSIGNED.items()}

# How ops read the bits of integers; what is not listed does the same with and without a sign.
SIGNED_OPS = frozenset(_ROWS[name][1] for name in _UNSIGNED if name in _ROWS) | {
    "math.absi", "arith.extsi", "arith.sitofp", "arith.index_cast",
}  # fmt: skip
UNSIGNED_OPS = frozenset(_UNSIGNED.values()) | {
    "arith.extui", "arith.uitofp", "arith.index_castui",
}  # fmt: skip

# Comparison -> its code in `arith.cmpf`, in `arith.cmpi`, and in `arith.cmpi` without a sign.
COMPARISONS = {"lt": (4, 2, 6), "le": (5, 3, 7), "eq": (1, 0, 0), "ne": (13, 1, 1)}


def mlir_type(dtype: DType) -> ir.Type:
    """The scalar type of a dtype, in the current context; MLIR's have no sign."""
    return ir.Type.parse(dtype.scalar)


def element_type(dtype: DType) -> ir.Type:
    """The type of the elements of a tensor, which says whether there is a sign."""
    return ir.Type.parse(dtype.mlir)


def constant(value: float | int | bool, dtype: DType) -> ir.Value:
    """Insert `arith.constant`."""
    kind = mlir_type(dtype)
    if dtype.is_float:
        attribute: ir.Attribute = ir.FloatAttr.get(kind, float(value))
    else:
        attribute = ir.IntegerAttr.get(kind, _signed(int(value), dtype))
    return _insert("arith.constant", [], kind, {"value": attribute})


def _signed(value: int, dtype: DType) -> int:
    """The number that MLIR has for the bits of an integer."""
    return with_sign_of(dtype, INT64).wrapped(value) if dtype.is_unsigned else value


def dense(values: Constant) -> ir.Value:
    """Insert `arith.constant` of a tensor."""
    element, bits = mlir_type(values.dtype), values.array
    kind = ir.RankedTensorType.get(values.shape, element)
    if values.dtype == BFLOAT16:
        bits = bits.view(np.uint16)
    if values.dtype.is_unsigned:
        bits = bits.view(with_sign_of(values.dtype, INT64).dtype)
    attribute = ir.DenseElementsAttr.get(bits, type=element, shape=list(values.shape))
    made = _insert("arith.constant", [], kind, {"value": attribute})
    return as_elements(made, values.dtype)


def as_elements(tensor: ir.Value, dtype: DType) -> ir.Value:
    """A tensor of scalars of MLIR as one of a dtype: `tensor.bitcast` where it has no sign."""
    if not dtype.is_unsigned:
        return tensor
    kind = ir.RankedTensorType(tensor.type)
    wanted = ir.RankedTensorType.get(kind.shape, element_type(dtype), kind.encoding)
    return _insert("tensor.bitcast", [tensor], wanted)


def spell(node: Expr, args: Sequence[ir.Value]) -> ir.Value:
    """Insert the ops of one operation on values."""
    if node.op in COMPARISONS:
        return _compare(node.op, node.args[0].dtype, args)
    if node.op in _SPECIAL:
        return _SPECIAL[node.op](node, args)
    name = _op_name(node.op, node.dtype)
    assert name is not None, f"{node.op}: no op on {node.dtype}"
    return _insert(name, args, mlir_type(node.dtype))


def _op_name(operation: str, dtype: DType) -> str | None:
    if dtype.is_unsigned and operation in _UNSIGNED:
        return _UNSIGNED[operation]
    return _ROWS[operation][_COLUMN[dtype.kind]]


def tensor_type(shape: Sequence[int], dtype: DType) -> ir.RankedTensorType:
    """The tensor type of a shape and dtype, in the current context."""
    return ir.RankedTensorType.get(list(shape), element_type(dtype))


def _insert(
    name: str,
    operands: Sequence[ir.Value],
    kind: ir.Type,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=attributes
    ).results[0]


def _compare(name: str, dtype: DType, args: Sequence[ir.Value]) -> ir.Value:
    code = COMPARISONS[name][2 if dtype.is_unsigned else _COLUMN[dtype.kind]]
    i64 = ir.IntegerType.get_signless(64)
    op = "arith.cmpf" if dtype.is_float else "arith.cmpi"
    return _insert(op, args, mlir_type(BOOL), {"predicate": ir.IntegerAttr.get(i64, code)})


def _neg(node: Expr, args: Sequence[ir.Value]) -> ir.Value:
    if node.dtype.is_float:
        return _insert("arith.negf", args, mlir_type(node.dtype))
    return _insert("arith.subi", [constant(0, node.dtype), *args], mlir_type(node.dtype))


def _not(_: Expr, args: Sequence[ir.Value]) -> ir.Value:
    return _insert("arith.xori", [*args, constant(True, BOOL)], mlir_type(BOOL))


def _mod(node: Expr, args: Sequence[ir.Value]) -> ir.Value:
    kind = mlir_type(node.dtype)
    if node.dtype.is_unsigned:
        return _insert(_UNSIGNED["mod"], args, kind)
    quotient = _insert("arith.floordivsi", args, kind)
    multiple = _insert("arith.muli", [quotient, args[1]], kind)
    return _insert("arith.subi", [args[0], multiple], kind)


def _cast(node: Expr, args: Sequence[ir.Value]) -> ir.Value:
    (value,) = args
    return cast_value(value, node.args[0].dtype, node.dtype)


def cast_value(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Insert the conversion between two types: floats truncate, bool is `value != 0`."""
    if source == target or mlir_type(source) == mlir_type(target):
        return value
    if target == BOOL:
        return _compare("ne", source, [value, constant(0, source)])
    step = _via(source, target)
    if step is not None:
        return cast_value(cast_value(value, source, step), step, target)
    name = _CASTS[_cast_key(source, target)]
    if source.is_unsigned or target.is_unsigned:
        name = _WITHOUT_SIGN.get((name, source.is_unsigned, target.is_unsigned), name)
    return _insert(name, [value], mlir_type(target))


def _via(source: DType, target: DType) -> DType | None:
    """A type in between, where there is no op for the whole way."""
    if {source.kind, target.kind} == {"index", "float"}:
        return INT64
    if source.is_float and target.is_float and source.bits == target.bits:
        return FLOAT32
    return None


def _cast_key(source: DType, target: DType) -> tuple[str, str, bool]:
    return source.kind, target.kind, target.bits > source.bits


_CASTS = {
    ("float", "float", True): "arith.extf",
    ("float", "float", False): "arith.truncf",
    ("int", "float", True): "arith.sitofp",
    ("int", "float", False): "arith.sitofp",
    ("bool", "float", True): "arith.uitofp",
    ("float", "int", True): "arith.fptosi",
    ("float", "int", False): "arith.fptosi",
    ("int", "int", True): "arith.extsi",
    ("int", "int", False): "arith.trunci",
    ("bool", "int", True): "arith.extui",
    ("int", "index", True): "arith.index_cast",
    ("int", "index", False): "arith.index_cast",
    ("index", "int", False): "arith.index_cast",
    ("bool", "index", True): "arith.index_castui",
}
# (op on integers with a sign, the source has none, the target has none) -> the op for them
_WITHOUT_SIGN = {
    **{(op, True, target): new for target in (False, True) for op, new in (
        ("arith.sitofp", "arith.uitofp"), ("arith.extsi", "arith.extui"),
        ("arith.index_cast", "arith.index_castui"))},
    ("arith.fptosi", False, True): "arith.fptoui",
    ("arith.index_cast", False, True): "arith.index_castui",
}  # fmt: skip
CAST_OPS = frozenset(_CASTS.values()) | frozenset(_WITHOUT_SIGN.values())

_SPECIAL: dict[str, Callable[[Expr, Sequence[ir.Value]], ir.Value]] = {
    "neg": _neg,
    "not": _not,
    "mod": _mod,
    "cast": _cast,
    "unchecked": lambda _, args: args[0],  # the op that uses the index says so
}

assert INDEX.bits == INT64.bits, "index casts are written for 64-bit indices"
