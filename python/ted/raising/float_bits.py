"""Bits of floats as integers and back, in arithmetic that is exact: equations have no such cast.

Before: %i = arith.bitcast %x : f32 to i32
After:  select(x < 0, -2^31, 0) + exponent * 2^23 + (|x| / 2^e - 1) * 2^23

NaN has one form. Where the bits are a random mantissa behind an exponent, one sum is enough.
"""

from __future__ import annotations

from ted.ir import scalar
from ted.ir.dtypes import BY_NAME, DType, accumulator
from ted.ir.expressions import Expr

_MANTISSAS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


def bits_as(a: Expr, kind: DType) -> Expr:
    """A value in a type of as many bits, of floats or of integers."""
    if a.dtype.is_float == kind.is_float:
        return scalar.cast(a, kind)
    if a.dtype.is_float:
        return scalar.cast(_bits(a), kind)
    power = _power_before(a, _MANTISSAS[kind.name])
    return _float(a, kind) if power is None else _behind(a, kind, power)


def _layout(kind: DType) -> tuple[int, int]:
    """How many bits the mantissa of a float has, and the exponent that stands for 0."""
    below = _MANTISSAS[kind.name]
    return below, 2 ** (kind.bits - 2 - below) - 1


def _is_below(a: Expr) -> Expr:
    """Whether the sign is set, that of a zero included."""
    zero, one = scalar.const(0, a.dtype), scalar.const(1, a.dtype)
    inverse = scalar.apply("div", one, a)  # -inf for -0.0
    is_zero = scalar.land(scalar.compare("eq", a, zero), scalar.compare("lt", inverse, zero))
    return scalar.lor(scalar.compare("lt", a, zero), is_zero)


def with_sign_of(a: Expr, b: Expr) -> Expr:
    """|a| with the sign of b, that of a zero included."""
    size = scalar.absolute(a)
    return scalar.select(_is_below(b), scalar.neg(size), size)


def _bits(a: Expr) -> Expr:
    """The bits of a float: halved until it is below 2, it has the exponent and the mantissa.

    What is below 1 is made as large as it gets before, so that denormal numbers are what is left
    below 1.
    """
    below, middle = _layout(a.dtype)
    whole = BY_NAME[f"int{a.dtype.bits}"]
    a = scalar.cast(a, accumulator(a.dtype))

    def number(value: float) -> Expr:
        return scalar.const(value, a.dtype)

    def integer(value: int) -> Expr:
        return scalar.const(value, whole)

    infinite = number(float("inf"))
    size = scalar.absolute(a)
    is_infinite, is_number = (
        scalar.compare("eq", size, infinite), scalar.compare("lt", size, infinite),
    )  # fmt: skip
    size = scalar.select(is_number, size, number(0.0))  # others are no integers
    is_small = scalar.compare("lt", size, number(1.0))
    rest = scalar.select(is_small, scalar.mul(size, number(2.0 ** (middle - 1))), size)
    exponent = scalar.select(is_small, integer(1), integer(middle))
    for k in reversed(range(middle.bit_length())):
        has = scalar.compare("le", number(2.0 ** (2**k)), rest)
        rest = scalar.select(has, scalar.mul(rest, number(2.0 ** -(2**k))), rest)
        exponent = scalar.add(exponent, scalar.select(has, integer(2**k), integer(0)))
    is_normal = scalar.compare("le", number(1.0), rest)
    exponent = scalar.select(is_normal, exponent, integer(0))
    mantissa = scalar.sub(rest, scalar.select(is_normal, number(1.0), number(0.0)))
    mantissa = scalar.cast(scalar.mul(mantissa, number(2.0**below)), whole)
    top, half = (2 * middle + 1) << below, 1 << (below - 1)
    found = scalar.add(scalar.mul(exponent, integer(1 << below)), mantissa)
    special = scalar.select(is_infinite, integer(top), integer(top + half))
    found = scalar.select(is_number, found, special)
    least = integer(whole.range[0])
    return scalar.select(_is_below(a), scalar.add(found, least), found)


def _float(bits: Expr, kind: DType) -> Expr:
    """The float of bits: the mantissa, doubled as often as the exponent says."""
    below, middle = _layout(kind)
    wide = accumulator(kind)

    def integer(value: int) -> Expr:
        return scalar.const(value, bits.dtype)

    def masked(value: Expr, mask: int) -> Expr:
        return scalar.apply("bitand", value, integer(mask))

    mantissa = masked(bits, 2**below - 1)
    exponent = masked(scalar.apply("shiftright", bits, integer(below)), 2 * middle + 1)
    is_normal = scalar.compare("ne", exponent, integer(0))
    whole = scalar.add(mantissa, scalar.select(is_normal, integer(2**below), integer(0)))
    found = scalar.mul(scalar.cast(whole, wide), scalar.const(2.0 ** (1 - middle - below), wide))
    steps = scalar.sub(exponent, scalar.select(is_normal, integer(1), integer(0)))
    most = middle.bit_length() - 1  # the largest power, of one bit more, is no float
    for bit, k in ((bit, min(bit, most)) for bit in (*range(most + 2), most + 1)):
        has = scalar.compare("ne", masked(steps, 2**bit), integer(0))
        doubled = scalar.mul(found, scalar.const(2.0 ** (2**k), wide))
        found = scalar.select(has, doubled, found)
    is_whole = scalar.compare("eq", mantissa, integer(0))
    infinite, nothing = (scalar.const(float(x), wide) for x in ("inf", "nan"))
    last = scalar.select(is_whole, infinite, nothing)
    found = scalar.select(scalar.compare("eq", exponent, integer(2 * middle + 1)), last, found)
    top = scalar.apply("shiftright", bits, integer(bits.dtype.bits - 1))
    is_below = scalar.compare("ne", masked(top, 1), integer(0))
    return scalar.cast(scalar.select(is_below, scalar.neg(found), found), kind)


# ------------------------------------------------------------------ random mantissas


def _behind(bits: Expr, kind: DType, power: float) -> Expr:
    """Bits behind the exponent of a power of two as the float: how random numbers are made."""
    below = _MANTISSAS[kind.name]
    mantissa = scalar.apply("bitand", bits, scalar.const(2**below - 1, bits.dtype))
    wide = accumulator(kind)
    start, step = (scalar.const(x, wide) for x in (power, power * 2.0**-below))
    return scalar.cast(scalar.add(start, scalar.mul(scalar.cast(mantissa, wide), step)), kind)


_TENSORS = 4  # of a constant, of it at each element, of the shift, and of both bits


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
