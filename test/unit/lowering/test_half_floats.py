"""f16 and bf16: every conversion on every row, and when bodies round."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from every_cpu import vectors_of
from ted.schedules.vector_target import executable_targets
from ted.testing.tracing import interpreted, numpy_type

Array = np.ndarray[Any, Any]
ROWS = ("", *(target.name for target in executable_targets()))
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


# ------------------------------------------------------------------ when bodies round


def both_ways(inputs: list[Any], output: Any, *arrays: Any) -> list[float]:
    """The result as numbers, the same of the interpreter and of machine code."""
    values = [np.array(a, ml_dtypes.bfloat16) for a in arrays]
    (wanted,) = interpreted(inputs, [output])(*values)
    found = ted.compile(inputs, output)(*values)
    assert found.tobytes() == wanted.tobytes()
    return found.astype(float).ravel().tolist()


def pair() -> list[Any]:
    return [ted.placeholder((1,), "bfloat16", name=name) for name in "ab"]


def test_a_body_rounds_once():
    a, b = pair()
    kept = ted.compute((1,), lambda i: (a[i] + b[i]) - a[i])
    assert both_ways([a, b], kept, [256], [1]) == [1.0]


def test_what_a_program_converts_is_rounded():
    a, b = pair()

    def lost(i: Any) -> Any:
        total = ted.cast(a[i], "float32") + ted.cast(b[i], "float32")
        return ted.cast(total, "bfloat16") - a[i]

    assert both_ways([a, b], ted.compute((1,), lost), [256], [1]) == [0.0]


def test_a_sum_takes_products_that_are_not_rounded():
    a, b = (ted.placeholder((2,), "bfloat16", name=name) for name in "ab")
    r = ted.reduce_axis(2, name="r")
    dot = ted.compute((), lambda: ted.sum(a[r] * b[r], axis=r))
    # 129 * 129 = 16641 would be rounded to 16640.
    assert both_ways([a, b], dot, [129, 128], [129, -130]) == [1.0]


@pytest.mark.parametrize("count", [9, 40])  # one pass over pairs, and two passes
@pytest.mark.parametrize("first", [(130, 128), (129, 129)])
def test_a_position_is_that_of_the_stored_values(count: int, first: tuple[int, int]):
    a, b = (ted.placeholder((count,), "bfloat16", name=name) for name in "ab")
    r = ted.reduce_axis(count, name="r")
    place = ted.compute((), lambda: ted.argmax(a[r] * b[r], axis=r))
    # 129 * 129 and 130 * 128 are stored alike, so the first is the best.
    left, right = np.ones((2, count), ml_dtypes.bfloat16)
    left[3], right[3] = first
    left[7], right[7] = 259 - first[0], 257 - first[1]
    assert ted.compile([a, b], place)(left, right) == 3
    assert interpreted([a, b], [place])(left, right)[0] == 3


def test_comparisons_see_what_was_computed():
    a, b = pair()
    more = ted.compute((1,), lambda i: ted.where(a[i] + b[i] > a[i], 1.0, 0.0))
    assert both_ways([a, b], ted.cast(more, "bfloat16"), [256], [1]) == [1.0]


@pytest.mark.parametrize("combiner", [ted.max, ted.min])
def test_an_extreme_is_rounded_at_the_end(combiner: Any):
    a, b = (ted.placeholder((3, 33), "bfloat16", name=name) for name in "ab")
    numbers = np.random.default_rng(0)
    arrays = [numbers.normal(size=(3, 33)) for _ in range(2)]
    both_ways([a, b], combiner(a * b, axis=1), *arrays)


def test_a_sum_in_parts_is_rounded_behind_the_last():
    a, b = pair()
    r = ted.reduce_axis(520, name="r")

    def summed(i: Any) -> Any:
        return ted.sum(ted.where(r < 261, a[i], b[i]), axis=r, dtype="bfloat16")

    total = ted.compute((1,), summed)
    # Either part would be rounded: 261 to 260, and 259 too.
    assert both_ways([a, b], total, [1], [-1]) == [2.0]


def test_sums_at_data_round_once():
    x = ted.placeholder((600,), "bfloat16", name="x")
    places = ted.placeholder((600,), "int32", name="places")
    start = ted.placeholder((2,), "bfloat16", name="start")
    summed = ted.index_add(start, 0, places, x)
    ones = np.ones(600, ml_dtypes.bfloat16)
    result = ted.compile([start, places, x], summed)(
        np.zeros(2, ml_dtypes.bfloat16), np.zeros(600, np.int32), ones
    )
    assert result.astype(float).tolist() == [600.0, 0.0]
