"""What a condition chooses in a given number, and slices that begin at data."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

X = np.random.default_rng(2).normal(size=(4, 5))
ROWS = np.array([True, False, False, True])


def chosen(x, condition, size, fill, axis=None):
    """The first `size` along an axis by numpy, the rest filled."""
    x = x.reshape(-1) if axis is None else x
    found = np.compress(condition.reshape(-1), x, axis or 0)[:size]
    missing = [(0, 0)] * x.ndim
    missing[axis or 0] = (0, size - found.shape[axis or 0])
    return np.pad(found, missing, constant_values=fill)


@pytest.mark.parametrize("runner", [run, compiled])
def test_compress_takes_the_first_that_hold(runner) -> None:
    sizes = (0, 1, 7, 20)

    def function(x, rows):
        many = [ted.compress(x > 0, x, size=n, fill=0.5, truncate=True) for n in sizes]
        return [*many, *(ted.compress(rows, x, 0, size=n, truncate=True) for n in (3, 1))]

    found = runner(function, X, ROWS)
    for n, result in zip(sizes, found, strict=False):
        np.testing.assert_array_equal(result, chosen(X, X > 0, n, 0.5))
    np.testing.assert_array_equal(found[4], chosen(X, ROWS, 3, 0.0, 0))
    np.testing.assert_array_equal(found[5], X[:1])


def test_where_gives_the_indices_of_a_given_number() -> None:
    def function(x):
        positive = ted.where(x > 0, size=4, truncate=True)
        return [*positive, *ted.where(x > 9, size=2, fill=-3), x[positive]]

    found, wanted = run(function, X), np.nonzero(X > 0)
    assert len(wanted[0]) >= 4
    for result, at in zip(found, wanted, strict=False):
        np.testing.assert_array_equal(result, at[:4])
    np.testing.assert_array_equal(found[2], [-3, -3])
    np.testing.assert_array_equal(found[4], X[X > 0][:4])


def test_gradients_reach_what_was_chosen() -> None:
    def function(x, rows):
        taken = ted.compress(x > 0.1, x * x, size=6, truncate=True)
        return ted.sum(ted.sin(taken)) + ted.sum(ted.compress(rows, x, 0, size=3)[:, 1] ** 3)

    check_grads(function, (X, ROWS), order=2, modes=("rev",))
    gradient = ted.grad(lambda x: ted.sum(ted.compress(x > 0.1, x, size=3, truncate=True)))(X)
    first = np.nonzero((X > 0.1).reshape(-1))[0][:3]
    np.testing.assert_array_equal(np.nonzero(gradient.reshape(-1))[0], first)


STARTS = [(1, 2), (-1, -9), (9, 0), (3, -2), (-4, -5)]


def clamped(starts):
    """The corner of a part of shape (2, 3), as JAX has it."""
    placed = [s + n if s < 0 else s for s, n in zip(starts, X.shape, strict=True)]
    return [min(max(s, 0), n - k) for s, n, k in zip(placed, X.shape, (2, 3), strict=True)]


def test_a_dynamic_slice_is_moved_inside() -> None:
    def function(x, *starts):
        data = [ted.dynamic_slice(x, s, (2, 3)) for s in starts]
        known = [ted.dynamic_slice(x, s, (2, 3)) for s in STARTS]
        return [*data, *known, ted.dynamic_slice(x, (starts[0][0], 2), (2, 3))]

    found = run(function, X, *map(np.array, STARTS))
    for starts, one, other in zip(STARTS, found[:5], found[5:10], strict=True):
        i, j = clamped(starts)
        np.testing.assert_array_equal(one, X[i : i + 2, j : j + 3])
        np.testing.assert_array_equal(other, X[i : i + 2, j : j + 3])
    np.testing.assert_array_equal(found[10], X[1:3, 2:])


def test_a_dynamic_slice_checks_nothing_and_is_differentiable() -> None:
    x, s = ted.placeholder(X.shape, "float64", name="x"), ted.placeholder((2,), "int64", name="s")
    y = ted.dynamic_slice(x, s, (2, 3))
    text = str(ted.module([y, *ted.differentiate(ted.sum(y * y), [x])]))
    assert 'mode = "check"' not in text
    check_grads(lambda x, s: ted.dynamic_slice(x, s, (2, 3)) ** 3, (X, np.array([9, -2])), order=2)


PX, PI = ted.placeholder((4, 5), name="x"), ted.placeholder((2,), "int64", name="i")
REFUSED = {
    "mask": (lambda: PX[PX > 0], r"ted.compress\(mask, x, size=n\) chooses"),
    "numpy": (lambda: np.compress(ROWS, PX, 0), r"write ted.compress\(condition, x, axis, size=n"),
    "compress_size": (lambda: ted.compress(PX > 0, PX), "size= says how many are taken"),
    "compress_shape": (lambda: ted.compress(PX[0] > 0, PX, 0, size=1), r"shape \(4,\), got \(5,\)"),
    "compress_condition": (lambda: ted.compress(PX, PX, size=1), "must be a tensor of bools"),
    "where_one": (lambda: ted.where(PX > 0, PX), "takes .condition, a, b., or .condition, size=n"),
    "where_both": (lambda: ted.where(PX > 0, PX, 0, size=2), "without a and b"),
    "where_size": (lambda: ted.where(PX > 0, size=-1), "size must be at least 0, got -1"),
    "slice_count": (lambda: ted.dynamic_slice(PX, (1,), (2, 3)), "for each of 2 dims, got 1 and 2"),
    "slice_size": (lambda: ted.dynamic_slice(PX, PI, (2, 6)), r"at most \(4, 5\), got \(2, 6\)"),
    "slice_rank": (lambda: ted.dynamic_slice(PX, (PI, 0), (2, 3)), "a start must have rank 0"),
    "slice_type": (lambda: ted.dynamic_slice(PX, (PX[0, 0], 0), (2, 3)), "must be integers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message) as caught:
        action()
    assert "test_choosing.py" in str(caught.value)
