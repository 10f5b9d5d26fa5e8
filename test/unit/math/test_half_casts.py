"""f16 and bf16: every conversion on every row."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from every_cpu import vectors_of
from ted.api.host import executable_cpus
from ted.testing.tracing import numpy_type

Array = np.ndarray[Any, Any]
ROWS = ("", *(target.name for target in executable_cpus()))
HALVES = ("float16", "bfloat16")
# numpy says so when it casts a signalling NaN, of which these tests have many.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")


def converted(values: Array, source: str, target: str, row: str) -> Array:
    """The values in another type, by machine code for a row."""
    x = ted.placeholder(values.shape, source, name="x")
    with vectors_of(row):
        return ted.compile([x], ted.cast(x, target))(values)


def interesting(kind: type) -> Array:
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


def assert_same_bits(actual: Array, expected: Array) -> None:
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[expected.itemsize]
    nans = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nans)
    np.testing.assert_array_equal(actual.view(bits)[~nans], expected.view(bits)[~nans])


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("target", HALVES)
def test_rounding_is_to_nearest_even(target: str, row: str):
    # Adding to such a NaN would make it a number, cutting it an infinity.
    nans = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    values = np.concatenate([interesting(np.float32), nans])
    with np.errstate(over="ignore"):
        expected = values.astype(numpy_type(target))
    assert_same_bits(converted(values, "float32", target, row), expected)


@pytest.mark.parametrize("row", ROWS)
def test_float64_rounds_to_float16_once(row: str):
    values = interesting(np.float64)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert_same_bits(converted(values, "float64", "float16", row), expected)


@pytest.mark.parametrize("row", ROWS)
def test_float64_rounds_to_bfloat16_once(row: str):
    # Through float32 this would round twice, first down to a tie and then down again.
    values = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1e300, -1e-300])
    result = converted(values, "float64", "bfloat16", row)
    assert result.astype(float).tolist() == [1 + 2.0**-7, 1.0, 1 + 2.0**-6, np.inf, 0.0]
    assert np.signbit(result[-1])


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("target", ["float32", "float64"])
@pytest.mark.parametrize("source", HALVES)
def test_every_number_extends_exactly(source: str, target: str, row: str):
    values = np.arange(1 << 16, dtype=np.uint16).view(numpy_type(source))
    assert_same_bits(converted(values, source, target, row), values.astype(target))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("kind", HALVES)
def test_integers_are_converted_through_float32(kind: str, row: str):
    values = np.array([0, 1, -255, 257, 65519, 2**24 + 1, 2**31 - 1], np.int32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32).astype(numpy_type(kind))
    assert_same_bits(converted(values, "int32", kind, row), expected)
    back = converted(expected[:5], kind, "int64", row)
    np.testing.assert_array_equal(back, expected[:5].astype(np.float64).astype(np.int64))


ODD = {
    "asinh": (ted.asinh, np.arcsinh), "atanh": (ted.atanh, np.arctanh),
    "fmod": (lambda x: ted.fmod(x, ted.cast(0.75, x.dtype)), lambda x: np.fmod(x, 0.75)),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", ODD)
def test_signs_of_what_is_computed_in_float64_need_no_function(name: str, row: str):
    """LLVM called one to round the sign, where it was that of a select."""
    function, exact = ODD[name]
    x = ted.placeholder((7,), "float16", name="x")
    root = ted.where(x > 0.1, ted.sqrt(ted.where(x > 0.1, x, 1.0)), 0.0)
    values = np.linspace(-0.9, 0.9, 7).astype(np.float16)
    with vectors_of(row):
        got = ted.compile([x], function(root))(values)
    expected = exact(np.sqrt(np.where(values > 0.1, values, 0).astype(np.float64)))
    np.testing.assert_allclose(got, expected, rtol=1e-3)
