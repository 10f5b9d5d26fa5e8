"""Reductions over one point are maps, and keep their values."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted import nn
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.scalar import dim, index, load, weight
from ted.transforms.single_points import drop_unit_reductions, map_single_points
from unit.transforms.recurrences import equation

A = np.array([[1.5], [-2.0], [np.nan], [np.inf]])


X = ted.placeholder((4, 1), "float64", name="x")


def equations(*outputs: ted.Tensor) -> list[Equation]:
    system, _ = map_single_points(system_of([X], outputs))
    return [e for t in system.tensors() for e in t.equations]


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_a_reduction_over_one_point_gives_the_point(name: str, keepdims: bool) -> None:
    y = getattr(ted, name)(X, axis=1, keepdims=keepdims)
    assert all(e.parallel == e.rank for e in equations(y))
    np.testing.assert_array_equal(ted.compile([X], y)(A), A if keepdims else A[:, 0])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_number_of_the_only_point_is_zero(name: str) -> None:
    y = getattr(ted, name)(X, axis=1)
    assert [e.combiner for e in equations(y)] == ["set"]
    np.testing.assert_array_equal(ted.compile([X], y)(A), np.zeros(4))


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
def test_the_gradient_of_a_reduction_over_one_point_is_a_copy(name: str) -> None:
    y = getattr(ted, name)(X, axis=1)
    (dx,) = ted.differentiate(y, [X], ted.placeholder((4,), "float64", name="head"))
    (equation,) = dx.node.equations
    assert (equation.combiner, equation.body.op, weight(equation.body)) == ("set", "load", 0)


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "argmax", "argmin"])
def test_no_reduction_runs_over_a_dim_of_one_point(name: str) -> None:
    x = ted.placeholder((4, 1, 3), "float64", name="x")
    y = getattr(ted, name)(x, axis=(1, 2))
    system, _ = drop_unit_reductions(system_of([x], [y]))
    assert [e.extents for t in system.tensors() for e in t.equations] == [(4, 3)]
    values = np.random.default_rng(0).normal(size=(4, 1, 3))
    expected = getattr(np, name)(values.reshape(4, 3), axis=1)
    np.testing.assert_allclose(ted.compile([x], y)(values), expected, rtol=1e-15)


def test_what_starts_elsewhere_stays_a_reduction() -> None:
    y = ted.sum(X, axis=1, init=2.0)
    np.testing.assert_array_equal(ted.compile([X], y)(A), A[:, 0] + 2)


def test_rows_of_one_element_have_gradients() -> None:
    head = ted.placeholder((4, 1), "float64", name="head")
    y = nn.softmax(X)
    (dx,) = ted.differentiate(y, [X], head)
    given = np.array([[1.5], [-2.0], [0.0], [4.0]])
    values, slopes = ted.compile([X, head], [y, dx])(given, given)
    np.testing.assert_array_equal(values, np.ones((4, 1)))
    np.testing.assert_array_equal(slopes, np.zeros((4, 1)))


def test_a_dim_that_is_not_written_stays() -> None:
    x = Tensor("x", (1, 1), FLOAT64)
    one = equation((1, 1), load(x, [dim(0), dim(1)]), "add", 1, write=(index(0),))
    y = Tensor("y", (1,), FLOAT64, 0, (one,))
    assert map_single_points(System((x,), (y,)))[0].outputs == (y,)
