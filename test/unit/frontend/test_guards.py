"""Reads that a condition guards are made only where it holds, also inside conjunctions."""

from __future__ import annotations

import numpy as np

import ted
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

X = np.array([1.0, -2.0, 3.0, 4.0])
IDS = np.array([3, 2, 0, 1])


def test_the_second_term_of_a_conjunction_is_guarded_by_the_first() -> None:
    def function(x):
        return ted.compute((4,), lambda i: ted.where((i > 0) & (x[i - 1] > 0), x[i], 0.0))

    np.testing.assert_array_equal(run(function, X), [0.0, -2.0, 0.0, 4.0])
    np.testing.assert_array_equal(compiled(function, X), [0.0, -2.0, 0.0, 4.0])
    check_grads(lambda x: function(x * x), (X,), order=2)


def test_the_second_term_of_a_disjunction_is_guarded_by_the_first() -> None:
    def function(x):
        return ted.compute((4,), lambda i: ted.where((i < 1) | (x[i - 1] > 0), x[i], 0.0))

    np.testing.assert_array_equal(run(function, X), [1.0, -2.0, 0.0, 4.0])


def test_a_read_at_data_may_stand_in_its_own_condition() -> None:
    def function(x, ids):
        def element(i):
            value = x[ids[i]]
            return ted.where((i > 0) & (value > 0) & (value < 3.5), value, 0.0)

        return ted.compute((4,), element)

    for evaluate in (run, compiled):
        np.testing.assert_array_equal(evaluate(function, X, IDS), [0.0, 3.0, 1.0, 0.0])
    check_grads(lambda x, ids: function(x * x, ids), (X, IDS), order=2)
