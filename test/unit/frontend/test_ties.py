"""Who gets the gradient of a maximum that several points reach: the first, or all even parts."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted import nn
from ted.errors import FrontendError
from ted.ir.from_ops import from_module
from ted.ir.to_ops import to_module
from ted.testing import check_grads

X = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [5.0, 4.0, 0.0]])


def gradient(function, x):
    return ted.grad(lambda a: ted.sum(function(a) * 6.0))(x)


@pytest.mark.parametrize("extremum", ["max", "min"])
def test_the_first_of_a_tie_gets_everything_or_all_get_even_parts(extremum) -> None:
    x, sign = (X, 1) if extremum == "max" else (-X, 1)
    reduce = getattr(ted, extremum)
    first = gradient(lambda a: reduce(a, axis=1), x)
    even = gradient(lambda a: reduce(a, axis=1, ties="even"), x)
    np.testing.assert_array_equal(first, sign * np.array([[0, 6, 0], [6, 0, 0], [6, 0, 0]]))
    np.testing.assert_array_equal(even, sign * np.array([[0, 3, 3], [2, 2, 2], [6, 0, 0]]))


def test_all_infinite_values_share_too() -> None:
    found = gradient(lambda a: ted.max(a, ties="even"), np.full(3, -np.inf))
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])


def test_even_parts_inside_a_lambda_with_where_and_init() -> None:
    r = ted.reduce_axis(3, name="r")

    def function(a):
        return ted.compute(
            (3,), lambda i: ted.max(a[i, r], axis=r, where=r <= i, init=-9.0, ties="even")
        )

    np.testing.assert_array_equal(gradient(function, X), [[6, 0, 0], [3, 3, 0], [6, 0, 0]])
    check_grads(function, (X + 0.1 * np.arange(9.0).reshape(3, 3),), order=2)


def test_pools_split_ties_on_request() -> None:
    x = np.zeros((1, 2, 2, 1))
    even = gradient(lambda a: nn.max_pool2d(a, 2, ties="even"), x)
    np.testing.assert_array_equal(even.ravel(), [1.5] * 4)
    even = gradient(lambda a: nn.global_max_pool2d(a, ties="even"), x)
    np.testing.assert_array_equal(even.ravel(), [1.5] * 4)
    first = gradient(lambda a: nn.max_pool2d(a, 2), x)
    np.testing.assert_array_equal(first.ravel(), [6, 0, 0, 0])


def test_the_ops_say_it() -> None:
    x = ted.placeholder((3, 3), name="x")
    module = ted.module([ted.max(x, axis=1, ties="even"), ted.max(x, axis=1)])
    assert str(module).count('ted.ties = "even"') == 1
    system = from_module(module)
    ties = [t.equations[0].ties for t in system.outputs]
    assert ties == ["even", "first"]
    assert str(to_module(system)) == str(to_module(from_module(to_module(system))))


def test_another_word_is_refused() -> None:
    with pytest.raises(FrontendError, match="ties: must be 'first' or 'even', got 'last'"):
        ted.max(ted.placeholder((3,)), ties="last")
