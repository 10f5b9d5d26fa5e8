"""What every scalar op of a body computes, on numpy scalars of exactly its element type.

`index` values are Python integers, all other types are numpy's (bf16 from ml_dtypes).  Integers
wrap, floats round after every op, NaN passes through maximumf and minimumf.  Bodies compute f16 and
bf16 in f32 (`COMPUTED_IN`), and round once what an equation stores and what a program converts.
The weights of the operation count stand in `WEIGHTS`; an op that is missing there is free.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ted.errors import ExecutionError
from ted.mlir import ir

NUMPY_TYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_,
    "ui64": np.uint64, "ui32": np.uint32, "ui16": np.uint16, "ui8": np.uint8, "index": int,
}  # fmt: skip
_BITS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1, "index": 64}

# Elements of tensors -> scalars of bodies, where these differ.
COMPUTED_IN = {
    "f16": "f32", "bf16": "f32", "ui64": "i64", "ui32": "i32", "ui16": "i16", "ui8": "i8",
}  # fmt: skip

Function = Callable[..., Any]


class NotEvaluated(ExecutionError):
    """A program of which the interpreter cannot say anything, right or wrong."""


def computed_in(kind: object) -> str:
    """The type in which bodies compute with numbers of an element type."""
    return COMPUTED_IN.get(str(kind), str(kind))


def zero(type_name: str) -> Any:
    """The 0 that a read outside its guard gives."""
    return NUMPY_TYPES[type_name](0)


# ------------------------------------------------------------------ integers


def signed(value: Any) -> int:
    """The two's complement value; a true i1 is -1."""
    return -int(value) if isinstance(value, np.bool_) else int(value)


def unsigned(value: Any, bits: int) -> int:
    """The value of the same bits read without a sign."""
    return signed(value) & ((1 << bits) - 1)


def wrap(value: int, type_name: str) -> Any:
    """An integer of a type from any Python integer, keeping the low bits."""
    bits = _BITS[type_name]
    if bits == 1:
        return np.bool_(value & 1)
    value = ((value + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
    return NUMPY_TYPES[type_name](value)


def _nonzero(divisor: int) -> int:
    if divisor == 0:
        raise ExecutionError("integer division: a divisor other than 0, got 0")
    return divisor


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(_nonzero(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncated_remainder(a: int, b: int) -> int:
    return a - b * _truncated_quotient(a, b)


_SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": _truncated_quotient,
    "arith.remsi": _truncated_remainder,
    "arith.floordivsi": lambda a, b: a // _nonzero(b),
    "arith.ceildivsi": lambda a, b: -(-a // _nonzero(b)),
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
}
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.divui": lambda a, b: a // _nonzero(b),
    "arith.remui": lambda a, b: a % _nonzero(b),
    "arith.ceildivui": lambda a, b: -(-a // _nonzero(b)),
    "arith.maxui": max,
    "arith.minui": min,
    "arith.shrui": operator.rshift,
}
_COMPARE = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_CMPF = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def _integer_function(name: str, type_name: str) -> Function:
    bits = _BITS[type_name]
    if name in _SIGNED:
        f = _SIGNED[name]
        return lambda a, b: wrap(f(signed(a), signed(b)), type_name)
    g = _UNSIGNED[name]
    return lambda a, b: wrap(g(unsigned(a, bits), unsigned(b, bits)), type_name)


def _compare_integers(predicate: str, bits: int) -> Function:
    compare = _COMPARE[predicate[-2:]]
    if predicate in ("ult", "ule", "ugt", "uge"):
        return lambda a, b: np.bool_(compare(unsigned(a, bits), unsigned(b, bits)))
    return lambda a, b: np.bool_(compare(signed(a), signed(b)))


def _compare_floats(predicate: str) -> Function:
    if predicate in ("true", "false"):
        return lambda a, b: np.bool_(predicate == "true")
    if predicate in ("ord", "uno"):
        return lambda a, b: np.bool_((a != a or b != b) == (predicate == "uno"))
    compare, unordered = _COMPARE[predicate[1:]], predicate[0] == "u"
    return lambda a, b: np.bool_(unordered if a != a or b != b else compare(a, b))


# ------------------------------------------------------------------ floats


def maximum(a: Any, b: Any) -> Any:
    """The larger; NaN if either is NaN; +0 above -0."""
    if a != a or b != b:
        return a + b
    if a == b:
        return a + b if a == 0 else a
    return a if a > b else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller; NaN if either is NaN; -0 below +0."""
    return -maximum(-a, -b)


def _ignoring_nan(choose: Function) -> Function:
    return lambda a, b: b if a != a else a if b != b else choose(a, b)


def _through_double(f: Callable[[float], float]) -> Function:
    return lambda x: type(x)(f(np.float64(x)))


def _half_away(x: Any) -> Any:
    whole = np.trunc(x)
    return whole + np.copysign(type(x)(1), x) if abs(x - whole) >= 0.5 else whole


def _to_integer(type_name: str, low: int, high: int) -> Function:
    """Truncation towards zero; values outside the type saturate and NaN gives 0."""

    def convert(x: Any) -> Any:
        if x != x:
            return zero(type_name)
        if np.isinf(x):
            return wrap(high if x > 0 else low, type_name)
        return wrap(min(max(int(x), low), high), type_name)

    return convert


FLOAT_FUNCTIONS: dict[str, Function] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
    "arith.negf": operator.neg,
    "arith.remf": np.fmod,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
    "arith.maxnumf": _ignoring_nan(maximum),
    "arith.minnumf": _ignoring_nan(minimum),
    "math.absf": abs,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
    "math.erf": _through_double(math.erf),
    "math.erfc": _through_double(math.erfc),
    "math.fma": lambda a, b, c: type(a)(np.longdouble(a) * np.longdouble(b) + np.longdouble(c)),
    "math.fpowi": lambda a, n: type(a)(np.float64(a) ** int(n)),
    "math.powf": np.power,
    "math.round": _half_away,
    "math.roundeven": np.rint,
    "math.rsqrt": _through_double(lambda x: 1 / np.sqrt(x)),
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atanh": np.arctanh,
    "math.isnan": np.isnan,
    "math.isinf": np.isinf,
    "math.isfinite": np.isfinite,
    **{
        f"math.{n}": getattr(np, n)
        for n in (
            "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "log", "log10",
            "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
}  # fmt: skip

# ------------------------------------------------------------------ one function per op


def scalar_function(op: ir.Operation) -> Function:
    """The function of an op's operands that gives its one result.

    Raises: NotEvaluated for an op without a meaning here.
    """
    name, target = op.name, str(op.results[0].type)
    source = str(op.operands[0].type) if len(op.operands) else ""
    if name == "arith.constant":
        value = constant_value(op)
        return lambda: value
    if name == "arith.select":
        return lambda c, a, b: a if c else b
    if name == "ted.stop_gradient":
        return lambda a: a
    if name == "arith.cmpi":
        predicate = _CMPI[ir.IntegerAttr(op.attributes["predicate"]).value]
        return _compare_integers(predicate, _BITS[source])
    if name == "arith.cmpf":
        return _compare_floats(_CMPF[ir.IntegerAttr(op.attributes["predicate"]).value])
    if name in FLOAT_FUNCTIONS:
        return FLOAT_FUNCTIONS[name]
    if name in _SIGNED or name in _UNSIGNED:
        return _integer_function(name, target)
    if name == "math.absi":
        return lambda a: wrap(abs(signed(a)), target)
    conversion = _conversion(name, source, target)
    if conversion is None:
        raise NotEvaluated(f"interpreter: an op with known meaning, got {name}")
    return conversion


def _rounding(type_name: str) -> Function:
    """The nearest number of a float type, as bodies compute with it."""
    make = NUMPY_TYPES[type_name]
    if COMPUTED_IN.get(type_name) != "f32":
        return make
    return lambda a: np.float32(make(_odd(a) if isinstance(a, np.float64) else np.float32(a)))


def _odd(a: np.float64) -> np.float32:
    """An f32 that rounds on as the f64 would: an inexact one is the neighbour with an odd bit."""
    near = np.float32(a)
    if np.isnan(a) or float(near) == float(a) or int(near.view(np.int32)) & 1:
        return near
    return np.nextafter(near, np.float32(np.inf if float(near) < float(a) else -np.inf))


def _conversion(name: str, source: str, target: str) -> Function | None:
    make = _rounding(target) if target in COMPUTED_IN else NUMPY_TYPES.get(target)
    bits = _BITS.get(source, 0)
    if make is None:
        return None
    if name in ("arith.extf", "arith.truncf"):
        return make
    if name == "arith.sitofp":
        return lambda a: make(signed(a))
    if name == "arith.uitofp":
        return lambda a: make(unsigned(a, bits))
    if name == "arith.fptosi":
        return _to_integer(target, -(1 << (_BITS[target] - 1)), (1 << (_BITS[target] - 1)) - 1)
    if name == "arith.fptoui":
        return _to_integer(target, 0, (1 << _BITS[target]) - 1)
    if name in ("arith.extsi", "arith.trunci", "arith.index_cast"):
        return lambda a: wrap(signed(a), target)
    if name in ("arith.extui", "arith.index_castui"):
        return lambda a: wrap(unsigned(a, bits), target)
    return None


def constant_value(op: ir.Operation) -> Any:
    """The value of a scalar `arith.constant`, as bodies compute with it."""
    attribute, type_name = op.attributes["value"], str(op.results[0].type)
    if isinstance(attribute, ir.FloatAttr):
        return _rounding(type_name)(np.float64(attribute.value))
    if isinstance(attribute, ir.BoolAttr):
        return np.bool_(attribute.value)
    return wrap(int(ir.IntegerAttr(attribute).value), type_name)


# ------------------------------------------------------------------ combiners


_ON_INTEGERS: dict[str, Function] = {
    "add": operator.add, "mul": operator.mul, "max": max, "min": min,
}  # fmt: skip


def combiner_function(name: str, element: str) -> Function:
    """What `outs (combiner) value` computes on one element type."""
    if element == "i1":
        return operator.or_ if name in ("add", "max") else operator.and_
    if element in COMPUTED_IN and element[0] == "u":
        element = COMPUTED_IN[element]
        plain, bits = _ON_INTEGERS[name], _BITS[element]
        return lambda a, b: wrap(plain(unsigned(a, bits), unsigned(b, bits)), element)
    if element in _BITS:
        plain = _ON_INTEGERS[name]
        return lambda a, b: wrap(plain(int(a), int(b)), element)
    return {
        "add": operator.add,
        "mul": operator.mul,
        "max": maximum,
        "min": minimum,
    }[name]


# ------------------------------------------------------------------ weights

_ONE = (
    "addf subf mulf negf maximumf minimumf maxnumf minnumf cmpf addi subi muli maxsi minsi maxui "
    "minui cmpi andi ori xori shli shrsi shrui select"
)
_FOUR = "divf remf divsi divui remsi remui floordivsi ceildivsi ceildivui"
_MATH_ONE = "absf absi floor ceil round roundeven trunc copysign isnan isinf isfinite"
_MATH_FOUR = "sqrt rsqrt cbrt"
_MATH_SIXTEEN = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc powf fpowi atan2"
)
WEIGHTS: dict[str, int] = {
    **{f"arith.{n}": 1 for n in _ONE.split()},
    **{f"arith.{n}": 4 for n in _FOUR.split()},
    **{f"math.{n}": 1 for n in _MATH_ONE.split()},
    **{f"math.{n}": 4 for n in _MATH_FOUR.split()},
    **{f"math.{n}": 16 for n in _MATH_SIXTEEN.split()},
    "math.fma": 2,
}


def body_weight(block: ir.Block) -> int:
    """The weighted operations of one evaluation of a body.

    Free besides what `WEIGHTS` omits: results of type index, and conditions that read no data.
    """
    data: set[ir.Value] = set(block.arguments)
    total = 0
    for op in (view.operation for view in block.operations):
        reads = op.name == "ted.load" or any(operand in data for operand in op.operands)
        if reads:
            data.update(op.results)
        type_name = str(op.results[0].type) if len(op.results) else "index"
        if type_name != "index" and (reads or type_name != "i1"):
            total += WEIGHTS.get(op.name, 0)
    return total
