"""Operators on scalar expressions as users mean them: weak Python numbers, promotion, kinds.

Python numbers are weak: they take the type of the other operand, unless its kind is too small (a
float beside integers makes float32).  Indices stay indices among themselves and count as int64
beside data.  Integers go to float32 where an operation needs a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from ted.domain.sizes import Size
from ted.frontend import whole_powers
from ted.frontend.locations import fail
from ted.ir import scalar
from ted.ir.dtypes import BOOL, FLOAT32, INDEX, INT64, WEAK_FLOAT, DType, is_weak_type, promote
from ted.ir.expressions import Expr
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import FALSE, is_const

Number: TypeAlias = "int | float | bool"
Operand: TypeAlias = "Expr | int | float | bool"

_RANK = {"bool": 0, "int": 1, "index": 1, "float": 2}
_AT_LEAST = {bool: 0, int: 1, float: 2}


def constant(value: Number, dtype: DType, what: str) -> Expr:
    """A Python number as a constant of `dtype`, refused where the type does not hold it.

    Floats round to the nearest; no finite number becomes infinite.

    Raises: FrontendError for a number that the type does not hold.
    """
    held, rule = _held(value, dtype)
    if not held:
        bits = value.bit_length() if isinstance(value, int) else 0
        shown = f"an integer of {bits} bits" if bits > 128 else value
        fail(f"{what}: the constant must fit the type {dtype}, got {shown}; {dtype} holds {rule}")
    return scalar.const(value, dtype)


def _held(value: Number, dtype: DType) -> tuple[bool, str]:
    """Whether a type holds a number, and which numbers it holds."""
    if dtype == BOOL:
        return value in (0, 1), "0 and 1"
    if dtype.is_float:
        half = 2 ** (dtype.exponent - dtype.mantissa - 1)  # of the last bit of the largest number
        most = 2 ** (dtype.exponent + 1) - 2 * half
        rounds = abs(value) < most + half and abs(float(value)) < most + half
        return rounds or not abs(value) < math.inf, f"numbers up to {float(most):.5g}, and math.inf"
    least, most = dtype.range
    if least <= value <= most and value != int(value):
        return False, "whole numbers; ted.cast cuts off the fraction"
    return least <= value <= most, f"{least} to {most}"


def keep(operand: Operand, dtype: DType, what: str) -> Expr:
    """An operand as an expression of `dtype`, refused where this cuts off some of its value.

    Raises: FrontendError for an operand of a wider type, or a number that the type does not hold.
    """
    given = operand.dtype if isinstance(operand, Expr) else dtype
    if not (dtype.is_float or given.is_index or promote(given, dtype) == dtype):
        fail(
            f"{what}: the value must fit the type {dtype}, got one of {given}; "
            f'convert it with .astype("{dtype}")'
        )
    return convert(operand, dtype, what)


def common_dtype(operands: Sequence[Operand]) -> DType:
    """The type in which operands meet; all Python ints make an index."""
    typed = [o.dtype for o in operands if isinstance(o, Expr)]
    rank = max((_AT_LEAST[type(o)] for o in operands if not isinstance(o, Expr)), default=0)
    if all(t.is_index for t in typed):
        return INDEX if rank < 2 else FLOAT32
    dtype = typed[0]
    for other in typed[1:]:
        dtype = promote(dtype, other)
    if rank > _RANK[dtype.kind]:
        return _as_weak(dtype, FLOAT32 if rank == 2 else INT64)
    return dtype


def _as_weak(dtype: DType, wider: DType) -> DType:
    """The type of another kind, weak where the one that it is made of is."""
    return WEAK_FLOAT if is_weak_type(dtype) and wider.is_float else wider


def convert(operand: Operand, dtype: DType, what: str) -> Expr:
    """An operand as an expression of `dtype`; a choice between numbers is as weak as they are."""
    if not isinstance(operand, Expr):
        return constant(operand, dtype, what)
    if operand.op == "select" and dtype.kind in ("int", "float"):
        condition, *values = operand.args
        if all(map(is_const, values)) and (dtype.is_float or not operand.dtype.is_float):
            a, b = (constant(value.attr, dtype, what) for value in values)
            return scalar.select(condition, a, b)
    return scalar.cast(operand, dtype)


def unify(operands: Sequence[Operand], what: str) -> list[Expr]:
    """The operands in their common type."""
    dtype = common_dtype(operands)
    return [convert(o, dtype, what) for o in operands]


def number(what: str, *operands: Operand) -> list[Expr]:
    """The operands in a common type on which the operation `what` is defined.

    Raises: FrontendError for bools, or floats where integers are needed.
    """
    values = unify(operands, what)
    kinds = OPERATIONS[what].kinds
    if values[0].dtype.kind in kinds:
        return values
    if values[0].dtype.kind == "bool" and kinds - {"float"}:
        fail(f'{what}: operands must be numbers, got bool; convert one with .astype("int32")')
    if "float" in kinds:
        return [scalar.cast(v, _as_weak(v.dtype, FLOAT32)) for v in values]
    return fail(f"{what}: operands must be integers, got {values[0].dtype}")


def apply(name: str, *operands: Operand) -> Expr:
    """The operation `name` of the table on operands brought to a type it is defined on."""
    return _checked(scalar.apply(name, *number(name, *operands)), name)


def _checked(result: Expr, what: str) -> Expr:
    """A constant that folding made too wide for its type is refused."""
    if is_const(result) and result.dtype.kind in ("int", "index"):
        constant(result.attr, result.dtype, what)
    return result


def add(a: Operand, b: Operand) -> Expr:
    """a + b."""
    return apply("add", a, b)


def subtract(a: Operand, b: Operand) -> Expr:
    """a - b."""
    return apply("sub", a, b)


def multiply(a: Operand, b: Operand) -> Expr:
    """a * b; a bool beside a number is 0 or 1."""
    return apply("mul", a, b)


def divide(a: Operand, b: Operand) -> Expr:
    """a / b, a float also for integers."""
    return apply("div", a, b)


def _by_constant(name: str, a: Expr, b: Expr) -> Expr:
    """Quotient and remainder rounded down, of a divisor that may be known before."""
    if is_const(b, 0):
        fail(f"{name}: the divisor must not be 0, got the constant 0")
    if not is_const(b):
        extent = scalar.as_extent(b)
        known = isinstance(extent, Size) and extent.range[0] >= 1
        return scalar.apply(name, a, b) if known else divided(name, a, b)
    return scalar.apply(name, a, b) if a.dtype.is_index else divided(name, a, b)


def divided(name: str, a: Expr, b: Expr) -> Expr:
    """`floordiv` or `mod` of integers by any value: by 0 it gives 0, as in numpy.

    The machine's division traps on 0 and on the least integer by -1, so neither reaches it.
    """
    zero, one, minus_one = (scalar.const(k, b.dtype) for k in (0, 1, -1))
    is_zero = scalar.compare("eq", b, zero)
    is_minus_one = FALSE if b.dtype.is_unsigned else scalar.compare("eq", b, minus_one)
    safe = scalar.select(scalar.lor(is_zero, is_minus_one), one, b)
    by_minus_one = scalar.neg(a) if name == "floordiv" else zero
    exact = scalar.select(is_minus_one, by_minus_one, scalar.apply(name, a, safe))
    return scalar.select(is_zero, zero, exact)


def _turned(x: Expr, b: Expr) -> Expr:
    """A float with the other sign where `b` is negative."""
    zero = scalar.const(0, b.dtype)
    return scalar.select(scalar.compare("lt", b, zero), scalar.neg(x), x)


def _if_below(rest: Expr, then: Expr) -> Expr:
    """What is added to a rest of the divisor's magnitude: `then` where it is negative, or 0.

    The sum with 0 is no -0.
    """
    zero = scalar.const(0, rest.dtype)
    return scalar.select(scalar.compare("lt", rest, zero), then, zero)


def _float_quotient(a: Expr, b: Expr) -> Expr:
    """floor(a / b) of the exact quotient, which a / b may round up to the next integer."""
    rest, zero = scalar.apply("fmod", a, b), scalar.const(0, a.dtype)
    turned = _turned(rest, b)
    less = _if_below(turned, scalar.const(-1, a.dtype))
    whole = scalar.add(scalar.div(scalar.sub(a, rest), b), less)
    whole = scalar.select(scalar.compare("eq", a, zero), turned, whole)
    by_zero = scalar.compare("eq", b, zero)
    return scalar.apply("round", scalar.select(by_zero, scalar.div(a, b), whole))


def floor_divide(a: Operand, b: Operand) -> Expr:
    """a // b rounded towards minus infinity; integers by 0 give 0.

    Raises: FrontendError for bools.
    """
    a, b = unify((a, b), "//")
    if a.dtype.is_float:
        return _float_quotient(a, b)
    return _by_constant("floordiv", *number("floordiv", a, b))


def remainder(a: Operand, b: Operand) -> Expr:
    """a - b * (a // b), with the sign of b; integers by 0 give 0.

    Raises: FrontendError for bools.
    """
    a, b = unify((a, b), "%")
    if a.dtype.is_float:
        rest = _turned(scalar.apply("fmod", a, b), b)
        return _turned(scalar.add(rest, _if_below(rest, _turned(b, b))), b)
    return _by_constant("mod", *number("mod", a, b))


def fmod(a: Operand, b: Operand) -> Expr:
    """a - b * trunc(a / b), with the sign of a, exact; integers by 0 give 0."""
    a, b = unify((a, b), "fmod")
    if a.dtype.is_float:
        return scalar.apply("fmod", a, b)
    rest = remainder(a, b)
    zero = scalar.const(0, rest.dtype)
    signs = [scalar.compare("lt", value, zero) for value in (rest, scalar.cast(a, rest.dtype))]
    differ = scalar.land(scalar.compare("ne", rest, zero), scalar.compare("ne", signs[0], signs[1]))
    return scalar.select(differ, scalar.sub(rest, scalar.cast(b, rest.dtype)), rest)


def power(a: Operand, b: Operand) -> Expr:
    """a ** b: products for small whole exponents, which are exact where pow is not.

    Raises: FrontendError for a base of bools, an integer to a constant that is negative, or an
    index to data.
    """
    dtype = common_dtype((a, b))
    if dtype.kind == "bool":
        fail('power: the base must be a number, got bool; convert it with .astype("int32")')
    exponent = b if not isinstance(b, Expr) else b.attr if is_const(b) else None
    if exponent is not None and abs(exponent) <= 16 and float(exponent).is_integer():
        base = convert(a, dtype, "power")
        return _checked(_whole_power(base, int(exponent)), "power")
    if exponent == 0.5:
        return apply("sqrt", a)
    whole = scalar.const(b, INT64) if type(b) is int and _held(b, INT64)[0] else b
    if dtype.is_float and isinstance(whole, Expr) and whole.dtype.kind in ("int", "index"):
        return whole_powers.of_float(convert(a, dtype, "power"), whole)
    base, power = unify((a, b), "power")
    if dtype.is_float:
        return apply("pow", base, power)
    if dtype.is_index:
        fail("power: the exponent of an index must be a constant in [0, 16], or ted.cast the index")
    if is_const(power):
        return _checked(_whole_power(base, power.attr), "power")
    return whole_powers.of_integer(base, power)


def _whole_power(base: Expr, exponent: int) -> Expr:
    if exponent < 0:
        if not base.dtype.is_float:
            fail(f"power: an integer takes exponents >= 0, got {exponent}; use a float base")
        return scalar.div(scalar.const(1, base.dtype), _whole_power(base, -exponent))
    if exponent == 0:
        return scalar.const(1, base.dtype)
    half = _whole_power(base, exponent // 2) if exponent > 1 else None
    if half is None:
        return base
    square = scalar.mul(half, half)
    return scalar.mul(square, base) if exponent % 2 else square


def compare(name: str, a: Operand, b: Operand) -> Expr:
    """lt, le, eq, ne; greater-than is the swapped lesser-than."""
    known = _decided(name, a, b)
    return (
        scalar.compare(name, *unify((a, b), name)) if known is None else scalar.const(known, BOOL)
    )


def _decided(name: str, a: Operand, b: Operand) -> bool | None:
    """What a Python integer that the other operand's type does not hold says of a comparison."""
    value, other = (b, a) if isinstance(a, Expr) else (a, b)
    if type(value) is not int or not isinstance(other, Expr) or other.dtype.kind != "int":
        return None
    least, most = other.dtype.range
    if least <= value <= most:
        return None
    return name == "ne" if name in ("eq", "ne") else (value > most) == isinstance(a, Expr)


def logic(name: str, *operands: Operand) -> Expr:
    """and, or, not of bools.

    Raises: FrontendError for an operand that is no bool.
    """
    return scalar.apply(name, *(_condition(name, value) for value in operands))


def bitwise(name: str, a: Operand, b: Operand) -> Expr:
    """and, or, xor: of conditions, or bit by bit of integers.

    Raises: FrontendError for floats.
    """
    a, b = unify((a, b), name)
    if a.dtype.is_float:
        fail(f"{name}: operands must be bools (comparisons in parentheses) or integers, "
             f"got {a.dtype}")  # fmt: skip
    if a.dtype == BOOL:
        return scalar.compare("ne", a, b) if name == "xor" else scalar.apply(name, a, b)
    a, b = (scalar.cast(v, INT64) if v.dtype.is_index else v for v in (a, b))
    return scalar.apply(f"bit{name}", a, b)


def invert(a: Expr) -> Expr:
    """not of a condition, all bits of an integer turned over."""
    if a.dtype.kind not in ("int", "index"):
        return logic("not", a)
    return bitwise("xor", a, scalar.const(-1, INT64 if a.dtype.is_index else a.dtype))


def shift(name: str, a: Operand, b: Operand) -> Expr:
    """a << b or a >> b; a count outside the width shifts everything out, as in numpy.

    To the right the sign comes in, of a type that has one.

    Raises: FrontendError for what is no integer.
    """
    a, b = unify((a, b), name)
    if a.dtype.kind not in ("int", "index"):
        fail(f"{name}: operands must be integers, got {a.dtype}")
    a, b = (scalar.cast(v, INT64) if v.dtype.is_index else v for v in (a, b))
    zero, width = scalar.const(0, b.dtype), scalar.const(a.dtype.bits, b.dtype)
    inside = scalar.land(scalar.compare("le", zero, b), scalar.compare("lt", b, width))
    if name == "shiftright" and not a.dtype.is_unsigned:
        last = scalar.const(a.dtype.bits - 1, b.dtype)
        return scalar.apply(name, a, scalar.select(inside, b, last))
    # Not `select(inside, b, 0)`: LLVM's shl of PTX then takes the low 32 bits of a count for all.
    count = scalar.apply("bitand", b, scalar.const(a.dtype.bits - 1, b.dtype))
    moved = scalar.apply(name, a, count)
    return scalar.select(inside, moved, scalar.const(0, a.dtype))


def _condition(name: str, value: Operand) -> Expr:
    if isinstance(value, bool):
        return scalar.const(value, BOOL)
    if isinstance(value, Expr) and value.dtype == BOOL:
        return value
    got = value.dtype if isinstance(value, Expr) else repr(value)
    return fail(f"{name}: operands must be bools (comparisons in parentheses), got {got}")


def select(condition: Operand, a: Operand, b: Operand) -> Expr:
    """a where the condition holds, else b.

    Raises: FrontendError for a condition that is no bool.
    """
    return scalar.select(_condition("where", condition), *unify((a, b), "where"))


# Python's operators by name, as tensors of their results are called.
OPERATORS: dict[str, Callable[[Operand, Operand], Expr]] = {
    "add": add, "sub": subtract, "mul": multiply, "div": divide, "floordiv": floor_divide,
    "mod": remainder, "power": power,
    **{name: partial(compare, name) for name in ("lt", "le", "eq", "ne")},
    **{name: partial(bitwise, name) for name in ("and", "or", "xor")},
    **{name: partial(shift, name) for name in ("shiftleft", "shiftright")},
}  # fmt: skip
