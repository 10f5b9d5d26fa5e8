"""Types of sums and of two operands."""

from __future__ import annotations

from ted.ir.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT32,
    INT64,
    accumulator,
    promote,
)  # fmt: skip


def test_types_of_sums_and_of_two_operands() -> None:
    wide = [
        (FLOAT16, FLOAT32),
        (BFLOAT16, FLOAT32),
        (INT8, INT32),
        (FLOAT64, FLOAT64),
        (BOOL, BOOL),
    ]
    assert all(accumulator(a) == b for a, b in wide)
    for a, b, common in (
        (FLOAT16, BFLOAT16, FLOAT32), (FLOAT32, INT64, FLOAT32), (INT8, INT32, INT32),
        (BOOL, INT8, INT8), (INDEX, INT32, INT64), (INDEX, INDEX, INT64),
        (FLOAT16, FLOAT32, FLOAT32),
        (BFLOAT16, BFLOAT16, BFLOAT16), (FLOAT64, BFLOAT16, FLOAT64),
    ):  # fmt: skip
        assert promote(a, b) == promote(b, a) == common
