"""Sizes as parameters of integer sets: what a set says at numbers is what its sizes say."""

import itertools

import islpy as isl
import pytest

from ted.domain import parameters, sets
from ted.domain.size_factors import Symbol
from ted.domain.sizes import Extent, evaluate, symbolic
from unit.domain.random_maps import enumerate_set

n, m = symbolic(Symbol("n", 3)), symbolic(Symbol("m", 2))
even = symbolic(Symbol("e", 4, 2))
EXTENTS: list[Extent] = [
    7,
    n,
    n + 2,
    2 * n - 3,
    even,
    even // 2,
    n // 2,
    (n + 1) // 3,
    3 * (m // 2),
]


def fixed(points: isl.Set, value: int) -> isl.Set:
    """The set where its only parameter has a value."""
    assert len(parameters.parameters_of(points)) == 1
    there = points.fix_val(sets.PARAM, 0, isl.Val(value))
    return there.project_out(sets.PARAM, 0, 1)


@pytest.mark.parametrize("extent", EXTENTS, ids=str)
def test_a_box_has_as_many_points_as_its_extent(extent: Extent) -> None:
    points = parameters.box((extent, 2))
    for sizes in ({"n": 3, "m": 2, "e": 4}, {"n": 8, "m": 5, "e": 6}):
        there = parameters.at(points, sizes)
        expected = evaluate(extent, sizes)
        assert enumerate_set(there) == list(itertools.product(range(expected), range(2)))


def test_a_box_of_numbers_has_no_parameters() -> None:
    assert parameters.box((2, 3)).is_equal(sets.box((2, 3)))
    assert parameters.box((0,)).is_empty()


def test_a_box_is_empty_where_a_size_breaks_its_promise() -> None:
    points = parameters.box((n,))
    assert fixed(points, 2).is_empty()
    assert enumerate_set(fixed(points, 3)) == [(0,), (1,), (2,)]


def test_a_product_of_sizes_is_at_least_the_product_of_their_minima() -> None:
    points = parameters.box((n * m,))
    assert fixed(points, 5).is_empty()
    assert enumerate_set(fixed(points, 6))[-1] == (5,)


def test_a_size_in_units_of_what_it_is_a_multiple_of() -> None:
    points = parameters.box((even,))
    (name,) = parameters.parameters_of(points)
    assert parameters.unit(parameters.monomial_of(name)) == 2
    assert fixed(points, 1).is_empty()
    assert len(enumerate_set(fixed(points, 3))) == 6


def test_a_set_somewhere_has_points_and_says_for_which_sizes() -> None:
    points = parameters.box((n,)).lower_bound_val(sets.SET, 0, isl.Val(5))
    there, values = parameters.somewhere(points)
    assert enumerate_set(there) == [(5,)]
    assert parameters.sizes_at(values) == (("n", 6),)
    assert parameters.somewhere(sets.box((2,)))[1] == {}
    _, values = parameters.somewhere(parameters.box((even,)))
    assert parameters.sizes_at(values) == (("e", 4),)


def test_parameters_of_different_promises_have_different_names() -> None:
    names = {
        parameters.parameter((Symbol("k", least, step),)) for least in (1, 2) for step in (1, 3)
    }
    assert len(names) == 4
    assert parameters.parameter((Symbol("k", 1, 1),)) == "k"


def test_what_a_set_demands_beyond_its_box() -> None:
    inside = parameters.box((n,))
    first = inside.upper_bound_val(sets.SET, 0, isl.Val(0))
    assert parameters.beyond_box(inside, (n,)).plain_is_universe()
    assert parameters.beyond_box(first, (n,)).intersect(inside).is_equal(first)


def test_a_value_at_given_sizes() -> None:
    value = parameters.extent_value(1, 2 * n + 1)
    (name,) = parameters.parameters_of(parameters.box((n,)))
    there = parameters.value_at(value, {name: 5})
    assert there.is_equal(isl.PwAff("{ [i] -> [11] }"))
