"""The points of a step and of the rest join to those of an equation, or it stays."""

from __future__ import annotations

import pytest

from ted.domain import parameters, sets
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, Tensor, identity_dims
from ted.ir.scalar import dim, load
from ted.transforms.separable_points import CoupledError, Points

EXTENTS = (4, 4, 8)


def points(*conditions: tuple[tuple[int, ...], int]) -> Points:
    """The points of the box where each sum of coefficients times dims is at least the number."""
    domain = parameters.box(EXTENTS)
    for coefficients, least in conditions:
        linear, limit = sets.linear(3, coefficients), sets.constant_aff(3, least)
        domain = domain.intersect(linear.ge_set(limit))
    x = Tensor("x", (4,), FLOAT64)
    equation = Equation(EXTENTS, 2, domain, identity_dims(2), "add", load(x, [dim(0)]))
    return Points.of(equation)


def test_a_box_comes_apart_into_boxes() -> None:
    own, rest = points().apart({1, 2}, {2})
    assert own == Points(EXTENTS, (1, 2), None)
    assert rest == Points(EXTENTS, (0, 1), None)
    assert own.ordered((2, 1)) == sets.box((8, 4))


def test_a_condition_goes_with_the_dims_that_it_is_about() -> None:
    own, rest = points(((0, 1, -1), 0)).apart({1, 2}, {2})  # r <= j
    triangle = sets.linear(2, (1, -1)).ge_set(sets.constant_aff(2, 0))
    assert own.domain.is_equal(sets.box((4, 8)).intersect(triangle))
    assert rest.domain.is_equal(sets.box((4, 4)))


def test_the_rest_has_no_points_for_which_nothing_is_summed() -> None:
    _, rest = points(((0, -1, 0), -2)).apart({1, 2}, {2})  # j <= 2
    assert rest.domain.is_equal(sets.box((4, 3)))


def test_dims_that_a_condition_couples_do_not_come_apart() -> None:
    with pytest.raises(CoupledError):
        points(((1, 0, -1), 0)).apart({1, 2}, {2})  # r <= i


def test_a_part_of_a_box_is_not_counted_as_the_box() -> None:
    own, _ = points(((0, 0, -1), -2)).apart({2}, {2})  # r <= 2
    with pytest.raises(CoupledError):
        own.require_box()
    points(((0, -1, 0), -2)).apart({2}, {2})[0].require_box()


def test_dims_are_put_in_order() -> None:
    triangle, _ = points(((0, 1, -1), 0)).apart({1, 2}, {2})
    assert triangle.ordered((2, 1)).is_equal(
        sets.preimage(triangle.domain, 2, [sets.dim_aff(2, 1), sets.dim_aff(2, 0)])
    )
