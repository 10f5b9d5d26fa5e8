"""Calls of traced functions: what runs the same program, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import FrontendError

X = np.arange(4, dtype=np.float32)


def counted():
    """A function, and the list of what it was traced with."""
    traces = []

    @ted.function
    def scaled(x, factor=1, *, shift=0):
        traces.append((x.shape, factor, shift))
        return x * factor + shift

    return scaled, traces


def test_equal_calls_trace_once():
    scaled, traces = counted()
    for _ in range(3):
        np.testing.assert_array_equal(scaled(X, 2), 2 * X)
        np.testing.assert_array_equal(scaled(X, factor=2), 2 * X)
        np.testing.assert_array_equal(scaled(X, 2, shift=1), 2 * X + 1)
    assert len(traces) == 2


def test_numbers_of_another_type_are_another_program():
    scaled, traces = counted()
    for factor in (1, 1.0, True, 1, 1.0, True):
        scaled(X, factor)
    assert len(traces) == 3


def test_shapes_types_and_nests_are_told_apart():
    count = []

    @ted.function
    def total(tree):
        count.append(tree)
        leaves = list(tree.values()) if isinstance(tree, dict) else list(tree)
        return sum(leaves[1:], leaves[0])

    calls = [
        [X, X],
        (X, X),
        {"a": X, "b": X},
        {"b": X, "a": X},
        [X[:2], X[:2]],
        [X.astype("f8")] * 2,
    ]
    for _ in range(2):
        for tree in calls:
            leaves = list(tree.values()) if isinstance(tree, dict) else tree
            np.testing.assert_array_equal(total(tree), 2 * leaves[0])
    assert len(count) == len(calls)


def test_arguments_reach_their_names_in_any_order():
    @ted.function
    def difference(a, b):
        return a - b

    for _ in range(2):
        np.testing.assert_array_equal(difference(b=X, a=2 * X), X)
        np.testing.assert_array_equal(difference(2 * X, b=X), X)
        np.testing.assert_array_equal(difference(2 * X, X), X)


def test_an_argument_that_cannot_be_looked_up_is_named_every_time():
    scaled, _ = counted()
    for _ in range(2):
        with pytest.raises(FrontendError, match="scaled: argument factor: must be an array or a"):
            scaled(X, {1, 2})
