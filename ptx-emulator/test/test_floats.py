"""Floating-point instructions against exact fractions, rounded by a few lines of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptx_kernels import each_thread, run

RNG = np.random.default_rng(17)
ONE_OR_ZERO = "selp.f32 %out, 0f3F800000, 0f00000000, %p;"
DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}
# Bits of the significand and least exponent of a unit in the last place.
FORMATS = {"f64": (53, -1074), "f32": (24, -149), "f16": (11, -24), "bf16": (8, -133)}


def rounded(value: Fraction, kind: str, mode: str = "rn") -> Fraction:
    """The nearest number of a format (`rn`), or the one towards 0, -inf, +inf; no overflow."""
    if value == 0:
        return value
    digits, least = FORMATS[kind]
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    steps = value / unit
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](steps)
    return whole * unit


def samples(kind: str, count: int = 256) -> np.ndarray:
    """Numbers of all sizes, many close together, some subnormal, all finite."""
    digits, least = FORMATS[kind]
    spread = {"f64": 60, "f32": 40, "f16": 8, "bf16": 40}[kind]
    values = RNG.standard_normal(count) * 2.0 ** RNG.integers(-spread, spread, count)
    values[:40] = RNG.integers(-9, 9, 40)
    values[40:60] = RNG.integers(1, 2**digits, 20) * 2.0 ** (least + 1) / 2
    values[60:100] = 1 + RNG.integers(-4, 4, 40) * 2.0 ** (1 - digits)
    return values.astype(DTYPES[kind])


def launch_on(text: str, kinds: str, result: str, columns: list[np.ndarray]) -> np.ndarray:
    names = "abc"[: len(columns)]
    body = f"{text} %out, {', '.join(f'%v{n}' for n in names)};" if "%" not in text else text
    inputs = dict(zip(names, columns, strict=True))
    count = len(columns[0])
    return run(each_thread(body, kinds, result), inputs, {"y": ((count,), DTYPES[result])}, count)[
        0
    ]


def check(
    text: str, kind: str, count: int, formula: Callable[..., Fraction], mode: str = "rn"
) -> None:
    columns = [samples(kind) for _ in range(count)]
    if count == 3:  # make sums cancel
        columns[2][100:200] = -(
            columns[0][100:200].astype(np.float64) * columns[1][100:200].astype(np.float64)
        ).astype(DTYPES[kind])
    if count == 2:
        columns[1][100:180] = -columns[0][100:180] * DTYPES[kind](0.5)
    found = launch_on(f"{text}.{kind}", " ".join([kind] * count), kind, columns)
    largest = (
        Fraction(float(np.finfo(np.float64).max))
        if kind == "f64"
        else Fraction(float(ml_dtypes.finfo(DTYPES[kind]).max))
    )
    tested = 0
    for row, out in zip(zip(*columns, strict=True), found, strict=True):
        numbers = [Fraction(float(v)) for v in row]
        if not all(math.isfinite(float(v)) for v in row):
            continue
        wanted = rounded(formula(*numbers), kind, mode)
        if abs(wanted) <= largest:
            assert Fraction(float(out)) == wanted, (row, out, float(wanted))
            tested += 1
    assert tested > 200


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
def test_sums_products_and_fused_ones_are_rounded_once(kind: str) -> None:
    check("add.rn", kind, 2, lambda a, b: a + b)
    check("sub.rn", kind, 2, lambda a, b: a - b)
    check("mul.rn", kind, 2, lambda a, b: a * b)
    check("fma.rn", kind, 3, lambda a, b, c: a * b + c)


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_other_roundings_of_f32(mode: str) -> None:
    check(f"add.{mode}", "f32", 2, lambda a, b: a + b, mode)
    check(f"mul.{mode}", "f32", 2, lambda a, b: a * b, mode)
    check(f"fma.{mode}", "f32", 3, lambda a, b, c: a * b + c, mode)


def test_fused_sums_are_not_rounded_twice() -> None:
    """a * b is just above half a unit of c: rounding to f64 first would lose that."""
    a, b, c = np.float32(1 + 2**-12), np.float32(2**-24 * (1 - 2**-12)), np.float32(1 + 2**-23)
    (found,) = launch_on("fma.rn.f32", "f32 f32 f32", "f32", [np.array([v]) for v in (a, b, c)])
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    assert Fraction(float(found)) == rounded(exact, "f32")


def test_packed_halves_are_apart() -> None:
    for kind in ("f16", "bf16"):
        a, b, c = (samples(kind) for _ in range(3))
        body = f"fma.rn.{kind}x2 %out, %va, %vb, %vc;\n add.rn.{kind}x2 %out, %out, %va;"
        inputs = {"a": a.view(np.uint32), "b": b.view(np.uint32), "c": c.view(np.uint32)}
        text = each_thread(body, "b32 b32 b32", "b32")
        (found,) = run(text, inputs, {"y": ((256,), DTYPES[kind])}, 128)
        inner = [
            rounded(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), kind)
            for x, y, z in zip(a, b, c, strict=True)
        ]
        for x, first, out in zip(a, inner, found, strict=True):
            assert Fraction(float(out)) == rounded(first + Fraction(float(x)), kind)


def test_quotients_and_roots() -> None:
    a, b = samples("f32"), np.abs(samples("f32")) + np.float32(1e-6)
    for text, wanted in (
        ("div.rn.f32", a / b),
        ("div.approx.f32", a / b),
    ):
        assert (launch_on(text, "f32 f32", "f32", [a, b]) == wanted).all()
    for text, wanted in (
        ("sqrt.rn.f32", np.sqrt(b)),
        ("rcp.rn.f32", np.float32(1) / b),
        ("sqrt.approx.f32", np.sqrt(b)),
    ):
        assert (launch_on(text, "f32", "f32", [b]) == wanted).all()
    for text, function in (
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)), ("lg2.approx.f32", np.log2),
        ("ex2.approx.ftz.f32", np.exp2), ("tanh.approx.f32", np.tanh), ("sin.approx.f32", np.sin),
    ):  # fmt: skip
        x = np.abs(samples("f32")).clip(1e-3, 50).astype(np.float32)
        found = launch_on(text, "f32", "f32", [x])
        np.testing.assert_allclose(found, function(x.astype(np.float64)), rtol=2e-6)


def test_extremes_order_zeros_and_drop_nans() -> None:
    nan, inf = np.float32(np.nan), np.float32(np.inf)
    a = np.array([0.0, -0.0, nan, 1, nan, -inf, 3], np.float32)
    b = np.array([-0.0, 0.0, 2, nan, nan, 5, -3], np.float32)
    low, high = (launch_on(f"{n}.f32", "f32 f32", "f32", [a, b]) for n in ("min", "max"))
    assert np.signbit(low[:2]).all()
    assert not np.signbit(high[:2]).any()
    assert low[2:4].tolist() == high[2:4].tolist() == [2, 1]
    assert np.isnan(low[4])
    assert high[5:].tolist() == [5, 3]
    assert np.isnan(launch_on("max.NaN.f32", "f32 f32", "f32", [a, b])[2:5]).all()


def test_flushing_and_saturation() -> None:
    tiny = np.array([1e-40, -1e-40, 1.0, 2.0**-126], np.float32)
    found = launch_on("add.ftz.f32", "f32 f32", "f32", [tiny, np.zeros(4, np.float32)])
    assert found.tolist() == [0, 0, 1, 2.0**-126]
    found = launch_on("mul.ftz.f32", "f32 f32", "f32", [tiny[3:], np.float32([0.5])])
    assert found.tolist() == [0]
    x = np.array([-1, 0.25, 7, np.nan], np.float32)
    found = launch_on("add.sat.f32", "f32 f32", "f32", [x, np.zeros(4, np.float32)])
    assert found.tolist() == [0, 0.25, 1, 0]


def test_signs_are_copied_from_the_first_operand() -> None:
    a, b = np.float32([-1, 2, -0.0]), np.float32([3, -4, 5])
    assert launch_on("copysign.f32", "f32 f32", "f32", [a, b]).tolist() == [-3, 4, -5]
    assert launch_on("neg.f32", "f32", "f32", [a]).tolist() == [1, -2, 0]
    assert launch_on("abs.f32", "f32", "f32", [a]).tolist() == [1, 2, 0]


def convert(text: str, source: Any, target: Any, storage: tuple[str, str]) -> np.ndarray:
    body = f"cvt.{text} %out, %va;"
    text, wanted = each_thread(body, *storage), {"y": (source.shape, target)}
    return run(text, {"a": source}, wanted, len(source))[0]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("wide", "narrow"), [("f64", "f32"), ("f32", "f16")])
def test_narrowing_rounds_as_said(wide: str, narrow: str, mode: str) -> None:
    if narrow == "f16" and mode in ("rm", "rp"):
        mode = "rz"
    x = samples("f32").astype(DTYPES[wide]) * DTYPES[wide](1.0000001)
    x = x[np.abs(x) < 60000]
    found = convert(f"{mode}.{narrow}.{wide}", x, DTYPES[narrow], (wide, narrow))
    for value, out in zip(x, found, strict=True):
        assert Fraction(float(out)) == rounded(Fraction(float(value)), narrow, mode)


def test_conversions_to_bf16_and_pairs() -> None:
    a, b = samples("f32"), samples("f32")
    for text, kind in (
        ("rn.bf16x2.f32", "bf16"),
        ("rn.f16x2.f32", "f16"),
        ("rz.bf16x2.f32", "bf16"),
    ):
        x, y = (np.clip(v, -60000, 60000) for v in (a, b))
        body = f"cvt.{text} %out, %va, %vb;"
        (found,) = run(
            each_thread(body, "f32 f32", "b32"),
            {"a": x, "b": y},
            {"y": ((256, 2), DTYPES[kind])},
            256,
        )
        for high, low, out in zip(x, y, found, strict=True):
            assert Fraction(float(out[0])) == rounded(Fraction(float(low)), kind, text[:2])
            assert Fraction(float(out[1])) == rounded(Fraction(float(high)), kind, text[:2])
    found = convert("f32.bf16", b.astype(DTYPES["bf16"]), np.float32, ("bf16", "f32"))
    assert (found == b.astype(DTYPES["bf16"]).astype(np.float32)).all()


def test_tf32_keeps_ten_bits_of_fraction() -> None:
    x = samples("f32")
    found = convert("rna.tf32.f32", x, np.float32, ("f32", "b32"))
    for value, out in zip(x, found, strict=True):
        if abs(value) < 2.0**-120:
            continue
        unit = Fraction(2) ** (math.frexp(float(value))[1] - 11)
        steps = abs(Fraction(float(value))) / unit
        wanted = math.floor(steps + Fraction(1, 2)) * unit
        assert abs(Fraction(float(out))) == wanted


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64", "s16", "u8"])
def test_floats_become_integers_within_bounds(kind: str) -> None:
    x = np.array([0.5, 1.5, -0.5, -1.5, 2.5, 3e9, -3e9, 1e19, -1e19, 1e30, 200.7])
    x = np.append(x, [np.nan, np.inf, -np.inf])
    bits, signed = int(kind[1:]), kind[0] == "s"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    storage = {8: "b16", 16: "b16", 32: "b32", 64: "b64"}[bits]
    dtype = np.dtype(f"{'i' if signed else 'u'}{max(bits, 16) // 8}")
    for mode, function in (
        ("rni", round),
        ("rzi", math.trunc),
        ("rmi", math.floor),
        ("rpi", math.ceil),
    ):
        found = convert(f"{mode}.{kind}.f64", x, dtype, ("f64", storage))
        wanted = [
            0
            if math.isnan(v)
            else max(low, min(high, function(v) if math.isfinite(v) else (high if v > 0 else low)))
            for v in x
        ]
        assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("s64", "f32"), ("u64", "f32"), ("s32", "f32"), ("s64", "f64"), ("u64", "f16"),
        ("s64", "bf16"),
    ],
)  # fmt: skip
def test_integers_become_floats_rounded_once(source: str, target: str) -> None:
    bits = int(source[1:])
    values = RNG.integers(0, 2**63, 200).astype(np.uint64) >> RNG.integers(0, 63, 200).astype(
        np.uint64
    )
    values[:50] = (
        (np.uint64(1) << np.uint64(40))
        + (np.uint64(1) << np.uint64(16))
        + RNG.integers(0, 3, 50).astype(np.uint64)
    )
    if target == "f16":
        values %= np.uint64(60000)
    x = values.astype(np.dtype(f"{'i' if source[0] == 's' else 'u'}{bits // 8}"))
    found = convert(
        f"rn.{target}.{source}",
        x,
        DTYPES[target],
        (f"b{bits}", f"b{8 * np.dtype(DTYPES[target]).itemsize}"),
    )
    for value, out in zip(x, found, strict=True):
        assert Fraction(float(out)) == rounded(Fraction(int(value)), target)


def test_integer_conversions_extend_by_sign() -> None:
    x = np.array([-1, 127, -128, 300, -300, 70000], np.int32)
    assert convert("s64.s32", x, np.int64, ("b32", "b64")).tolist() == x.tolist()
    assert convert("u64.u32", x, np.uint64, ("b32", "b64")).tolist() == [
        int(v) & 0xFFFFFFFF for v in x
    ]
    assert convert("s32.s8", x.view(np.uint32), np.int32, ("b32", "b32")).tolist() == [
        -1,
        127,
        -128,
        44,
        -44,
        112,
    ]
    assert convert("sat.s8.s32", x, np.int32, ("b32", "b32")).tolist() == [
        -1,
        127,
        -128,
        127,
        -128,
        127,
    ]
    assert convert("sat.u8.s32", x, np.uint32, ("b32", "b32")).tolist() == [0, 127, 0, 255, 0, 255]


def test_rounding_to_integral_floats() -> None:
    x = np.array([0.5, 1.5, -2.5, 2.4, np.inf], np.float32)
    table = {"rni": [0, 2, -2, 2], "rzi": [0, 1, -2, 2], "rmi": [0, 1, -3, 2], "rpi": [1, 2, -2, 3]}
    for mode, wanted in table.items():
        assert convert(f"{mode}.f32.f32", x, np.float32, ("f32", "f32")).tolist() == [
            *wanted,
            np.inf,
        ]


def test_comparisons_know_nans() -> None:
    nan = np.nan
    a, b = np.float32([1, 2, nan, 1, nan]), np.float32([2, 2, 1, nan, nan])
    table = {
        "lt": [1, 0, 0, 0, 0], "le": [1, 1, 0, 0, 0], "eq": [0, 1, 0, 0, 0], "ne": [1, 0, 0, 0, 0],
        "neu": [1, 0, 1, 1, 1], "ltu": [1, 0, 1, 1, 1], "equ": [0, 1, 1, 1, 1],
        "geu": [0, 1, 1, 1, 1], "num": [1, 1, 0, 0, 0], "nan": [0, 0, 1, 1, 1],
    }  # fmt: skip
    for name, wanted in table.items():
        body = f".reg .pred %p;\nsetp.{name}.f32 %p, %va, %vb;\n{ONE_OR_ZERO}"
        found = run(
            each_thread(body, "f32 f32", "f32"), {"a": a, "b": b}, {"y": ((5,), np.float32)}, 5
        )[0]
        assert found.tolist() == wanted


def test_kinds_of_numbers() -> None:
    x = np.float32([1, np.inf, np.nan, 1e-40, 0])
    table = {
        "finite": [1, 0, 0, 1, 1], "infinite": [0, 1, 0, 0, 0], "number": [1, 1, 0, 1, 1],
        "notanumber": [0, 0, 1, 0, 0], "normal": [1, 0, 0, 0, 0], "subnormal": [0, 0, 0, 1, 0],
    }  # fmt: skip
    for name, wanted in table.items():
        body = (
            f".reg .pred %p;\ntestp.{name}.f32 %p, %va;\nselp.f32 %out, 0f3F800000, 0f00000000, %p;"
        )
        found = run(each_thread(body, "f32", "f32"), {"a": x}, {"y": ((5,), np.float32)}, 5)[0]
        assert found.tolist() == wanted
