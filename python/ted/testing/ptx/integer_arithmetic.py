"""Arithmetic, logic and bit fields on integer registers; names shared with floats lead there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ted.testing.ptx import float_arithmetic as floats
from ted.testing.ptx.building import CARRY, Builder
from ted.testing.ptx.forms import NUMPY, Array, Form, Step, instruction

_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_BITS = ("b8", "b16", "b32", "b64", "pred")
Function = Callable[..., Any]


def apply(form: Form, k: Builder, kind: str, function: Function, result: str | None = None) -> Step:
    """Apply a function of numbers of one type to all operands after the first."""
    write = k.write(form.operands[0], result or kind)
    reads = [k.read(operand, kind) for operand in form.operands[1:]]
    if len(reads) == 2:
        first, second = reads
        return lambda m, ix: write(m, ix, function(first(m, ix), second(m, ix)))
    return lambda m, ix: write(m, ix, function(*(read(m, ix) for read in reads)))


def _width(kind: str) -> int:
    return int(kind[1:])


def _divided(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    zero = b == 0
    safe = np.where(zero, 1, b).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.where(zero, ~a.dtype.type(0), a // safe)
    quotient = a // safe
    quotient = quotient + ((a % safe != 0) & ((a < 0) != (safe < 0)))  # towards zero
    return np.where(zero, a.dtype.type(-1), quotient.astype(a.dtype))


def _remainder(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.where(b == 0, a, a - _divided(a, b) * b).astype(a.dtype)


def _saturated(function: Function) -> Function:
    def apply_(a: Any, b: Any) -> Array:
        wide = function(np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64))
        return np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32)

    return apply_


_BINARY: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "div": _divided,
    "rem": _remainder,
    "min": np.minimum,
    "max": np.maximum,
}


@instruction(*_BINARY)
def binary(form: Form, k: Builder) -> Step:
    """`add sub div rem min max`."""
    form.count(3)
    name = form.source.parts[0]
    if form.flag("cc"):
        return _with_carry(form, k, name, False)
    if floats.is_float(form):
        return floats.arithmetic(form, k, name)
    packed = form.one("u16x2", "s16x2")
    if packed:
        return _packed(form, k, _BINARY[name], np.int16 if packed[0] == "s" else np.uint16)
    kind = form.kind(*_INTEGERS)
    function = _BINARY[name]
    if form.flag("sat"):
        function = _saturated(function)
    if form.flag("relu"):
        plain = function
        function = lambda a, b: np.maximum(plain(a, b), 0).astype(np.int32)  # noqa: E731
    return apply(form, k, kind, function)


def _packed(form: Form, k: Builder, function: Function, half: Any) -> Step:
    def halves(value: Any) -> Array:
        return np.ascontiguousarray(np.atleast_1d(value))[:, None].view(half)

    def both(a: Any, b: Any) -> Array:
        return np.ascontiguousarray(function(halves(a), halves(b))).view(np.uint32)[:, 0]

    return apply(form, k, "b32", both)


@instruction("addc", "subc")
def with_carry(form: Form, k: Builder) -> Step:
    """`addc subc`: like add and sub, with the carry of the last `.cc`."""
    name = form.source.parts[0][:3]
    if form.flag("cc"):
        return _with_carry(form, k, name, True)
    return _with_carry(form, k, name, True, keep=True)


def _with_carry(form: Form, k: Builder, name: str, into: bool, keep: bool = False) -> Step:
    kind = "u" + form.kind("u32", "s32", "u64", "s64")[1:]
    a, b = (k.read(operand, kind) for operand in form.operands[1:])
    return _carried(form, k, kind, name, (a, b), into, keep)


def _carried(
    form: Form, k: Builder, kind: str, name: str, terms: tuple[Any, Any], into: bool, keep: bool
) -> Step:
    """Add or subtract two terms: the carry goes `into` the sum, and is kept or written."""
    carry, write, (a, b) = k.slot(CARRY), k.write(form.operands[0], kind), terms

    def step(m: Any, ix: Any) -> None:
        x, y = a(m, ix), b(m, ix)
        old = m.registers[carry][ix].astype(NUMPY[kind]) if into else NUMPY[kind](0)
        if name == "add":
            part = x + y
            total = part + old
            out = (part < x) | (total < part)
        else:
            part = x - y
            total = part - old
            out = (part > x) | (total > part)
        if not keep:
            m.registers[carry][ix] = out
        write(m, ix, total)

    return step


def _high(a: Any, b: Any) -> Array:
    a, b = np.asarray(a), np.asarray(b)
    size = a.dtype.itemsize
    if size < 8:
        wide = np.dtype(f"{a.dtype.kind}{2 * size}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(8 * size)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    xh, xl, yh, yl = x >> half, x & low, y >> half, y & low
    middle = xh * yl + ((xl * yl) >> half)
    other = xl * yh + (middle & low)
    result = xh * yh + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        result = result - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return result.view(a.dtype)


def _wide(a: Any, b: Any) -> Array:
    a, b = np.asarray(a), np.asarray(b)
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(wide) * b.astype(wide)


@instruction("madc")
def multiply_with_carry(form: Form, k: Builder) -> Step:
    """`madc.lo madc.hi`: like mad, with the carry of the last `.cc`."""
    return _multiplied_with_carry(form, k, True, keep=not form.flag("cc"))


def _multiplied_with_carry(form: Form, k: Builder, into: bool, keep: bool = False) -> Step:
    form.count(4)
    kind = "u" + form.kind("u32", "s32", "u64", "s64")[1:]
    product: Function = {"lo": np.multiply, "hi": _high}[form.needed("lo", "hi")]
    a, b, c = (k.read(operand, kind) for operand in form.operands[1:])
    terms = (lambda m, ix: product(a(m, ix), b(m, ix)), c)
    return _carried(form, k, kind, "add", terms, into, keep)


@instruction("mul", "mad")
def multiply(form: Form, k: Builder) -> Step:
    """`mul.lo mul.hi mul.wide mad.*`, and those of floats."""
    name = form.source.parts[0]
    if name == "mad" and form.flag("cc"):
        return _multiplied_with_carry(form, k, False)
    if floats.is_float(form):
        return floats.arithmetic(form, k, name) if name == "mul" else floats.fused(form, k)
    kind = form.kind(*_INTEGERS)
    part = form.needed("lo", "hi", "wide")
    product: Function = {"lo": np.multiply, "hi": _high, "wide": _wide}[part]
    result = _DOUBLE[kind] if part == "wide" else kind
    write = k.write(form.operands[0], result)
    a, b = k.read(form.operands[1], kind), k.read(form.operands[2], kind)
    if name == "mul":
        form.count(3)
        return lambda m, ix: write(m, ix, product(a(m, ix), b(m, ix)))
    form.count(4)
    c = k.read(form.operands[3], result)
    return lambda m, ix: write(m, ix, product(a(m, ix), b(m, ix)) + c(m, ix))


@instruction("mul24", "mad24")
def multiply24(form: Form, k: Builder) -> Step:
    """The low 32 bits of products of 24-bit numbers."""
    kind = form.kind("u32", "s32")
    form.needed("lo")
    eight = NUMPY[kind](8)

    def product(a: Any, b: Any, c: Any = 0) -> Any:
        return ((a << eight) >> eight) * ((b << eight) >> eight) + NUMPY[kind](0) + c

    return apply(form, k, kind, product)


@instruction("fma")
def fma(form: Form, k: Builder) -> Step:
    """Fused multiply-add of floats."""
    form.count(4)
    return floats.fused(form, k)


@instruction("sqrt", "rcp", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")
def elementary(form: Form, k: Builder) -> Step:
    """Elementary functions."""
    return floats.unary(form, k)


@instruction("abs", "neg")
def sign(form: Form, k: Builder) -> Step:
    """`abs neg` of integers and floats."""
    form.count(2)
    if floats.is_float(form):
        return floats.unary(form, k)
    kind = form.kind("s16", "s32", "s64")
    function = np.abs if form.source.parts[0] == "abs" else np.negative
    return apply(form, k, kind, function)


@instruction("copysign")
def copysign(form: Form, k: Builder) -> Step:
    """The magnitude of one number with the sign of another."""
    form.count(3)
    return floats.copysign(form, k)


@instruction("testp")
def testp(form: Form, k: Builder) -> Step:
    """What kind of number a float is."""
    form.count(2)
    return floats.testp(form, k)


@instruction("sad")
def absolute_difference(form: Form, k: Builder) -> Step:
    """`sad d, a, b, c`: c + |a - b|."""
    kind = form.kind(*_INTEGERS)
    return apply(form, k, kind, lambda a, b, c: c + np.where(a < b, b - a, a - b))


@instruction("and", "or", "xor")
def logic(form: Form, k: Builder) -> Step:
    """Bitwise logic, also of predicates."""
    form.count(3)
    kind = form.kind(*_BITS)
    functions = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return apply(form, k, kind, functions[form.source.parts[0]])


@instruction("not", "cnot")
def complement(form: Form, k: Builder) -> Step:
    """`not`, and `cnot` that tells zero from the rest."""
    form.count(2)
    kind = form.kind(*_BITS)
    if form.source.parts[0] == "cnot":
        return apply(form, k, kind, lambda a: (a == 0).astype(NUMPY[kind]))
    return apply(form, k, kind, np.invert)


@instruction("shl", "shr")
def shift(form: Form, k: Builder) -> Step:
    """Shifts; amounts of the width and more give all zeros, or all signs."""
    form.count(3)
    kind = form.kind("b16", "b32", "b64", *_INTEGERS)
    width, dtype = _width(kind), NUMPY[kind]
    write, a = k.write(form.operands[0], kind), k.read(form.operands[1], kind)
    amount = k.read(form.operands[2], "u32")
    left, signed = form.source.parts[0] == "shl", kind[0] == "s"

    def step(m: Any, ix: Any) -> None:
        value, count = np.asarray(a(m, ix)), np.asarray(amount(m, ix))
        kept = np.minimum(count, width - 1).astype(dtype)
        result = value << kept if left else value >> kept
        if not signed or left:
            result = np.where(count >= width, dtype(0), result)
        write(m, ix, result)

    return step


@instruction("shf")
def funnel_shift(form: Form, k: Builder) -> Step:
    """`shf.l shf.r`: 32 bits of a shifted pair of words."""
    form.kind("b32")
    left = form.needed("l", "r") == "l"
    clamp = form.needed("clamp", "wrap") == "clamp"

    def function(low: Any, high: Any, count: Any) -> Array:
        count = np.minimum(count, 32) if clamp else count & np.uint32(31)
        count = np.asarray(count).astype(np.uint64)
        both = (np.asarray(high).astype(np.uint64) << np.uint64(32)) | low
        if left:
            return ((both << count) >> np.uint64(32)).astype(np.uint32)
        return (both >> count).astype(np.uint32)

    return apply(form, k, "b32", function)


@instruction("popc", "clz", "bfind", "brev")
def bits(form: Form, k: Builder) -> Step:
    """Count ones, count leading zeros, find the first one, reverse."""
    form.count(2)
    name, kind = form.source.parts[0], form.kind("b32", "b64", *_INTEGERS)
    width, shifts = _width(kind), form.flag("shiftamt")

    def function(value: Any) -> Any:
        value = np.asarray(value)
        if name == "bfind" and kind[0] == "s":
            value = np.where(value < 0, ~value, value)
        plane = (value[..., None] >> np.arange(width).astype(value.dtype)) & value.dtype.type(1)
        plane = plane.astype(np.bool_)
        if name == "popc":
            return plane.sum(axis=-1).astype(np.uint32)
        if name == "brev":
            return _from_bits(plane[..., ::-1], NUMPY["b" + kind[1:]])
        top = np.where(plane.any(axis=-1), width - 1 - plane[..., ::-1].argmax(axis=-1), -1)
        if name == "clz":
            return (width - 1 - top).astype(np.uint32)
        found = np.where(top >= 0, width - 1 - top, -1) if shifts else top
        return found.astype(np.int32).view(np.uint32)

    return apply(form, k, kind, function, "b" + kind[1:] if name == "brev" else "u32")


def _from_bits(plane: Array, dtype: Any) -> Array:
    weights = dtype(1) << np.arange(plane.shape[-1]).astype(dtype)
    return (plane * weights).sum(axis=-1, dtype=dtype)


@instruction("bfe")
def extract_field(form: Form, k: Builder) -> Step:
    """`bfe d, a, start, count`: a bit field, extended by its sign for signed types."""
    kind = form.kind("u32", "s32", "u64", "s64")
    width = _width(kind)
    write, a = k.write(form.operands[0], kind), k.read(form.operands[1], kind)
    start, count = k.read(form.operands[2], "u32"), k.read(form.operands[3], "u32")

    def step(m: Any, ix: Any) -> None:
        value = np.asarray(a(m, ix))
        first = (start(m, ix) & np.uint32(255)).astype(np.int64)
        length = (count(m, ix) & np.uint32(255)).astype(np.int64)
        top = np.minimum(first + length - 1, width - 1)
        unsigned = value.view(f"u{value.dtype.itemsize}")
        one = unsigned.dtype.type(1)
        moved = np.where(
            first < width, unsigned >> np.minimum(first, width - 1).astype(unsigned.dtype), 0
        )
        mask = (one << np.minimum(length, width - 1).astype(unsigned.dtype)) - one
        field = np.where(length >= width, moved, moved & mask).astype(unsigned.dtype)
        if kind[0] == "s":
            sign_bit = (unsigned >> top.clip(0).astype(unsigned.dtype)) & one
            missing = np.where(length >= width, unsigned.dtype.type(0), ~mask)
            beyond = np.where(
                first + length > width,
                ~unsigned.dtype.type(0)
                << np.clip(width - first, 0, width - 1).astype(unsigned.dtype),
                0,
            )
            field = np.where((sign_bit == 1) & (length > 0), field | missing | beyond, field)
        write(m, ix, field.astype(unsigned.dtype).view(value.dtype))

    return step


@instruction("bfi")
def insert_field(form: Form, k: Builder) -> Step:
    """`bfi f, a, b, start, count`: the low bits of a put into b."""
    kind = form.kind("b32", "b64")
    width, dtype = _width(kind), NUMPY[kind]
    write = k.write(form.operands[0], kind)
    a, b = k.read(form.operands[1], kind), k.read(form.operands[2], kind)
    start, count = k.read(form.operands[3], "u32"), k.read(form.operands[4], "u32")

    def step(m: Any, ix: Any) -> None:
        first = np.asarray(start(m, ix) & np.uint32(255)).astype(np.int64)
        length = np.asarray(count(m, ix) & np.uint32(255)).astype(np.int64)
        place = np.arange(width)
        inside = (place >= first[..., None]) & (place < (first + length)[..., None])
        mask = _from_bits(inside, dtype)
        shifted = np.where(first < width, a(m, ix) << np.minimum(first, width - 1).astype(dtype), 0)
        write(m, ix, ((b(m, ix) & ~mask) | (shifted.astype(dtype) & mask)).astype(dtype))

    return step


@instruction("bmsk")
def mask_of_field(form: Form, k: Builder) -> Step:
    """`bmsk d, start, count`: ones in a field."""
    form.kind("b32")
    clamp = form.needed("clamp", "wrap") == "clamp"

    def function(first: Any, length: Any) -> Array:
        first, length = np.asarray(first).astype(np.int64), np.asarray(length).astype(np.int64)
        if not clamp:
            first, length = first & 31, length & 31
        place = np.arange(32)
        inside = (place >= first[..., None]) & (place < (first + length)[..., None])
        return _from_bits(inside, np.uint32)

    return apply(form, k, "u32", function)


@instruction("lop3")
def three_way_logic(form: Form, k: Builder) -> Step:
    """`lop3.b32 d, a, b, c, table`: any logic of three words."""
    form.count(5)
    form.kind("b32")
    table = form.operands[4]
    write = k.write(form.operands[0], "b32")
    reads = [k.read(o, "b32") for o in form.operands[1:4]]
    value = getattr(table, "value", None)
    if value is None:
        raise form.unknown("a constant table")

    def step(m: Any, ix: Any) -> None:
        a, b, c = (read(m, ix) for read in reads)
        result = np.uint32(0)
        for row in range(8):
            if value >> row & 1:
                terms = (x if row >> bit & 1 else ~x for x, bit in ((a, 2), (b, 1), (c, 0)))
                x, y, z = terms
                result = result | (x & y & z)
        write(m, ix, np.asarray(result, np.uint32))

    return step


@instruction("prmt")
def permute_bytes(form: Form, k: Builder) -> Step:
    """`prmt d, a, b, selectors`: bytes of a pair of words, or of one in a fixed pattern."""
    form.count(4)
    form.kind("b32")
    mode = form.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")

    def chosen(selector: Array) -> Array:
        low = (selector & np.uint32(3)).astype(np.int64)[..., None]
        place = np.arange(4)
        if mode == "f4e":
            return (low + place) & 7
        if mode == "b4e":
            return (low - place) & 7
        if mode == "rc8":
            return low + 0 * place
        if mode == "ecl":
            return np.maximum(low, place)
        if mode == "ecr":
            return np.minimum(low, place)
        return 2 * (low & 1) + (place & 1)

    def function(a: Any, b: Any, selector: Any) -> Array:
        a, b, selector = np.broadcast_arrays(*np.atleast_1d(a, b, selector))
        pool = np.stack([a, b], -1).astype("<u4").view(np.uint8)
        if mode is not None:
            picks, signs = chosen(selector), None
        else:
            nibbles = (selector[..., None] >> (4 * np.arange(4)).astype(np.uint32)) & np.uint32(15)
            picks, signs = (nibbles & np.uint32(7)).astype(np.int64), nibbles >= 8
        found = np.take_along_axis(pool, picks, -1)
        if signs is not None:
            found = np.where(signs, np.where(found >= 128, 255, 0), found).astype(np.uint8)
        return np.ascontiguousarray(found).view(np.uint32)[..., 0]

    return apply(form, k, "b32", function)


@instruction("dp4a")
def dot_of_bytes(form: Form, k: Builder) -> Step:
    """`dp4a d, a, b, c`: c plus the dot product of four bytes."""
    second, first = form.kind("u32", "s32"), form.kind("u32", "s32")
    out = "s32" if "s32" in (first, second) else "u32"
    write, c = k.write(form.operands[0], out), k.read(form.operands[3], out)
    a, b = k.read(form.operands[1], "b32"), k.read(form.operands[2], "b32")

    def parts(word: Any, kind: str) -> Array:
        bytes_ = np.ascontiguousarray(np.atleast_1d(word))[:, None].view(
            "u1" if kind == "u32" else "i1"
        )
        return bytes_.astype(np.int64)

    def step(m: Any, ix: Any) -> None:
        total = (parts(a(m, ix), first) * parts(b(m, ix), second)).sum(axis=1)
        write(m, ix, (total + c(m, ix)).astype(NUMPY[out]))

    return step


@instruction("szext")
def extend_field(form: Form, k: Builder) -> Step:
    """`szext d, a, bits`: the low bits, extended."""
    kind = form.kind("u32", "s32")
    clamp = form.needed("clamp", "wrap") == "clamp"

    def function(a: Any, count: Any) -> Array:
        n = np.asarray(count).astype(np.int64)
        n = np.minimum(n, 32) if clamp else n & 31
        value = np.asarray(a).astype(np.int64) & ((1 << n) - 1)
        if kind == "s32":
            value = np.where(
                (n > 0) & (value >> np.maximum(n - 1, 0) & 1 == 1), value - (1 << n), value
            )
        return (value & 0xFFFF_FFFF).astype(np.uint32).view(NUMPY[kind])

    return apply(form, k, kind, function)
