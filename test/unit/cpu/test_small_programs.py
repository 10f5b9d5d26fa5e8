"""Programs that random search found: compiled results equal the interpreter's."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code

R = ted.reduce_axis(5, name="r")
LONG = ted.reduce_axis(40, name="long")
UNREAD = ted.reduce_axis(3, name="unread")


def index_used_in_a_row_and_outside(x: ted.Tensor) -> list[ted.Tensor]:
    first = ted.compute((4,), lambda i: ted.argmax(x[i, R], axis=R), name="first")
    return [first, ted.compute((4, 5), lambda i, j: ted.where(j == first[i], x[i, j], 0.0))]


def argmax_of_what_no_loop_reads(x: ted.Tensor) -> list[ted.Tensor]:
    return [ted.compute((4,), lambda i: ted.argmax(x[i, 0], axis=LONG))]


def argmax_of_one_element(x: ted.Tensor) -> list[ted.Tensor]:
    one = ted.reduce_axis(1)
    return [ted.compute((), lambda: ted.argmax(x[0, one], axis=one))]


def extents_that_one_factor_does_not_tell(x: ted.Tensor) -> list[ted.Tensor]:
    scale = ted.compute((), lambda: x[0, 0] + 1.0)
    total = ted.compute(
        (), lambda: ted.sum(x[0, R] * ted.tanh(scale[()]), axis=(R, LONG, UNREAD)), name="total"
    )
    return [scale, total]


@pytest.mark.parametrize(
    "program",
    [
        index_used_in_a_row_and_outside,
        argmax_of_what_no_loop_reads,
        argmax_of_one_element,
        extents_that_one_factor_does_not_tell,
    ],
    ids=lambda p: p.__name__,
)
def test_compiled_equals_interpreted(program) -> None:
    x = ted.placeholder((4, 5), "float64", name="x")
    outputs = program(x)
    array = np.random.default_rng(0).normal(size=x.shape)
    check_machine_code([x], outputs, [array], 1e-12, 0.0)
