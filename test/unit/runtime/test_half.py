"""Conversions that LLVM calls by name on processors without f16 or bf16 instructions."""

from __future__ import annotations

import platform

import ml_dtypes
import numpy as np
import pytest

from ted.runtime.buffers import ArgSpec
from ted.runtime.calls import bind
from unit.runtime.programs import elementwise

pytestmark = [
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="other processors have their own"
    ),
    # numpy says so when it casts a signalling NaN, of which these tests have many.
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning"),
]

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def convert(symbol: str, source: str, target: str, values: np.ndarray) -> np.ndarray:
    a, b = NAMES[source], NAMES[target]
    engine = elementwise(
        f"%b = func.call @{symbol}(%a) : ({a}) -> {b}",
        a, b, values.shape, declare=f"func.func private @{symbol}({a}) -> {b}",
    )  # fmt: skip
    inputs, outputs = ArgSpec("x", source, values.shape), ArgSpec("y", target, values.shape)
    return bind(engine, [inputs], [outputs], symbol="main")(values)[0]


def interesting(kind: type) -> np.ndarray:
    """Every float16 and many bfloat16 with their neighbours and midpoints, and extremes."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(kind)
    brains = np.arange(0, 1 << 16, 7, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(kind)
    exact = np.concatenate([halves, brains])
    exact = exact[np.isfinite(exact)]
    with np.errstate(over="ignore"):
        middle = exact * kind(1 + 2.0**-12), exact * kind(1 + 2.0**-9), exact * kind(1 + 2.0**-11)
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 65519.99, 65520.0, 1e-45], kind)
    near = np.nextafter(exact, kind(np.inf)), np.nextafter(exact, kind(-np.inf))
    return np.concatenate([exact, *middle, *near, special])


def assert_same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    bits = np.uint32 if expected.itemsize == 4 else np.uint16
    nans = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nans)
    np.testing.assert_array_equal(actual.view(bits)[~nans], expected.view(bits)[~nans])


@pytest.mark.parametrize(
    ("symbol", "source", "target"),
    [
        ("__truncsfhf2", "float32", "float16"),
        ("__truncdfhf2", "float64", "float16"),
        ("__truncsfbf2", "float32", "bfloat16"),
    ],
)
def test_rounding_is_to_nearest_even(symbol: str, source: str, target: str) -> None:
    values = interesting(np.dtype(source).type)
    kind = ml_dtypes.bfloat16 if target == "bfloat16" else target
    with np.errstate(over="ignore"):
        expected = values.astype(kind)
    assert_same_bits(convert(symbol, source, target, values), expected)


def test_float64_rounds_to_bfloat16_once() -> None:
    # Through float32 this would round twice, first down to a tie and then down again.
    values = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8])
    result = convert("__truncdfbf2", "float64", "bfloat16", values)
    assert result.astype(float).tolist() == [1 + 2.0**-7, 1.0, 1 + 2.0**-6]


def test_every_float16_extends_exactly() -> None:
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    expected = values.astype(np.float32)
    assert_same_bits(convert("__extendhfsf2", "float16", "float32", values), expected)
