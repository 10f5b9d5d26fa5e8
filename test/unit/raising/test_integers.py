"""Integer ops of arith and math: all pairs of 8 bits, and the ends of the other widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.testing.tracing import interpreted

Array: Any = np.ndarray
Function = Callable[..., Any]


def cut(a: Any, b: Any) -> Any:
    """The quotient rounded towards zero."""
    signs = np.where((a < 0) != (b < 0), -1, 1)
    return (abs(a) // abs(b)) * signs


# op -> what it is of numbers; those of `WITHOUT_SIGN` see the bits as a number that is not negative
BINARY: dict[str, Function] = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b, "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b, "arith.xori": lambda a, b: a ^ b,
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum, "arith.minui": np.minimum,
    "arith.maxui": np.maximum,
    "arith.divsi": cut, "arith.remsi": lambda a, b: a - b * cut(a, b),
    "arith.floordivsi": lambda a, b: a // b, "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.divui": lambda a, b: a // b, "arith.remui": lambda a, b: a % b,
    "arith.shli": lambda a, b: a << b, "arith.shrsi": lambda a, b: a >> b,
    "arith.shrui": lambda a, b: a >> b,
}  # fmt: skip
PREDICATES: dict[str, Function] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a < b, "ule": lambda a, b: a <= b, "ugt": lambda a, b: a > b,
    "uge": lambda a, b: a >= b,
}  # fmt: skip
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, bits: abs(a if a < 1 << (bits - 1) else a - (1 << bits)),
    "math.ctpop": lambda a, bits: a.bit_count(),
    "math.ctlz": lambda a, bits: bits - a.bit_length(),
    "math.cttz": lambda a, bits: (a & -a).bit_length() - 1 if a else bits,
}
WITHOUT_SIGN = {"arith.minui", "arith.maxui", "arith.divui", "arith.remui", "arith.shrui",
                "ult", "ule", "ugt", "uge"}  # fmt: skip


def wrapped(values: Any, bits: int) -> Any:
    """Numbers with the low bits of others, and a sign."""
    half = 1 << (bits - 1)
    return (np.asarray(values) + half) % (1 << bits) - half


def text(kind: str, count: int) -> str:
    """All ops on two tensors."""
    tensor, flags = f"tensor<{count}x{kind}>", f"tensor<{count}xi1>"
    lines = [f"%b{k} = {op} %x, %y : {tensor}" for k, op in enumerate(BINARY)]
    lines += [f"%p{k} = arith.cmpi {p}, %x, %y : {tensor}" for k, p in enumerate(PREDICATES)]
    lines += [f"%u{k} = {op} %x : {tensor}" for k, op in enumerate(UNARY)]
    rows = (("b", BINARY, tensor), ("p", PREDICATES, flags), ("u", UNARY, tensor))
    names = [f"%{c}{k}" for c, table, _ in rows for k in range(len(table))]
    types = ", ".join(t for _, table, t in rows for _ in table)
    body = "\n  ".join(lines)
    return (
        f"func.func @main(%x: {tensor}, %y: {tensor}) -> ({types}) {{\n  {body}\n"
        f"  return {', '.join(names)} : {types}\n}}"
    )


def check(found: Any, a: Any, b: Any, bits: int) -> None:
    """Compare with what is defined: no division by 0 or beyond the type, no shift beyond it."""
    results = dict(zip([*BINARY, *PREDICATES, *UNARY], found, strict=True))
    whole = 1 << bits
    for name, function in (BINARY | PREDICATES).items():
        plain = name in WITHOUT_SIGN
        x, y = (a % whole, b % whole) if plain else (a, b)
        is_held = np.ones(len(a), bool)
        if "div" in name or "rem" in name:
            least = (a == -(whole // 2)) & (b == -1) & (not plain)
            is_held = (b != 0) & ~least.astype(bool)
        if "sh" in name:
            is_held = (b % whole < bits).astype(bool)
        y = np.where(is_held, y, 1)
        wanted = function(x, y)
        if name in BINARY:
            wanted = wrapped(wanted, bits) if bits > 1 else np.asarray(wanted) % 2
        pairs = [(got, want, p, q) for got, want, p, q in zip(
            results[name][is_held].tolist(), np.asarray(wanted)[is_held].tolist(),
            a[is_held].tolist(), b[is_held].tolist(), strict=True) if got != want]  # fmt: skip
        assert not pairs, (name, bits, pairs[:3])
    for name, unary in UNARY.items():
        wanted = np.array([unary(int(v) % whole, bits) for v in a], object)
        wanted = wrapped(wanted, bits) if bits > 1 else wanted % 2
        assert results[name].tolist() == wanted.tolist(), (name, bits)


def test_all_pairs_of_eight_bits() -> None:
    a, b = (v.ravel() for v in np.meshgrid(*[np.arange(-128, 128)] * 2, indexing="ij"))
    f = ted.function(ted.from_mlir(text("i8", a.size)))
    check(f(a.astype(np.int8), b.astype(np.int8)), a, b, 8)


def test_powers_of_all_pairs_of_eight_bits() -> None:
    a, b = (v.ravel() for v in np.meshgrid(*[np.arange(-128, 128)] * 2, indexing="ij"))
    kind = f"tensor<{a.size}xi8>"
    power = f"%p = math.ipowi %x, %y : {kind}\n  return %p : {kind}"
    f = ted.function(
        ted.from_mlir(f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{{power}}}")
    )
    found = f(a.astype(np.int8), b.astype(np.int8))
    wanted = [pow(x, y if y >= 0 else y % 2, 256) if y >= 0 or abs(x) == 1 else 0
              for x, y in zip(a.tolist(), b.tolist(), strict=True)]  # fmt: skip
    is_defined = (a != 0) | (b >= 0)
    np.testing.assert_array_equal(found[is_defined], wrapped(wanted, 8)[is_defined])


def test_both_numbers_of_one_bit() -> None:
    a, b = np.array([0, 0, -1, -1]), np.array([0, -1, 0, -1])
    found = ted.function(ted.from_mlir(text("i1", 4)))(a != 0, b != 0)
    check(found, a, b, 1)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_ends_of_other_widths(bits: int) -> None:
    half = 1 << (bits - 1)
    ends = [-half, -half + 1, -bits, -3, -1, 0, 1, 2, bits - 1, bits, half - 2, half - 1]
    a, b = (v.ravel() for v in np.meshgrid(*[np.array(ends, object)] * 2, indexing="ij"))
    raised = ted.from_mlir(text(f"i{bits}", a.size))
    x, y = (ted.placeholder((a.size,), f"int{bits}") for _ in "ab")
    found = interpreted([x, y], list(raised(x, y)))(*(v.astype(f"int{bits}") for v in (a, b)))
    check(found, a, b, bits)


def test_indices_are_integers_of_64_bits() -> None:
    ends = [-(1 << 62), -65, -3, -1, 0, 1, 2, 63, 64, 1 << 62]
    a, b = (v.ravel() for v in np.meshgrid(*[np.array(ends, object)] * 2, indexing="ij"))
    raised = ted.from_mlir(text("index", a.size))
    x, y = (ted.placeholder((a.size,), "int64") for _ in "ab")
    found = interpreted([x, y], list(raised(x, y)))(a.astype("i8"), b.astype("i8"))
    check(found, a, b, 64)


# of i8: text of one result %r with its type, and what it is of a number; constants included
CASTS: dict[str, tuple[str, Function]] = {
    "i64": ("%r = arith.extsi %x : T to tensor<256xi64>", lambda a: a),
    "i32": ("%r = arith.extui %x : T to tensor<256xi32>", lambda a: a % 256),
    "f32": ("%r = arith.sitofp %x : T to tensor<256xf32>", lambda a: a),
    "f16": ("%r = arith.uitofp %x : T to tensor<256xf16>", lambda a: a % 256),
    "i1": ("%r = arith.trunci %x : T to tensor<256xi1>", lambda a: a % 2),
    "i1 of an index": (
        "%i = arith.index_cast %x : T to tensor<256xindex>\n"
        "%r = arith.index_cast %i : tensor<256xindex> to tensor<256xi1>", lambda a: a % 2),
    "i1 of a float": (
        "%c = arith.constant dense<0.0078125> : tensor<256xf32>\n"
        "%f = arith.sitofp %x : T to tensor<256xf32>\n%g = arith.mulf %f, %c : tensor<256xf32>\n"
        "%r = arith.fptosi %g : tensor<256xf32> to tensor<256xi1>", lambda a: a == -128),
    "i64 of an index": (
        "%i = arith.index_castui %x : T to tensor<256xindex>\n"
        "%r = arith.index_cast %i : tensor<256xindex> to tensor<256xi64>", lambda a: a % 256),
    "i8 of a square": (
        "%i = arith.index_cast %x : T to tensor<256xindex>\n"
        "%j = arith.muli %i, %i : tensor<256xindex>\n"
        "%r = arith.index_castui %j : tensor<256xindex> to tensor<256xi8>",
        lambda a: wrapped(a * a, 8)),
    "i8 rest after a quotient without sign": (
        "%c = arith.constant dense<1> : T\n%d = arith.constant dense<-3> : T\n"
        "%q = arith.divui %x, %c : T\n%r = arith.remsi %q, %d : T", lambda a: np.fmod(a, 3)),
    "i8 quotient by the least": (
        "%c = arith.constant dense<-128> : T\n%r = arith.ceildivsi %x, %c : T",
        lambda a: -(a // 128)),
    "i8 chosen by a branch": (
        "%c = arith.constant 7 : i8\n%r = linalg.map ins(%x : T) outs(%x : T)\n(%a: i8, %o: i8) {\n"
        "%g = arith.cmpi sgt, %a, %c : i8\n%s = scf.if %g -> i8 {\n%u = arith.divui %a, %c : i8\n"
        "scf.yield %u : i8\n} else {\n%u = arith.addi %a, %c : i8\nscf.yield %u : i8\n}\n"
        "linalg.yield %s : i8\n}", lambda a: np.where(a > 7, a // 7, a + 7)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASTS)
def test_integers_of_other_types(name: str) -> None:
    lines, function = CASTS[name]
    source, result = "tensor<256xi8>", f"tensor<256x{name.split()[0]}>"
    body = lines.replace(" T", f" {source}")
    raised = ted.from_mlir(
        f"func.func @main(%x: {source}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    )
    a = np.arange(-128, 128)
    x = ted.placeholder((256,), "int8")
    (found,) = interpreted([x], [raised(x)])(a.astype(np.int8))
    np.testing.assert_array_equal(found, function(a))
    assert str(raised.system.outputs[0].dtype.mlir) == name.split()[0]


def test_an_integer_divided_by_zero_is_no_trap() -> None:
    kind = "tensor<2xi32>"
    ops = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui")
    lines = "\n".join(f"%{op} = arith.{op} %x, %y : {kind}" for op in ops)
    types = ", ".join([kind] * len(ops))
    raised = ted.from_mlir(
        f"func.func @main(%x: {kind}, %y: {kind}) -> ({types}) {{\n{lines}\n"
        f"return {', '.join(f'%{op}' for op in ops)} : {types}\n}}"
    )
    found = ted.function(raised)(np.array([7, -(2**31)], "i4"), np.array([0, -1], "i4"))
    assert all(np.asarray(f).shape == (2,) for f in found)  # any number, and no death


@pytest.mark.parametrize("power", [257, 258, -257])
def test_a_power_has_the_sign_of_its_integer(power: int) -> None:
    kind = "tensor<3xbf16>"
    raised = ted.from_mlir(
        f"func.func @main(%x: {kind}) -> {kind} {{\n%n = arith.constant dense<{power}> : "
        f"tensor<3xi32>\n%r = math.fpowi %x, %n : {kind}, tensor<3xi32>\nreturn %r : {kind}\n}}"
    )
    x = ted.placeholder((3,), "bfloat16")
    (found,) = interpreted([x], [raised(x)])(np.array([-1, 1, -1]).astype(x.dtype.dtype))
    assert found.astype(float).tolist() == [(-1.0) ** power, 1.0, (-1.0) ** power]


def test_known_indices_stand_beside_indices_that_are_data() -> None:
    kinds = "tensor<3xindex>"
    program = f"""func.func @main(%x: tensor<3xi64>) -> (tensor<3xi1>, tensor<3xi64>) {{
      %c = arith.constant dense<4> : {kinds}
      %k = arith.index_cast %x : tensor<3xi64> to {kinds}
      %b = arith.cmpi ult, %k, %c : {kinds}
      %q = arith.divui %k, %c : {kinds}
      %o = arith.index_cast %q : {kinds} to tensor<3xi64>
      return %b, %o : tensor<3xi1>, tensor<3xi64>
    }}"""
    below, quotient = ted.function(ted.from_mlir(program))(np.array([-1, 3, 4]))
    assert below.tolist() == [False, True, False]
    assert quotient.tolist() == [2**62 - 1, 0, 1]


@pytest.mark.parametrize("op", ["arith.mului_extended", "arith.mulsi_extended"])
def test_products_of_one_bit_have_no_high_bit(op: str) -> None:
    kind = "tensor<4xi1>"
    body = f"%l, %h = {op} %x, %y : {kind}\n  return %l, %h : {kind}, {kind}"
    program = f"func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, {kind}) {{{body}}}"
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    low, high = ted.function(ted.from_mlir(program))(x, y)
    assert (low.tolist(), high.any()) == ([False, False, False, True], False)
