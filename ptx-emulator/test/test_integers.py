"""Integer instructions against Python's integers, thread by thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptx_kernels import each_thread, run

RNG = np.random.default_rng(5)
DTYPES = {
    f"{s}{b}": np.dtype(f"{'i' if s == 's' else 'u'}{b // 8}") for s in "us" for b in (16, 32, 64)
}
DTYPES |= {f"b{b}": np.dtype(f"u{b // 8}") for b in (16, 32, 64)}
EDGES = [0, 1, 2, 31, 32, 33, 63, 64, 255, -1, -2, 2**15, 2**31, -(2**31), 2**63, 0x12345678]


def wrapped(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def operands(kind: str, count: int = 64) -> np.ndarray:
    bits = int(kind[1:])
    values = [wrapped(v, kind) for v in EDGES]
    values += [
        wrapped(int(RNG.integers(0, 2**63)) << 1, kind) >> int(RNG.integers(0, bits))
        for _ in range(count - len(values))
    ]
    RNG.shuffle(values)
    return np.array(values, DTYPES[kind])


def check(text: str, kinds: str, result: str, formula: Callable[..., int]) -> None:
    """Run `text %out, %va, ...` on edge cases and compare with a formula of Python integers."""
    names = kinds.split()
    columns = [operands(kind) for kind in names]
    body = f"{text} %out, {', '.join(f'%v{n}' for n in 'abcd'[: len(names)])};"
    inputs = dict(zip("abcd", columns, strict=False))
    (found,) = run(each_thread(body, kinds, result), inputs, {"y": ((64,), DTYPES[result])}, 64)
    wanted = [wrapped(formula(*map(int, row)), result) for row in zip(*columns, strict=True)]
    assert found.tolist() == wanted


def truncated(a: int, b: int) -> int:
    return -1 if b == 0 else int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
    "min": min, "max": max, "div": truncated,
    "rem": lambda a, b: a if b == 0 else a - truncated(a, b) * b,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_arithmetic_wraps(name: str, kind: str) -> None:
    check(f"{name}.{kind}", f"{kind} {kind}", kind, BINARY[name])


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_products_have_high_and_wide_parts(kind: str) -> None:
    bits = int(kind[1:])
    check(f"mul.hi.{kind}", f"{kind} {kind}", kind, lambda a, b: a * b >> bits)
    check(f"mad.lo.{kind}", f"{kind} {kind} {kind}", kind, lambda a, b, c: a * b + c)
    check(f"mad.hi.{kind}", f"{kind} {kind} {kind}", kind, lambda a, b, c: (a * b >> bits) + c)
    if bits < 64:
        wide = f"{kind[0]}{2 * bits}"
        check(f"mul.wide.{kind}", f"{kind} {kind}", wide, lambda a, b: a * b)
        check(f"mad.wide.{kind}", f"{kind} {kind} {wide}", wide, lambda a, b, c: a * b + c)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic_and_shifts(bits: int) -> None:
    kind, ones = f"b{bits}", (1 << bits) - 1
    check(f"and.{kind}", f"{kind} {kind}", kind, lambda a, b: a & b)
    check(f"or.{kind}", f"{kind} {kind}", kind, lambda a, b: a | b)
    check(f"xor.{kind}", f"{kind} {kind}", kind, lambda a, b: a ^ b)
    check(f"not.{kind}", kind, kind, lambda a: a ^ ones)
    check(f"cnot.{kind}", kind, kind, lambda a: int(a == 0))
    check(f"shl.{kind}", f"{kind} u32", kind, lambda a, n: a << n if n < bits else 0)
    check(f"shr.u{bits}", f"u{bits} u32", f"u{bits}", lambda a, n: a >> n if n < bits else 0)
    check(f"shr.s{bits}", f"s{bits} u32", f"s{bits}", lambda a, n: a >> min(n, bits - 1))


def test_signs_and_saturation() -> None:
    for kind in ("s16", "s32", "s64"):
        check(f"neg.{kind}", kind, kind, lambda a: -a)
        check(f"abs.{kind}", kind, kind, abs)
    check("add.sat.s32", "s32 s32", "s32", lambda a, b: max(-(2**31), min(2**31 - 1, a + b)))
    check("sub.sat.s32", "s32 s32", "s32", lambda a, b: max(-(2**31), min(2**31 - 1, a - b)))
    check("sad.s32", "s32 s32 u32", "u32", lambda a, b, c: c + abs(a - b))


@pytest.mark.parametrize("bits", [32, 64])
def test_counting_bits(bits: int) -> None:
    kind = f"b{bits}"
    check(f"popc.{kind}", kind, "u32", lambda a: bin(a).count("1"))
    check(f"clz.{kind}", kind, "u32", lambda a: bits - a.bit_length())
    check(f"brev.{kind}", kind, kind, lambda a: int(f"{a:0{bits}b}"[::-1], 2))
    check(f"bfind.u{bits}", f"u{bits}", "u32", lambda a: a.bit_length() - 1)
    check(f"bfind.s{bits}", f"s{bits}", "u32", lambda a: (a if a >= 0 else ~a).bit_length() - 1)
    check(
        f"bfind.shiftamt.u{bits}", f"u{bits}", "u32", lambda a: bits - a.bit_length() if a else -1
    )


def field(a: int, start: int, count: int, bits: int, signed: bool) -> int:
    """`bfe` bit by bit, as the manual's pseudo-code has it."""
    start, count = start & 255, count & 255
    value = a & ((1 << bits) - 1)
    sign = 0 if not signed or count == 0 else value >> min(start + count - 1, bits - 1) & 1
    result = 0
    for i in range(bits):
        bit = value >> (start + i) & 1 if i < count and start + i < bits else sign
        result |= bit << i
    return result


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_fields(bits: int) -> None:
    for kind in (f"u{bits}", f"s{bits}"):
        signed = kind[0] == "s"
        check(
            f"bfe.{kind}",
            f"{kind} u32 u32",
            kind,
            lambda a, s, n, d=signed: field(a, s, n, bits, d),
        )
        for start, count in ((0, 8), (5, 7), (28, 8), (bits - 1, 1), (3, 0), (0, bits), (40, 9)):
            check_field(kind, start, count)

    def inserted(a: int, b: int, start: int, count: int) -> int:
        start, count = start & 255, count & 255
        for i in range(count):
            if start + i < bits:
                b = b & ~(1 << start + i) | (a >> i & 1) << start + i
        return b

    check(f"bfi.b{bits}", f"b{bits} b{bits} u32 u32", f"b{bits}", inserted)


def check_field(kind: str, start: int, count: int) -> None:
    bits, values = int(kind[1:]), operands(kind)
    text = each_thread(f"bfe.{kind} %out, %va, {start}, {count};", kind, kind)
    (found,) = run(text, {"a": values}, {"y": ((64,), values.dtype)}, 64)
    assert found.tolist() == [
        wrapped(field(int(a), start, count, bits, kind[0] == "s"), kind) for a in values
    ]


@pytest.mark.parametrize("table", [0, 1, 0x80, 0xE8, 0x96, 0xFF, 0xCA])
def test_logic_of_three_words_follows_its_table(table: int) -> None:
    a, b, c = (operands("b32") for _ in range(3))
    text = each_thread(f"lop3.b32 %out, %va, %vb, %vc, {table};", "b32 b32 b32", "b32")
    (found,) = run(text, {"a": a, "b": b, "c": c}, {"y": ((64,), np.uint32)}, 64)
    for x, y, z, out in zip(a, b, c, found, strict=True):
        for i in range(32):
            row = (int(x) >> i & 1) << 2 | (int(y) >> i & 1) << 1 | int(z) >> i & 1
            assert int(out) >> i & 1 == table >> row & 1


def test_funnel_shifts_and_byte_permutations() -> None:
    def left(a: int, b: int, n: int, clamp: bool) -> int:
        n = min(n, 32) if clamp else n & 31
        return ((b << 32 | a) << n) >> 32

    def right(a: int, b: int, n: int, clamp: bool) -> int:
        n = min(n, 32) if clamp else n & 31
        return (b << 32 | a) >> n

    for mode in ("clamp", "wrap"):
        clamp = mode == "clamp"
        check(f"shf.l.{mode}.b32", "b32 b32 u32", "b32", lambda a, b, n, k=clamp: left(a, b, n, k))
        check(f"shf.r.{mode}.b32", "b32 b32 u32", "b32", lambda a, b, n, k=clamp: right(a, b, n, k))

    def permuted(a: int, b: int, selector: int) -> int:
        pool = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
        result = 0
        for i in range(4):
            choice = selector >> 4 * i & 15
            byte = pool[choice & 7]
            result |= ((255 if byte & 128 else 0) if choice & 8 else byte) << 8 * i
        return result

    check("prmt.b32", "b32 b32 b32", "b32", permuted)
    orders = {
        "f4e": lambda c: [(c + i) & 7 for i in range(4)],
        "b4e": lambda c: [(c - i) & 7 for i in range(4)],
        "rc8": lambda c: [c] * 4,
        "ecl": lambda c: [max(c, i) for i in range(4)],
        "ecr": lambda c: [min(c, i) for i in range(4)],
        "rc16": lambda c: [2 * (c & 1) + (i & 1) for i in range(4)],
    }
    for mode, picks in orders.items():

        def chosen(a: int, b: int, selector: int, picks: Any = picks) -> int:
            pool = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
            return sum(pool[p] << 8 * i for i, p in enumerate(picks(selector & 3)))

        check(f"prmt.b32.{mode}", "b32 b32 b32", "b32", chosen)


def test_dot_products_of_bytes() -> None:
    def parts(word: int, signed: bool) -> list[int]:
        return [wrapped(word >> 8 * i, "s8" if signed else "u8") for i in range(4)]

    def dot(a: int, b: int, c: int, sa: bool, sb: bool) -> int:
        return c + sum(x * y for x, y in zip(parts(a, sa), parts(b, sb), strict=True))

    check("dp4a.u32.u32", "u32 u32 u32", "u32", lambda a, b, c: dot(a, b, c, False, False))
    check("dp4a.s32.s32", "s32 s32 s32", "s32", lambda a, b, c: dot(a, b, c, True, True))
    check("dp4a.u32.s32", "u32 s32 s32", "s32", lambda a, b, c: dot(a, b, c, False, True))


def test_carries_chain() -> None:
    body = """
  .reg .b32 %lo; .reg .b32 %hi; .reg .b32 %al; .reg .b32 %ah; .reg .b32 %bl; .reg .b32 %bh;
  mov.b64 {%al, %ah}, %va;
  mov.b64 {%bl, %bh}, %vb;
  OP.cc.u32 %lo, %al, %bl;
  OPc.u32 %hi, %ah, %bh;
  mov.b64 %out, {%lo, %hi};
"""
    a, b = operands("u64"), operands("u64")
    for name, formula in (("add", np.add), ("sub", np.subtract)):
        text = each_thread(body.replace("OP", name), "u64 u64", "u64")
        (found,) = run(text, {"a": a, "b": b}, {"y": ((64,), np.uint64)}, 64)
        assert (found == formula(a, b)).all()


def test_products_chain_by_carries() -> None:
    body = """
  .reg .b32 %low; .reg .b32 %high; .reg .b32 %al; .reg .b32 %bl; .reg .b32 %cl; .reg .b32 %ch;
  cvt.u32.u64 %al, %va;
  cvt.u32.u64 %bl, %vb;
  mov.b64 {%cl, %ch}, %vc;
  mad.lo.cc.u32 %low, %al, %bl, %cl;
  madc.hi.u32 %high, %al, %bl, %ch;
  mov.b64 %out, {%low, %high};
"""
    a, b, c = operands("u64"), operands("u64"), operands("u64")
    text = each_thread(body, "u64 u64 u64", "u64")
    (found,) = run(text, {"a": a, "b": b, "c": c}, {"y": ((64,), np.uint64)}, 64)
    low = np.uint64(2**32 - 1)
    assert (found == (a & low) * (b & low) + c).all()


def test_packed_integers_are_added_apart() -> None:
    def both(a: int, b: int) -> int:
        return (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16

    check("add.u16x2", "b32 b32", "b32", both)


COMPARISONS = {
    "eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__,
    "ge": int.__ge__,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_comparisons_select(kind: str) -> None:
    for name, formula in COMPARISONS.items():
        body = f".reg .pred %p;\nsetp.{name}.{kind} %p, %va, %vb;\nselp.u32 %out, 1, 0, %p;"
        a, b = operands(kind), operands(kind)
        b[:8] = a[:8]
        text = each_thread(body, f"{kind} {kind}", "u32")
        (found,) = run(text, {"a": a, "b": b}, {"y": ((64,), np.uint32)}, 64)
        assert found.tolist() == [int(formula(int(x), int(y))) for x, y in zip(a, b, strict=True)]


def test_predicates_combine_and_come_in_pairs() -> None:
    body = """
  .reg .pred %p; .reg .pred %q; .reg .pred %s; .reg .b32 %one; .reg .b32 %two;
  setp.hi.u32 %s, %va, 100;
  setp.lo.and.u32 %p|%q, %va, %vb, !%s;
  selp.u32 %one, 1, 0, %p;
  selp.u32 %two, 2, 0, %q;
  @!%s or.b32 %two, %two, 4;
  not.pred %s, %s;
  xor.pred %s, %s, %p;
  @%s or.b32 %two, %two, 8;
  set.lt.u32.u32 %p0, %va, %vb;
  or.b32 %out, %one, %two;
""".replace("  set.lt.u32.u32 %p0, %va, %vb;\n", "")
    a, b = operands("u32"), operands("u32")
    a[:20] = RNG.integers(0, 120, 20)
    text = each_thread(body, "u32 u32", "u32")
    (found,) = run(text, {"a": a, "b": b}, {"y": ((64,), np.uint32)}, 64)
    small = a <= 100
    p, q = (a < b) & small, ~(a < b) & small
    assert (found == p * 1 + q * 2 + small * 4 + (small ^ p) * 8).all()
