"""Symbolic sizes in expressions: beside indices, in subscripts and slices, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import dialects
from ted.errors import DomainError, FrontendError, TedError
from ted.frontend.systems import system_of
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret

n = ted.size("n")
x = ted.placeholder((n,), "float64", name="x")


def _value(y: ted.Tensor, length: int) -> np.ndarray:
    with dialects.session():
        return interpret(to_module(system_of([x], [y])), [np.arange(1.0, length + 1)])[0]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (lambda i: ted.where(n - 1 == i, x[i], 0), [0, 0, 3]),
        (lambda i: ted.where(n - 1 != i, x[i], 0), [1, 2, 0]),
        (lambda i: ted.where(n - 1 > i, x[i], 0), [1, 2, 0]),
        (lambda i: ted.where(n - 2 >= i, x[i], 0), [1, 2, 0]),
        (lambda i: x[i] * (n // (i + 1)) + n % (i + 1), [3, 3, 3]),
        (lambda i: x[i] * (1 / ted.cast(n, "float64")) * n, [1, 2, 3]),
    ],
)
def test_a_size_beside_an_index_is_a_value(element: Callable, expected: list[float]) -> None:
    np.testing.assert_allclose(_value(ted.compute((n,), element), 3), expected)


def test_a_size_beside_a_tensor_is_a_value() -> None:
    np.testing.assert_allclose(_value(ted.where(n == x, n - x, n / x), 2), [2, 0])


def test_a_subscript_of_sizes_reads_an_element() -> None:
    y = ted.compute((2,), lambda _: x[-1] * x[n - 1])
    np.testing.assert_allclose(_value(y, 3), [9, 9])
    np.testing.assert_allclose(_value(x[-1] * x[0], 3), 3)


def test_a_slice_may_be_empty_for_the_least_size() -> None:
    y = ted.concatenate([x[1:], x[: n - 1], x[1::2]])
    np.testing.assert_allclose(_value(y, 3), [2, 3, 1, 2, 2])
    np.testing.assert_allclose(_value(y, 1), [])


def test_a_dim_is_split_also_where_it_may_be_too_short() -> None:
    (g,) = ted.differentiate(ted.sum(ted.repeat(x, 3, 0) ** 2), [x])
    np.testing.assert_allclose(_value(g, 1), [6])
    np.testing.assert_allclose(_value(g, 2), [6, 12])


def test_tensors_that_may_be_empty_are_joined_and_padded() -> None:
    global x
    x, kept = ted.placeholder((ted.size("n", min=0),), "float64", name="x"), x
    y = ted.concatenate([ted.pad(x, 1, value=7.0), x, ted.stack([x, x])[0]])
    np.testing.assert_allclose(_value(y, 0), [7, 7])
    np.testing.assert_allclose(_value(y, 1), [7, 1, 7, 1, 1])
    with pytest.raises(DomainError, match="promise more by"):
        ted.pad(x, 1, mode="edge")
    x = kept


@pytest.mark.parametrize("extent", [0, ted.size("n", min=0)])
def test_repeating_nothing_gives_nothing(extent: Any) -> None:
    empty = ted.placeholder((extent,), "float64", name="x")
    repeated = [ted.tile(empty, (2,)), ted.repeat(empty, 2, 0), ted.tile(empty, (0,))]
    with dialects.session():
        module = to_module(system_of([empty], [y * 2 for y in repeated]))
        assert [y.shape for y in interpret(module, [np.zeros(0)])] == [(0,)] * 3


def test_one_name_promises_one_thing() -> None:
    other = ted.placeholder((ted.size("n", min=4),), "float64", name="y")
    with pytest.raises(DomainError, match="got min=1, multiple_of=1 and min=4, multiple_of=1"):
        ted.compile([x, other], [ted.sum(x), ted.sum(other)])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: x[n], r"x: subscript 0: must be in \[-n, n\), got n"),
        (lambda: x[::n], "slice step: must be a plain integer, got the symbolic size n"),
        (lambda: ted.pad(x, n), "pad: width: must be a plain integer"),
        (lambda: ted.placeholder((-n,)), "extent 0 must be at least 0"),
        (lambda: ted.reducer(lambda a, b: a + b, identity=0.0, name="plus")(x), "plus: a reducer"),
    ],
)
def test_sizes_where_they_make_no_sense_are_refused(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(TedError, match=message) as caught:
        wrong()
    assert isinstance(caught.value, FrontendError)
