"""f16 and bf16 in bodies: when numbers are rounded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.dialects import session
from ted.math.narrow_floats import computed, is_narrow, rounded
from ted.mlir import ir
from ted.testing.tracing import interpreted


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


KINDS = {"f16": True, "bf16": True, "f32": False, "f64": False, "i16": False, "index": False}


@pytest.mark.parametrize("kind", KINDS)
def test_floats_of_16_bits_are_computed_in_f32(kind: str) -> None:
    with session():
        found = ir.Type.parse(kind)
        assert is_narrow(found) == KINDS[kind]
        module = ir.Module.parse(f"func.func @f(%x: {kind}) {{ return }}")
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            value = computed(block.arguments[0])
            nearest = rounded(value, found)
        assert str(value.type) == ("f32" if KINDS[kind] else kind)
        assert nearest.type == value.type
        casts = [view.operation.name for view in block.operations][:-1]
        assert casts == (["arith.extf", "arith.truncf", "arith.extf"] if KINDS[kind] else [])
