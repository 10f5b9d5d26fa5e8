"""Scalar ops as others emit them -> expressions: what ted's own bodies never hold.

`ted.ir.from_scalars` reads the ops that ted spells. Here are those of other tools: divisions that
truncate, extrema that skip NaN, bools as integers of one bit, rounding half away from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.errors import VerifyError
from ted.frontend.arithmetic import divided, shift
from ted.frontend.whole_powers import of_float, of_integer
from ted.ir import from_scalars, scalar
from ted.ir.dtypes import BOOL, BY_MLIR, BY_NAME, INDEX, INT8, INT64, UINT64, DType, with_sign_of
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.locations import source_location
from ted.raising.float_bits import bits_as
from ted.raising.float_bits import with_sign_of as signed_as

Rule = Callable[[ir.Operation, Sequence[Expr]], Expr]


def operation(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """What an op gives for the values of its operands.

    Raises: VerifyError for an op, or a type, that equations have no word for.
    """
    if from_scalars.element_of(op) not in BY_MLIR:
        raise VerifyError(
            f"{op.name}: scalars must be of {', '.join(BY_MLIR)}, got {op.results[0].type}",
            source_location(op.location),
        )
    if op.name == "arith.constant":
        return from_scalars.constant_of(op)
    kind = BY_MLIR[from_scalars.element_of(op)]
    wide, names = _WIDER.get(args[0].dtype, (kind, ())) if args else (kind, ())
    if op.name not in names:
        found = _applied(op, args)
        return scalar.cast(found, kind) if found.dtype.kind == "int" else found
    found = _applied(op, [_widened(op, a, wide) for a in args])
    return scalar.cast(found, kind) if kind.is_index else _low_bit(found)


def _applied(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    rule = _rows(args).get(op.name)
    return from_scalars.operation(op, args) if rule is None else rule(op, args)


def _rows(args: Sequence[Expr]) -> dict[str, Rule]:
    if not args:
        return _ROWS
    return _ON_BOOLS if args[0].dtype == BOOL else _ON_INDICES if args[0].dtype.is_index else _ROWS


def _zero(a: Expr) -> Expr:
    return scalar.const(0, a.dtype)


def _is_nan(a: Expr) -> Expr:
    return scalar.compare("ne", a, a)


def _widened(op: ir.Operation, a: Expr, wide: DType) -> Expr:
    """An index or a bool as an integer; true is -1 for an op that reads signs."""
    number = scalar.cast(a, wide)
    return scalar.neg(number) if a.dtype == BOOL and op.name.endswith("si") else number


def _quotient(a: Expr, b: Expr) -> Expr:
    """The quotient rounded down; of an index by a number as index sets know it."""
    if a.dtype.is_index and scalar.is_const(b) and b.attr:
        return scalar.floordiv(a, b)
    return divided("floordiv", a, b)


def _quotient_rounded_up(a: Expr, b: Expr) -> Expr:
    if a.dtype.is_index and scalar.is_const(b):
        return scalar.neg(_quotient(scalar.neg(a), b))
    quotient = _quotient(a, b)  # the least integer has no negative
    rest = scalar.sub(a, scalar.mul(quotient, b))
    more = scalar.cast(scalar.compare("ne", rest, _zero(a)), a.dtype)
    return scalar.add(quotient, more)


def _plain(a: Expr) -> Expr:
    """The bits of an integer as a number that is not negative."""
    return scalar.cast(a, with_sign_of(a.dtype, UINT64))


def _without_sign(name: str) -> Rule:
    """A division of integers as bits without a sign."""

    return lambda _, args: divided(name, *map(_plain, args))


def truncated_quotient(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded towards zero."""
    quotient = _quotient(a, b)
    rest = scalar.sub(a, scalar.mul(quotient, b))
    is_above = scalar.land(
        scalar.compare("lt", quotient, _zero(a)), scalar.compare("ne", rest, _zero(a))
    )
    return scalar.select(is_above, scalar.add(quotient, scalar.const(1, a.dtype)), quotient)


def _remainder(a: Expr, b: Expr) -> Expr:
    return scalar.sub(a, scalar.mul(truncated_quotient(a, b), b))


def _number_first(name: str) -> Rule:
    """The extremum of two floats, or the one that is a number."""

    def rule(_: ir.Operation, args: Sequence[Expr]) -> Expr:
        a, b = args
        both = scalar.extremum(name, a, b)
        return scalar.select(_is_nan(a), b, scalar.select(_is_nan(b), a, both))

    return rule


def _rounded_away(a: Expr) -> Expr:
    """To the nearest integer, halves away from zero."""
    whole = scalar.apply("trunc", a)
    rest = scalar.absolute(scalar.sub(a, whole))
    is_less = scalar.compare("lt", rest, scalar.const(0.5, a.dtype))
    return scalar.select(is_less, whole, scalar.add(whole, signed_as(scalar.const(1, a.dtype), a)))


def _is_infinite(a: Expr) -> Expr:
    return scalar.compare("eq", scalar.absolute(a), scalar.const(float("inf"), a.dtype))


def _is_finite(a: Expr) -> Expr:
    return scalar.compare("lt", scalar.absolute(a), scalar.const(float("inf"), a.dtype))


def _clamped(args: Sequence[Expr]) -> Expr:
    value, low, high = args
    return scalar.extremum("minimum", scalar.extremum("maximum", value, low), high)


def _low_bit(a: Expr) -> Expr:
    bit = scalar.apply("bitand", a, scalar.const(1, a.dtype))
    return scalar.compare("ne", bit, _zero(a))


def _truncated(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """Fewer bits of an integer; one bit is the lowest, not whether there is any."""
    if BY_MLIR[from_scalars.element_of(op)] == BOOL:
        return _low_bit(args[0])
    return from_scalars.operation(op, args)


def _from_float(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """A float without its fraction; one bit says whether anything is left."""
    if BY_MLIR[from_scalars.element_of(op)] == BOOL:
        return scalar.compare("ne", scalar.apply("trunc", args[0]), _zero(args[0]))
    return from_scalars.operation(op, args)


def _from_index(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """The low bits of an index."""
    if BY_MLIR[from_scalars.element_of(op)] == BOOL:
        return _low_bit(scalar.cast(args[0], INT64))  # of a tensor it is one of these
    return from_scalars.operation(op, args)


def _moved(value: Expr, distance: int) -> Expr:
    return scalar.apply("shiftright", value, scalar.const(distance, value.dtype))


def _ones_between(a: Expr) -> Expr:
    """How many bits are 1: sums of neighbours, of pairs, of fours, ..."""
    bits = a.dtype.bits
    unsigned = scalar.cast(a, BY_NAME[f"uint{bits}"])

    def part(value: Expr, shift: int, mask: int) -> Expr:
        return scalar.apply("bitand", _moved(value, shift), scalar.const(mask, value.dtype))

    width = 1
    while width < bits:
        mask = sum((2**width - 1) << k for k in range(0, bits, 2 * width))
        unsigned = scalar.add(part(unsigned, 0, mask), part(unsigned, width, mask))
        width *= 2
    return scalar.cast(unsigned, a.dtype)


def _zeros_above(a: Expr) -> Expr:
    """How many bits stand above the highest 1, which is copied to all below it."""
    bits = a.dtype.bits
    filled = scalar.cast(a, BY_NAME[f"uint{bits}"])
    for k in range(bits.bit_length() - 1):
        filled = scalar.apply("bitor", filled, _moved(filled, 2**k))
    return scalar.sub(scalar.const(bits, a.dtype), scalar.cast(_ones_between(filled), a.dtype))


def _zeros_below(a: Expr) -> Expr:
    """How many bits stand below the lowest 1, which a negation keeps: those are 1 below it."""
    lowest = scalar.apply("bitand", a, scalar.neg(a))
    return _ones_between(scalar.sub(lowest, scalar.const(1, a.dtype)))


def _of_same_bits(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    return bits_as(args[0], BY_MLIR[from_scalars.element_of(op)])


_ROWS: dict[str, Rule] = {
    "arith.bitcast": _of_same_bits,
    "math.ctpop": lambda _, a: _ones_between(a[0]),
    "math.ctlz": lambda _, a: _zeros_above(a[0]),
    "math.cttz": lambda _, a: _zeros_below(a[0]),
    "arith.divsi": lambda _, a: truncated_quotient(*a),
    "arith.remsi": lambda _, a: _remainder(*a),
    "arith.floordivsi": lambda _, a: _quotient(*a),
    "arith.ceildivsi": lambda _, a: _quotient_rounded_up(*a),
    "arith.divui": _without_sign("floordiv"),
    "arith.remui": _without_sign("mod"),
    "arith.shli": lambda _, a: shift("shiftleft", *a),
    "arith.shrsi": lambda _, a: shift("shiftright", *a),
    "arith.shrui": lambda _, a: shift("shiftright", *map(_plain, a)),
    "arith.index_cast": _from_index,
    "arith.index_castui": _from_index,
    "arith.maxnumf": _number_first("maximum"),
    "arith.minnumf": _number_first("minimum"),
    "arith.trunci": _truncated,
    "math.copysign": lambda _, a: signed_as(*a),
    "math.round": lambda _, a: _rounded_away(a[0]),
    "math.isnan": lambda _, a: _is_nan(a[0]),
    "math.isinf": lambda _, a: _is_infinite(a[0]),
    "math.isfinite": lambda _, a: _is_finite(a[0]),
    "math.fpowi": lambda _, a: of_float(*a),
    "math.ipowi": lambda _, a: of_integer(*a),
    "arith.fptosi": _from_float,
    "arith.fptoui": _from_float,
    "math.clampf": lambda _, a: _clamped(a),
}


def _from_sign_bit(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """A bool as an integer of one bit with a sign: true is -1."""
    return scalar.neg(scalar.cast(args[0], BY_MLIR[from_scalars.element_of(op)]))


def _compared_bits(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """A comparison of bools; one of integers with a sign is that of bools the other way round."""
    code = ir.IntegerAttr(op.attributes["predicate"]).value
    if code not in _BIT_ORDERS:
        return from_scalars.operation(op, args)
    name, swap = _BIT_ORDERS[code]
    return scalar.compare(name, *(reversed(args) if swap else args))


# Predicates of `arith.cmpi` with a sign -> the comparison of bools, and whether operands change.
_BIT_ORDERS = {2: ("lt", True), 3: ("le", True), 4: ("lt", False), 5: ("le", False)}

# Bools as integers of one bit; with a sign, true is the least.
_ON_BOOLS: dict[str, Rule] = {
    "arith.addi": lambda _, a: scalar.compare("ne", *a),
    "arith.subi": lambda _, a: scalar.compare("ne", *a),
    "arith.muli": lambda _, a: scalar.land(*a),
    "arith.maxui": lambda _, a: scalar.lor(*a),
    "arith.minui": lambda _, a: scalar.land(*a),
    "arith.maxsi": lambda _, a: scalar.land(*a),
    "arith.minsi": lambda _, a: scalar.lor(*a),
    "arith.cmpi": _compared_bits,
    "arith.extsi": _from_sign_bit,
    "arith.index_cast": _from_sign_bit,
    "arith.sitofp": _from_sign_bit,
    "math.absi": lambda _, a: a[0],
    "math.ctpop": lambda _, a: a[0],
    "math.ctlz": lambda _, a: scalar.lnot(a[0]),
    "math.cttz": lambda _, a: scalar.lnot(a[0]),
}


def _compared(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """A comparison of indices; without a sign, what is below 0 is above all others."""
    plain = _SIGNED.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    if plain is None:
        return from_scalars.operation(op, args)
    name, swap = plain
    a, b = reversed(args) if swap else args
    if scalar.is_const(b) and b.attr >= 0:
        return scalar.land(scalar.compare("le", _zero(a), a), scalar.compare(name, a, b))
    signs = scalar.compare("ne", *(scalar.compare("lt", v, _zero(v)) for v in (a, b)))
    return scalar.select(signs, scalar.compare("lt", b, _zero(b)), scalar.compare(name, a, b))


# Predicates of `arith.cmpi` without a sign -> the comparison, and whether the operands are swapped.
_SIGNED = {6: ("lt", False), 7: ("le", False), 8: ("lt", True), 9: ("le", True)}


_ON_INDICES: dict[str, Rule] = {**_ROWS, "arith.cmpi": _compared}

_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
_DIVISIONS = ("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi")
_NO_SIGN = ("arith.divui", "arith.remui")
_BITWISE = (
    "arith.andi", "arith.ori", "arith.xori", "arith.maxui", "arith.minui", "math.ctpop",
    "math.ctlz", "math.cttz",
)  # fmt: skip

# Type -> the integers by whose rules some ops are computed, and the low bits taken.
_WIDER = {
    INDEX: (INT64, (*_SHIFTS, *_NO_SIGN, *_BITWISE)),
    BOOL: (INT8, (*_SHIFTS, *_NO_SIGN, *_DIVISIONS)),
}
