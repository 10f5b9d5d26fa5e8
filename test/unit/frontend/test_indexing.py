"""Reads at indices that are data: against numpy, with gradients of both orders."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 5, 3))
IDS = np.array([[3, 0], [1, 3], [3, 3]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take_is_that_of_numpy(axis) -> None:
    ids = IDS % 3

    def function(x, i):
        return ted.take(x, i, axis)

    np.testing.assert_array_equal(run(function, X, ids), np.take(X, ids, axis))
    check_grads(lambda x, i: function(x * x, i), (X, ids), order=2)


@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_take_outside_obeys_its_mode(mode) -> None:
    ids = np.array([-2, 0, 4, 7])
    wanted = np.take(X, ids, 1, mode="clip")
    if mode == "drop":
        wanted = np.where(((ids >= 0) & (ids < 5))[:, None], wanted, 0.0)

    def function(x, i):
        return ted.take(x * x, i, 1, mode)

    np.testing.assert_allclose(run(function, X, ids), wanted**2)
    np.testing.assert_allclose(compiled(function, X, ids), wanted**2)
    check_grads(function, (X, ids), order=2)


@pytest.mark.fast(1)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_an_unchecked_take_is_not_checked_and_nor_is_its_gradient(axis) -> None:
    ids = np.array([2, 0, 2])

    def function(x, i):
        return ted.take(x * x, i, axis, "unchecked")

    np.testing.assert_allclose(compiled(function, X, ids), np.take(X**2, ids, axis))
    check_grads(function, (X, ids), order=2, modes=("fwd", "rev"))
    x, i = ted.placeholder(X.shape, "float64", name="x"), ted.placeholder((3,), "int64", name="i")
    y = function(x, i)
    head = ted.placeholder(y.shape, "float64", name="dy")
    f = ted.compile([x, i, head], [y, *ted.differentiate(y, [x], head=head)])
    assert "check" not in f.ir("ted").replace("unchecked", "")
    assert "ted_index_error" not in f.ir("linalg")
    assert f.ir("ted").count('mode = "unchecked"') == 2


def test_an_unchecked_position_outside_is_an_error_of_the_interpreter() -> None:
    with pytest.raises(ExecutionError, match=r"stays inside, got index \[4, 0, 0\]"):
        run(lambda x, i: ted.take(x, i, 0, "unchecked"), X, np.array([0, 4]))


def test_an_unchecked_index_beside_a_checked_one_leaves_the_check() -> None:
    x, i = ted.placeholder((4, 5), name="x"), ted.placeholder((3,), "int64", name="i")
    rows = ted.take(x, i, 0, "unchecked")
    f = ted.compile([x, i], ted.compute((3,), lambda k: rows[k, i[k]]))
    with pytest.raises(ExecutionError, match="5"):
        f(np.ones((4, 5), "float32"), np.array([0, 3, 5]))


@pytest.mark.parametrize("mode", ["check", "clip", "drop", "unchecked"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_is_that_of_numpy(axis, mode) -> None:
    order = np.argsort(X, axis)

    def function(x, i):
        return ted.take_along_axis(x, i, axis, mode)

    np.testing.assert_array_equal(run(function, X, order), np.sort(X, axis))
    check_grads(lambda x, i: function(x * x, i), (X, order), order=2)


def test_take_along_axis_broadcasts() -> None:
    best = np.argmax(X, 1)[:, None, :1]
    wanted = np.take_along_axis(X, np.broadcast_to(best, (4, 1, 3)), 1)
    np.testing.assert_array_equal(run(lambda x, i: ted.take_along_axis(x, i, 1), X, best), wanted)


ROWS, COLUMNS = np.array([[0], [3]]), np.array([4, 0, 4])
SUBSCRIPTS = {
    "two_tensors": lambda x, i, j: x[i, j],
    "with_a_slice": lambda x, i, j: x[i, j, 1:],
    "behind_a_slice": lambda x, i, j: x[:, j, i % 3],
    "slice_between": lambda x, i, j: x[i, :, j % 3],
    "number_beside": lambda x, i, j: x[i, 2],
    "number_apart": lambda x, i, j: x[1, :, j % 3],
    "new_dim_apart": lambda x, i, j: x[i, None, j],
    "new_dim_behind": lambda x, i, j: x[i, j, None, ::-1],
    "all_three": lambda x, i, j: x[i, j, i % 3],
    "ellipsis": lambda x, i, j: x[..., i % 3],
}


@pytest.mark.parametrize("case", SUBSCRIPTS)
def test_subscripts_of_integer_tensors_are_those_of_numpy(case) -> None:
    function = SUBSCRIPTS[case]
    wanted = function(X, ROWS, COLUMNS)
    np.testing.assert_array_equal(run(function, X, ROWS, COLUMNS), wanted)
    check_grads(lambda x, i, j: function(x * x, i, j), (X, ROWS, COLUMNS), order=2)


def test_a_position_outside_is_an_error_when_the_program_runs() -> None:
    x, i = ted.placeholder((4,), name="x"), ted.placeholder((2,), "int64", name="i")
    function = ted.compile([x, i], ted.take(x, i, 0))
    with pytest.raises(ExecutionError, match="4"):
        function(np.ones(4, "float32"), np.array([0, 4]))


PX, PI = ted.placeholder((4, 5), name="x"), ted.placeholder((3,), "int64", name="i")
REFUSED = {
    "take_axis": (lambda: ted.take(PX, PI, 2), r"axis must be in \[-2, 2\), got 2"),
    "take_floats": (lambda: ted.take(PX, PX, 0), "must be integers, got float32"),
    "take_mode": (lambda: ted.take(PX, PI, 0, "wrap"), "'drop' or 'unchecked', got 'wrap'"),
    "take_nothing": (lambda: ted.take(PX[:0], PI, 0, "clip"), "needs an element along axis 0"),
    "along_rank": (lambda: ted.take_along_axis(PX, PI, 0), r"need 2 dims, got shape \(3,\)"),
    "subscript_floats": (lambda: PX[PX, PI], "must be an integer tensor, got float32"),
    "subscripts_differ": (lambda: PX[PI, PI[:2]], r"got shapes \(3,\) and \(2,\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=message):
        action()
