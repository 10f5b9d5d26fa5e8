"""Bit fields, counts of bits, permutations of bytes, logic of three words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptx_emulator.building import Builder
from ptx_emulator.forms import NUMPY, Array, Form, Step, instruction
from ptx_emulator.integer_arithmetic import INTEGERS, apply, width_in_bits


@instruction("popc", "clz", "bfind", "brev")
def bits(form: Form, k: Builder) -> Step:
    """Count ones, count leading zeros, find the first one, reverse."""
    form.count(2)
    name, kind = form.source.parts[0], form.kind("b32", "b64", *INTEGERS)
    width, shifts = width_in_bits(kind), form.flag("shiftamt")

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
    width = width_in_bits(kind)
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
    width, dtype = width_in_bits(kind), NUMPY[kind]
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
