"""What is zero by the form of a program is not worked on in its gradient: operations, exactly.

A product with a padding or a one-hot matrix runs forward over all its points, as IEEE says of
`0 * inf`; its gradient needs the points where the factor is not zero. A triangle bounds no loop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.testing import check_grads


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def rows_below(x: Tensor, w: Tensor) -> Tensor:
    return ted.pad(x, ((6, 0), (0, 0))) @ w


def shifted(x: Tensor, w: Tensor) -> Tensor:
    moved = ted.compute((20, 4), lambda i, j: ted.where(i >= 10, x[i - 10, j], 0.0), name="moved")
    return ted.tanh(moved) @ w


def one_hot(w: Tensor) -> Tensor:
    heads = ted.compute((3, 10), lambda i, j: ted.where(i == j, 1.0, 0.0), name="heads")
    return heads @ w


def lower(x: Tensor, w: Tensor) -> Tensor:
    return ted.tril(x) @ w


def padded_image(x: Tensor, w: Tensor) -> Tensor:
    return nn.conv2d(ted.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0))), w)


def window(x: Tensor, w: Tensor) -> Tensor:
    return nn.conv2d(x, w, padding=2)


Shapes = list[tuple[int, ...]]
# The operations of the gradient of the first input and of the last one.
PROGRAMS: dict[str, tuple[Callable[..., Tensor], Shapes, list[int]]] = {
    "padding": (rows_below, [(6, 4), (4, 5)], [240, 240]),
    "shift": (shifted, [(20, 4), (4, 5)], [520, 400]),
    "one-hot": (one_hot, [(10, 5)], [15]),
    "triangle": (lower, [(16, 16), (16, 5)], [2560, 2560]),
    "padded image": (padded_image, [(1, 8, 8, 2), (3, 3, 2, 3)], [6912, 6912]),
    "window": (window, [(1, 8, 8, 2), (3, 3, 2, 3)], [6912, 6912]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_visits_what_is_not_zero(name: str) -> None:
    make, shapes, expected = PROGRAMS[name]
    inputs = [p(f"x{k}", *shape) for k, shape in enumerate(shapes)]
    y = make(*inputs)
    head = p("head", *y.shape)
    found = [ted.differentiate(y, [x], head).report().gradient for x in inputs]
    assert found == expected


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_its_values_are_those_of_differences(name: str) -> None:
    make, shapes, _ = PROGRAMS[name]
    random = np.random.default_rng(0)
    check_grads(ted.function(make), [random.normal(size=shape) for shape in shapes], order=2)


def test_a_zero_of_the_form_meets_an_infinite_cotangent() -> None:
    x, w, head = p("x", 2), p("w", 4), p("head", 4)
    y = ted.pad(x, ((2, 0),)) * w
    f = ted.compile([x, w, head], [y, *ted.differentiate(y, [w], head)])
    forward, dw = f(np.ones(2), np.full(4, np.inf), np.full(4, np.inf))
    np.testing.assert_array_equal(forward, [np.nan, np.nan, np.inf, np.inf])
    np.testing.assert_array_equal(dw, [0, 0, np.inf, np.inf])
