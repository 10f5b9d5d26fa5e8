"""Calls of traced functions: what runs the same program, and what does not."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.frontend.trees import flatten

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


def test_nests_with_as_many_arrays_as_a_call_has_arguments_are_told_apart():
    @ted.function
    def either(a, b):
        return a[0] - a[1] if isinstance(a, list) else a * b

    for _ in range(3):
        np.testing.assert_array_equal(either([X, 3 * X], 3), -2 * X)
        np.testing.assert_array_equal(either(X, 3 * X), 3 * X * X)


def test_calls_with_arrays_alone_may_alternate():
    scaled, traces = counted()
    for _ in range(3):
        for x in (X, X[:2], X.astype("f8"), X[::2], X.reshape(2, 2).T):
            np.testing.assert_array_equal(scaled(x), x)
            np.testing.assert_array_equal(scaled(x, 3), 3 * x)
            np.testing.assert_array_equal(scaled(x, shift=2), x + 2)
    assert len(traces) == 3 * 4  # X[::2] is X[:2] to a program


def test_a_function_that_is_known_still_builds_expressions():
    @ted.function
    def squared(x):
        return x * x

    squared(X)
    squared(X)
    np.testing.assert_array_equal(ted.grad(lambda x: ted.sum(squared(x)))(X), 2 * X)


def test_an_index_out_of_range_is_named_at_every_call():
    @ted.function
    def picked(x, at):
        return x[at]

    at = np.array([1, 3])
    for wrong in ([1, 4], [7, 2]):
        np.testing.assert_array_equal(picked(X, at), X[at])
        with pytest.raises(ExecutionError, match="picked: index out of range: tensor x"):
            picked(X, np.array(wrong))


def test_results_come_in_their_nest_at_every_call():
    nests = {
        "one": lambda x: x, "tuple": lambda x: (x, x + 1), "list": lambda x: [x, x + 1],
        "dict": lambda x: {"b": x, "a": x + 1}, "deep": lambda x: ([x], {"c": (x + 1,)}),
        "tuple of one": lambda x: (x,),
    }  # fmt: skip
    for name, nest in nests.items():
        f = ted.function(nest)
        first, second, third = f(X), f(X), f(X)
        for result in (second, third):
            assert flatten(result)[1] == flatten(first)[1] == flatten(nest(X))[1], name
            for (_, found), (_, right) in zip(flatten(result)[0], flatten(nest(X))[0], strict=True):
                np.testing.assert_array_equal(found, right)


def test_batches_of_one_size_and_of_others_may_alternate():
    w = np.arange(8, dtype=np.float32).reshape(4, 2)
    dense = ted.function(lambda x, w: (x @ w, ted.sum(x, axis=0)), batch=0)
    for rows in (3, 3, 3, 6, 3, 6, 6, 6):
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        product, total = dense(x, w)
        np.testing.assert_array_equal(product, x @ w)
        np.testing.assert_array_equal(total, x.sum(axis=0))


@pytest.mark.parametrize("batch", [(), 0])
def test_a_donated_array_is_taken_over_at_every_call(batch):
    doubled = ted.function(lambda x: x + x, batch=batch, donate=0)
    for power in range(1, 5):
        x = X.copy()
        assert doubled(x) is x, power
        np.testing.assert_array_equal(x, 2 * X)


def test_threads_may_call_one_function_with_different_arrays():
    f = ted.function(lambda x: {"more": x + 1} if x.shape[0] % 2 else (x * 2,))

    def right(k):
        x = np.full(1 + k % 3, k, np.float64)
        result = f(x)
        more, twice = (result["more"], None) if len(x) % 2 else (None, *result)
        return (twice == 2 * k).all() if more is None else (more == k + 1).all()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(right, range(6000)))
    finally:
        sys.setswitchinterval(interval)
