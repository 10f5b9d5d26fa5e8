"""Recurrences in steps of others: reads of the outer step and of earlier ones, times of data."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import ScheduleError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(5)
COUNT, SIZE = 3, 2
A, B = RNG.normal(size=(6, 6)) + 4 * np.eye(6), RNG.normal(size=6)
PARENTS = np.array([1, 0, 0, 1, 2])  # the first one is none yet


def in_one_sum(a, b):
    """A triangular system in blocks, of which one sum takes all rows before, as one writes it."""
    other, r = ted.reduce_axis(COUNT), ted.reduce_axis(SIZE)

    def element(x, block, row):
        here, there = block * SIZE + row, other * SIZE + r
        known = ted.sum(a[here, there] * x[other, r], axis=(other, r), where=there < here)
        return (b[here] - known) / a[here, here]

    return ted.recurrence((COUNT, SIZE), element, "float64", (0, 1))


def largest_before(a, b):
    """No sum, so that no outer step makes a part of it."""
    other, r = ted.reduce_axis(COUNT), ted.reduce_axis(SIZE)

    def element(x, block, row):
        here, there = block * SIZE + row, other * SIZE + r
        known = ted.max(a[here, there] + x[other, r], axis=(other, r), where=there < here)
        return b[here] + ted.where(here > 0, known, 0.0)

    return ted.recurrence((COUNT, SIZE), element, "float64", (0, 1))


def row_before(a, b):
    """One read, of another block for the first row of each."""

    def element(x, block, row):
        here = block * SIZE + row
        before = x[(here - 1) // SIZE, (here - 1) % SIZE]
        return b[here] + ted.where(here > 0, ted.sin(before) * a[here, here], 0.0)

    return ted.recurrence((COUNT, SIZE), element, "float64", (0, 1))


def largest(a, b):
    found = np.zeros(6)
    for k in range(6):
        found[k] = b[k] + (max(a[k, :k] + found[:k]) if k else 0)
    return found


def chained(a, b):
    found = np.zeros(6)
    for k in range(6):
        found[k] = b[k] + (np.sin(found[k - 1]) * a[k, k] if k else 0)
    return found


MIXED = {
    in_one_sum: lambda a, b: np.linalg.solve(np.tril(a), b),
    largest_before: largest,
    row_before: chained,
}


@pytest.mark.parametrize("function", MIXED, ids=lambda f: f.__name__)
def test_a_read_of_the_outer_step_and_of_earlier_ones_comes_apart(function) -> None:
    wanted = MIXED[function](A, B).reshape(COUNT, SIZE)
    np.testing.assert_allclose(compiled(function, A, B), wanted, rtol=1e-12)


def test_gradients_of_a_sum_over_the_outer_step_and_earlier_ones() -> None:
    check_grads(in_one_sum, (A, B), order=2)


# ------------------------------------------------------------------ times that are data


def tree(x, i):
    """Rows of a step read their parents in it, and any of the step before."""

    def element(h, t, row):
        parent = ted.where(i[row] < row, h[t, i[row]], 0.5)
        return ted.sin(x[t, row]) + parent * ted.where(t > 0, h[t - 1, 4 - i[row]], 1.0)

    return ted.recurrence((3, 5), element, "float64", (0, 1))


def test_an_inner_time_may_be_data() -> None:
    x, wanted = RNG.normal(size=(3, 5)), np.zeros((3, 5))
    for t, row in np.ndindex(3, 5):
        parent = wanted[t, PARENTS[row]] if PARENTS[row] < row else 0.5
        before = wanted[t - 1, 4 - PARENTS[row]] if t else 1.0
        wanted[t, row] = np.sin(x[t, row]) + parent * before
    np.testing.assert_allclose(compiled(tree, x, PARENTS), wanted, rtol=1e-12)
    np.testing.assert_allclose(run(tree, x, PARENTS), wanted, rtol=1e-12)
    check_grads(lambda x: tree(x, ted.constant(PARENTS)), (x,), order=2)


def test_an_outer_time_that_is_data_is_refused() -> None:
    def element(h, t, row):
        return ted.where(row > 0, h[t, row - 1], 1.0) * ted.where(i[t] < t, h[i[t], row], 1.0)

    i = ted.placeholder((5,), "int64")
    h = ted.recurrence((5, 4), element, "float64", (0, 1))
    with pytest.raises(ScheduleError, match=r"the same or an earlier one, got one that is data"):
        ted.compile([i], h)
