"""Scalar operations of foreign programs on ends and bits of their types, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ted import dialects
from ted.ir.to_ops import to_module
from ted.raising.modules import from_mlir
from unit.frontend.tracing import run

FLOATS = np.array([0.0, -0.0, 1.0, -1.5, 2.5, -2.5, 0.5, 1e-40, 3e38, -np.inf, np.inf, 65504.0],
                  "f4")  # fmt: skip
BYTES = np.arange(-128, 128).astype("i1")
OTHERS = np.roll(BYTES, 77)


def program(op: str, result: str, *operands: str) -> str:
    """One operation on vectors of 256 elements or as many as FLOATS."""
    arguments = ", ".join(f"%a{k}: {t}" for k, t in enumerate(operands))
    return f"func.func @main({arguments}) -> {result} {{\n  %r = {op}\n  return %r : {result}\n}}"


def found(op: str, result: str, *arrays: np.ndarray) -> Any:
    names = {"f4": "f32", "i1": "i8", "i4": "i32", "f2": "f16", "i2": "i16"}
    types = [f"tensor<{a.size}x{names[a.dtype.str[1:]]}>" for a in arrays]
    text = program(op.format(*types), f"tensor<{arrays[0].size}x{result}>", *types)
    return run(lambda *given: [from_mlir(text)(*given)], *arrays)[0]


def bits(x: np.ndarray) -> list[str]:
    return [f"{v & 255:08b}" for v in x.tolist()]


UNARY: dict[str, Callable[[np.ndarray], Any]] = {
    "math.ctpop": lambda x: [b.count("1") for b in bits(x)],
    "math.ctlz": lambda x: [len(b) - len(b.lstrip("0")) for b in bits(x)],
    "math.cttz": lambda x: [len(b) - len(b.rstrip("0")) for b in bits(x)],
}


@pytest.mark.parametrize("name", UNARY)
def test_bits_of_every_byte_are_counted(name: str) -> None:
    np.testing.assert_array_equal(found(f"{name} %a0 : {{0}}", "i8", BYTES), UNARY[name](BYTES))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.divsi": lambda x, y: np.trunc(x / y),
    "arith.remsi": np.fmod,
    "arith.divui": lambda x, y: (x % 256) // (y % 256),
    "arith.remui": lambda x, y: (x % 256) % (y % 256),
    "arith.maxui": lambda x, y: np.maximum(x % 256, y % 256),
    "arith.minui": lambda x, y: np.minimum(x % 256, y % 256),
    "arith.floordivsi": lambda x, y: x // y,
}


@pytest.mark.parametrize("name", BINARY)
def test_bytes_are_divided_as_the_name_says(name: str) -> None:
    x, y = (a[(OTHERS != 0) & (OTHERS != -1)] for a in (BYTES, OTHERS))
    mine = found(f"{name} %a0, %a1 : {{0}}", "i8", x, y)
    wanted = BINARY[name](x.astype(int), y.astype(int))
    np.testing.assert_array_equal(mine.astype("u1"), np.asarray(wanted, int) % 256)


@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_floats_are_their_bits_and_back(kind: str) -> None:
    with np.errstate(over="ignore"):
        x = FLOATS.astype({"f16": "f2", "f32": "f4"}[kind], copy=True)
    whole = {"f16": "i2", "f32": "i4"}[kind]
    word = f"i{8 * x.itemsize}"
    there = found(f"arith.bitcast %a0 : {{0}} to tensor<12x{word}>", word, x)
    np.testing.assert_array_equal(there, x.view(whole))
    back = found(f"arith.bitcast %a0 : {{0}} to tensor<12x{kind}>", kind, x.view(whole))
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(np.signbit(back), np.signbit(x))


MANTISSAS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}


@pytest.mark.parametrize("kind", MANTISSAS)
def test_a_random_mantissa_behind_an_exponent_is_one_sum(kind: str) -> None:
    """How programs draw numbers from 1 to 2: the operations are whole tensors of their own."""
    width, below = int(kind.strip("bf")), MANTISSAS[kind]
    bias = 2 ** (width - 2 - below) - 1
    text = f"""func.func @main(%x: tensor<4xui{width}>) -> tensor<4x{kind}> {{
      %k = stablehlo.constant dense<{width - below}> : tensor<4xui{width}>
      %one = stablehlo.constant dense<{bias << below}> : tensor<4xui{width}>
      %0 = stablehlo.shift_right_logical %x, %k : tensor<4xui{width}>
      %1 = stablehlo.or %0, %one : tensor<4xui{width}>
      %2 = stablehlo.bitcast_convert %1 : (tensor<4xui{width}>) -> tensor<4x{kind}>
      return %2 : tensor<4x{kind}>
    }}"""
    x = np.array([0, 1, 2 ** (width - 1), 2**width - 1], f"u{width // 8}")
    raised = from_mlir(text)
    mine = run(lambda x: [raised(x)], x)[0].astype("f8")
    np.testing.assert_array_equal(mine, 1 + (x >> (width - below)).astype("f8") * 2.0**-below)
    with dialects.session():
        assert "select" not in str(to_module(raised.system))


@pytest.mark.parametrize("shift", [1, 7, 10])
def test_what_reaches_into_the_exponent_is_no_mantissa(shift: int) -> None:
    text = f"""func.func @main(%x: tensor<4xui32>) -> tensor<4xf32> {{
      %k = stablehlo.constant dense<{shift}> : tensor<4xui32>
      %one = stablehlo.constant dense<{0x3F800000}> : tensor<4xui32>
      %0 = stablehlo.shift_right_logical %x, %k : tensor<4xui32>
      %1 = stablehlo.or %0, %one : tensor<4xui32>
      %2 = stablehlo.bitcast_convert %1 : (tensor<4xui32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }}"""
    x = np.array([0, 12345678, 2**31 + 77777, 2**30 + 5], "u4")
    mine = run(lambda x: [from_mlir(text)(x)], x)[0]
    np.testing.assert_array_equal(mine, ((x >> shift) | 0x3F800000).astype("u4").view("f4"))


def test_signs_and_kinds_of_floats() -> None:
    with_nan = np.append(FLOATS[:-1], np.float32(np.nan))
    signed = found("math.copysign %a0, %a1 : {0}", "f32", FLOATS, FLOATS[::-1].copy())
    np.testing.assert_array_equal(signed, np.copysign(FLOATS, FLOATS[::-1]))
    np.testing.assert_array_equal(np.signbit(signed), np.signbit(FLOATS[::-1]))
    for name in ("isnan", "isinf", "isfinite"):
        mine = found(f"math.{name} %a0 : {{0}}", "i1", with_nan)
        np.testing.assert_array_equal(mine, getattr(np, name)(with_nan), name)
    for name, other in (("maxnumf", np.fmax), ("minnumf", np.fmin), ("maximumf", np.maximum)):
        mine = found(f"arith.{name} %a0, %a1 : {{0}}", "f32", with_nan, FLOATS[::-1].copy())
        np.testing.assert_array_equal(mine, other(with_nan, FLOATS[::-1]), name)
    away = np.trunc(FLOATS[:8] + np.copysign(0.5, FLOATS[:8]))
    np.testing.assert_array_equal(found("math.round %a0 : {0}", "f32", FLOATS[:8].copy()), away)
