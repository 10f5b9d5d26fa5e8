"""Arithmetic, logic and shifts of integer registers; names shared with floats lead there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptx_emulator import float_arithmetic as floats
from ptx_emulator.building import CARRY, Builder
from ptx_emulator.forms import NUMPY, Array, Form, Step, instruction

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
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


def width_in_bits(kind: str) -> int:
    """Bits of a type."""
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
    kind = form.kind(*INTEGERS)
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
    factors = form.kind("u32", "s32", "u64", "s64")
    kind = f"u{factors[1:]}"
    product: Function = {"lo": np.multiply, "hi": _high}[form.needed("lo", "hi")]
    a, b, c = (
        k.read(o, t) for o, t in zip(form.operands[1:], (factors, factors, kind), strict=True)
    )
    terms = (lambda m, ix: np.asarray(product(a(m, ix), b(m, ix))).astype(NUMPY[kind]), c)
    return _carried(form, k, kind, "add", terms, into, keep)


@instruction("mul", "mad")
def multiply(form: Form, k: Builder) -> Step:
    """`mul.lo mul.hi mul.wide mad.*`, and those of floats."""
    name = form.source.parts[0]
    if name == "mad" and form.flag("cc"):
        return _multiplied_with_carry(form, k, False)
    if floats.is_float(form):
        return floats.arithmetic(form, k, name) if name == "mul" else floats.fused(form, k)
    kind = form.kind(*INTEGERS)
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
    kind = form.kind(*INTEGERS)
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
    kind = form.kind("b16", "b32", "b64", *INTEGERS)
    width, dtype = width_in_bits(kind), NUMPY[kind]
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
