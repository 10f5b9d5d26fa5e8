"""Scalar ops as others emit them -> expressions: what ted's own bodies never hold.

`ted.ir.from_scalars` reads the ops that ted spells. Here are those of other tools: divisions that
truncate, extrema that skip NaN, bools as integers of one bit, rounding half away from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.errors import VerifyError
from ted.ir import from_scalars, scalar
from ted.ir.dtypes import BOOL, BY_MLIR, BY_NAME, accumulator
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.locations import source_location

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


def truncated_quotient(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded towards zero."""
    quotient = scalar.floordiv(a, b)
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


def _with_sign_of(a: Expr, b: Expr) -> Expr:
    """|a| with the sign of b, that of a zero included."""
    one = scalar.const(1, b.dtype)
    inverse = scalar.apply("div", one, b)  # -inf for -0.0
    is_below = scalar.lor(
        scalar.compare("lt", b, _zero(b)),
        scalar.land(scalar.compare("eq", b, _zero(b)), scalar.compare("lt", inverse, _zero(b))),
    )
    size = scalar.absolute(a)
    return scalar.select(is_below, scalar.neg(size), size)


def _rounded_away(a: Expr) -> Expr:
    """To the nearest integer, halves away from zero."""
    whole = scalar.apply("trunc", a)
    rest = scalar.absolute(scalar.sub(a, whole))
    is_less = scalar.compare("lt", rest, scalar.const(0.5, a.dtype))
    return scalar.select(
        is_less, whole, scalar.add(whole, _with_sign_of(scalar.const(1, a.dtype), a))
    )


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


def _ones_between(a: Expr) -> Expr:
    """How many bits are 1: sums of neighbours, of pairs, of fours, ..."""
    bits = a.dtype.bits
    unsigned = scalar.cast(a, BY_NAME[f"uint{bits}"])

    def part(value: Expr, shift: int, mask: int) -> Expr:
        moved = scalar.apply("shiftright", value, scalar.const(shift, value.dtype))
        return scalar.apply("bitand", moved, scalar.const(mask, value.dtype))

    width = 1
    while width < bits:
        mask = sum((2**width - 1) << k for k in range(0, bits, 2 * width))
        unsigned = scalar.add(part(unsigned, 0, mask), part(unsigned, width, mask))
        width *= 2
    return scalar.cast(unsigned, a.dtype)


def _with_exponent(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """Bits behind the exponent of a power of two as the float: how random numbers are made.

    Raises: VerifyError for other bits, which equations have no word for.
    """
    (a,) = args
    kind = BY_MLIR[from_scalars.element_of(op)]
    below = _MANTISSAS.get(kind.name, 0)
    power = _power_before(a, below) if kind.is_float and below and not a.dtype.is_float else None
    if power is None:
        raise VerifyError(
            "arith.bitcast: bits of numbers have no equations, but those of a random mantissa, "
            f"got {a.dtype} as {kind}",
            source_location(op.location),
        )
    mantissa = scalar.apply("bitand", a, scalar.const(2**below - 1, a.dtype))
    wide = accumulator(kind)
    start, step = (scalar.const(x, wide) for x in (power, power * 2.0**-below))
    return scalar.cast(scalar.add(start, scalar.mul(scalar.cast(mantissa, wide), step)), kind)


_TENSORS = 4  # of a constant, of it at each element, of the shift, and of both bits
_MANTISSAS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


def _power_before(bits: Expr, below: int) -> float | None:
    """The power of two whose bits stand above the lowest ones: `(x >> k) | bits of it`."""
    either = _defined(bits, _TENSORS)
    if either.op != "bitor":
        return None
    known = [side.attr for side in map(_uncast, either.args) if scalar.is_const(side)]
    moved = [side for side in either.args if not scalar.is_const(_uncast(side))]
    if not (len(known) == len(moved) == 1) or known[0] % 2**below or _low_bits(moved[0]) > below:
        return None
    exponent, most = known[0] >> below, 2 ** (bits.dtype.bits - 1 - below) - 1
    return 2.0 ** (exponent - most // 2) if 0 < exponent < most else None


def _low_bits(node: Expr) -> int:
    """How many of the lowest bits of an integer may be 1; the others are 0."""
    if node.op not in ("cast", "shiftright") or node.args[0].dtype.is_float:
        return node.dtype.bits
    inner, width = _low_bits(node.args[0]), node.args[0].dtype.bits
    if inner == width and not node.args[0].dtype.is_unsigned:  # the highest one is repeated
        return node.dtype.bits
    if node.op == "cast":
        return min(inner, node.dtype.bits)
    distance = _uncast(node.args[1])
    return max(inner - distance.attr, 0) if scalar.is_const(distance) else inner


def _uncast(node: Expr) -> Expr:
    return _uncast(node.args[0]) if node.op == "cast" and not node.dtype.is_float else node


def _defined(node: Expr, tensors: int) -> Expr:
    """A value by the equations of tensors that one equation makes, so many behind each other."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op != "load" or not tensors:
            return None
        tensor = node.attr
        held = tensor.constant.array if tensor.constant is not None else None
        if held is not None and held.size == 1:
            return scalar.const(held.item(), tensor.dtype)
        if not tensor.equations and tensor.fill is not None:
            return scalar.const(tensor.fill, tensor.dtype)
        equation = tensor.equations[0] if len(tensor.equations) == 1 else None
        if equation is None or equation.combiner != "set" or not equation.covers(tensor.shape):
            return None
        return _defined(scalar.substitute([equation.body], args)[0], tensors - 1)

    return scalar.rewrite([node], visit)[0]


_ROWS: dict[str, Rule] = {
    "arith.bitcast": _with_exponent,
    "math.ctpop": lambda _, a: _ones_between(a[0]),
    "arith.divsi": lambda _, a: truncated_quotient(*a),
    "arith.remsi": lambda _, a: _remainder(*a),
    "arith.ceildivsi": lambda _, a: scalar.neg(scalar.floordiv(scalar.neg(a[0]), a[1])),
    "arith.maxnumf": _number_first("maximum"),
    "arith.minnumf": _number_first("minimum"),
    "arith.trunci": _truncated,
    "math.copysign": lambda _, a: _with_sign_of(*a),
    "math.round": lambda _, a: _rounded_away(a[0]),
    "math.isnan": lambda _, a: _is_nan(a[0]),
    "math.isinf": lambda _, a: _is_infinite(a[0]),
    "math.isfinite": lambda _, a: _is_finite(a[0]),
    "math.fpowi": lambda _, a: scalar.apply("pow", a[0], scalar.cast(a[1], a[0].dtype)),
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
