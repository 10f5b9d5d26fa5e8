"""Programs of weak types in the types that are stored."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.frontend.tensors import Tensor, placeholder, wrap
from ted.ir.dtypes import FLOAT32, FLOAT64, INT64, WEAK_FLOAT, WEAK_INT, DType
from ted.ir.equations import topological
from ted.transforms.strong_types import stored_input, with_strong_types


def _stored(inputs: list[Tensor], outputs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    nodes = [x.node for x in inputs]
    stored = [stored_input(node) for node in nodes]
    made = with_strong_types([y.node for y in outputs], dict(zip(nodes, stored, strict=True)))
    for tensor in topological(made):
        assert tensor.dtype not in (WEAK_FLOAT, WEAK_INT)
    return [wrap(n) for n in stored], [wrap(n) for n in made]


def test_what_is_made_of_numbers_is_computed_in_float64() -> None:
    a, x = placeholder((), WEAK_FLOAT, "a"), placeholder((2,), "float32", "x")
    inputs, outputs = _stored([a, x], [x * (a / 3), a * a, x])
    assert [t.dtype for t in inputs] == [FLOAT64, FLOAT32]
    assert [t.dtype for t in outputs] == [FLOAT32] * 3
    assert outputs[2] is x
    scaled, square, _ = ted.compile(inputs, outputs)(0.1, np.ones(2, "f4"))
    assert scaled.tolist() == [np.float32(0.1 / 3)] * 2
    assert square == np.float32(0.1 * 0.1)


@pytest.mark.parametrize(("weak", "alone"), [(WEAK_FLOAT, FLOAT32), (WEAK_INT, INT64)])
def test_a_result_that_is_weak_has_the_type_of_a_number(weak: DType, alone: DType) -> None:
    a = placeholder((), weak, "a")
    _, (same, chosen) = _stored([a], [a, ted.where(a > 1, a, 2)])
    assert (same.dtype, chosen.dtype) == (alone, alone)


def test_recurrences_keep_their_times() -> None:
    a = placeholder((), WEAK_FLOAT, "a")
    powers = ted.recurrence((4,), lambda h, t: ted.where(t > 0, h[t - 1] * a, 1.0), "float64")
    inputs, outputs = _stored([a], [powers])
    assert ted.compile(inputs, outputs)(0.5)[0].tolist() == [1, 0.5, 0.25, 0.125]
