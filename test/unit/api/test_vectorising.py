"""`vmap`: axes of arguments and results, nests, and what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing.tracing import interpreted

A = ted.placeholder((2, 3), "float64", name="a")


B = ted.placeholder((3, 4), "float64", name="b")


V = ted.placeholder((3,), "float64", name="v")


NUMBERS = {
    A: np.arange(6.0).reshape(2, 3), B: np.arange(12.0).reshape(3, 4) - 5, V: np.array([2.0, 3, 5]),
}  # fmt: skip


def run(result: Any) -> np.ndarray[Any, Any]:
    return interpreted(list(NUMBERS), [result])(*NUMBERS.values())[0]


@pytest.mark.parametrize(
    ("in_axes", "out_axes", "expected"),
    [
        ((0, None), 0, lambda a, b: a @ b), (0, 0, None), ((0, None), 1, lambda a, b: (a @ b).T),
        ((-2, None), -1, lambda a, b: (a @ b).T), ((None, 1), 1, lambda a, b: a @ b),
        ((None, -1), 0, lambda a, b: (a @ b).T),
    ],
)  # fmt: skip
def test_axes_of_arguments_and_results(in_axes: Any, out_axes: Any, expected: Any) -> None:
    function = ted.vmap(lambda x, y: x @ y, in_axes, out_axes)
    if expected is None:
        with pytest.raises(
            FrontendError, match="agree on one number of examples, got 2 of a, 3 of b"
        ):
            function(A, B)
        return
    np.testing.assert_array_equal(run(function(A, B)), expected(NUMBERS[A], NUMBERS[B]))


def test_nests_have_axes_of_their_own() -> None:
    def step(both: dict[str, Any], v: Any) -> dict[str, Any]:
        return {"sum": both["row"] + v, "same": v * 2.0}

    function = ted.vmap(step, ({"row": 0}, None), {"sum": 0, "same": None})
    found = function({"row": A}, V)
    np.testing.assert_array_equal(run(found["sum"]), NUMBERS[A] + NUMBERS[V])
    np.testing.assert_array_equal(run(found["same"]), 2 * NUMBERS[V])
    assert found["same"].shape == (3,)


def test_keywords_count_along_their_first_dim() -> None:
    found = ted.vmap(lambda x, *, y: ted.sum(x * y))(A, y=A)
    np.testing.assert_array_equal(run(found), (NUMBERS[A] ** 2).sum(1))


def test_a_result_that_all_share_is_repeated() -> None:
    found = ted.vmap(lambda x, y: y * 3.0, (0, None))(A, V)
    np.testing.assert_array_equal(run(found), np.stack([3 * NUMBERS[V]] * 2))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: ted.vmap(lambda x: x, (0, 0))(A), "in_axes is a dim, or has one entry"),
        (lambda: ted.vmap(lambda x: x, None)(A), "got none"),
        (lambda: ted.vmap(lambda x: x, ((0, 0),))(A), "in_axes has the nest of what it is for"),
        (lambda: ted.vmap(lambda x: x, ((0, 0),))([A]), "in_axes has the nest of what it is for"),
        (lambda: ted.vmap(lambda x: x, 0, None)(A), "out_axes None is the same for all"),
        (lambda: ted.vmap(lambda x: x, 2)(A), "vmap"),
        (lambda: ted.vmap(lambda x: x, 0, 5)(A), "vmap: out_axes"),
        (lambda: ted.vmap(lambda x: (x, x), 0, (0,))(A), "out_axes has the nest"),
    ],
)  # fmt: skip
def test_axes_that_do_not_fit_are_refused(function: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        function()


def test_numbers_among_the_arguments_have_no_axis() -> None:
    np.testing.assert_array_equal(run(ted.vmap(lambda x, s: x * s)(A, 3.0)), 3 * NUMBERS[A])


def test_tangents_have_the_nests_of_their_primals() -> None:
    def function(both: dict[str, Any]) -> Any:
        return both["p"] * both["q"]

    value, pushed = ted.jvp(function, ({"p": V, "q": V * 2.0},), ({"p": V, "q": None},))
    np.testing.assert_array_equal(run(value), 2 * NUMBERS[V] ** 2)
    np.testing.assert_array_equal(run(pushed), 2 * NUMBERS[V] ** 2)
