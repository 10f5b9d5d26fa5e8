"""Boxes, functions and projections of integer sets, against enumeration."""

from math import gcd

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted.domain import sets
from unit.domain.random_maps import enumerate_set


def test_boxes_hold_their_points() -> None:
    assert enumerate_set(sets.box((2, 3))) == [(i, j) for i in range(2) for j in range(3)]
    assert enumerate_set(sets.bounding_box([(-1, 1), (5, 5)])) == [(-1, 5), (0, 5), (1, 5)]
    assert enumerate_set(sets.within(sets.box((9,)), 0, 3, 5)) == [(3,), (4,), (5,)]
    assert sets.box((2, 0)).is_empty()
    assert sets.empty(3).is_empty()
    assert sets.rank_of(sets.universe(3)) == 3


def test_linear_functions_have_the_values_of_their_coefficients() -> None:
    assert str(sets.linear(3, [2, 0, -1], 7)) == "{ [i0, i1, i2] -> [(7 + 2i0 - i2)] }"
    assert str(sets.constant_aff(2, 4)) == "{ [i0, i1] -> [(4)] }"
    assert [str(a) for a in sets.dim_affs(2)] == [
        "{ [i0, i1] -> [(i0)] }",
        "{ [i0, i1] -> [(i1)] }",
    ]


def test_a_preimage_holds_what_is_sent_into_the_set() -> None:
    points = sets.preimage(sets.box((3,)), 2, [sets.linear(2, [1, 1], -1)])
    inside = enumerate_set(points.intersect(sets.box((3, 3))))
    assert inside == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]


def test_names_are_dropped_and_points_stay() -> None:
    named = isl.Set("{ S[a, b] : 0 <= a < 2 and b = 2a }")
    assert sets.anonymous(named).is_equal(isl.Set("{ [a, b] : 0 <= a < 2 and b = 2a }"))
    value = sets.anonymous_value(isl.PwAff("{ S[a, b] -> [a + 2b] : a > 0 }"))
    assert value.is_equal(isl.PwAff("{ [a, b] -> [a + 2b] : a > 0 }"))


def test_a_map_to_indices_relates_points_and_values() -> None:
    index = [isl.PwAff("{ [i] -> [2i] }"), isl.PwAff("{ [i] -> [i + 1] }")]
    relation = sets.index_map(isl.Set("{ [i] : 0 <= i < 3 }"), index)
    assert relation.is_equal(isl.Map("{ [i] -> [2i, i + 1] : 0 <= i < 3 }"))


def test_a_coordinate_as_a_function_of_the_others() -> None:
    relation = sets.as_function(isl.Set("{ [i, j, k] : j = i + k and 0 <= i, k < 2 }"), 1)
    assert relation.is_equal(isl.Map("{ [i, k] -> [i + k] : 0 <= i, k < 2 }"))


def test_disjoint_parts_count_each_point_once() -> None:
    points = isl.Set("{ [i] : 0 <= i < 6 or 4 <= i < 9 or (i mod 2 = 0 and 0 <= i < 12) }")
    parts = sets.disjoint_parts(points)
    assert sum(isl.Set.from_basic_set(p).count_val().to_python() for p in parts) == 10
    assert sets.disjoint_parts(sets.empty(1)) == []


def test_ranges_are_tight_and_none_without_bounds() -> None:
    points = isl.Set("{ [i, j] : 3 <= i < 8 and j = 2i }")
    assert sets.dim_range(points, 1) == (6, 14)
    assert sets.dim_ranges(points) == [(3, 7), (6, 14)]
    assert sets.dim_range(isl.Set("{ [i] : i >= 0 }"), 0) is None
    assert sets.dim_ranges(isl.Set("{ [i, j] : 0 <= i < 3 and j <= 2 }")) is None


def test_a_point_is_one_of_the_set() -> None:
    assert sets.point_of(isl.Set("{ [i, j] : i = 4 and j = -2 }")) == (4, -2)
    assert sets.point_of(sets.empty(2)) is None


def test_a_projection_keeps_the_given_coordinates() -> None:
    points = isl.Set("{ [i, j, k] : 0 <= i < 2 and j = i + 5 and 0 <= k < 3 }")
    assert enumerate_set(sets.project(points, [1])) == [(5,), (6,)]
    assert enumerate_set(sets.project(points, [0, 2])) == [(i, k) for i in (0, 1) for k in range(3)]
    with pytest.raises(AssertionError, match="ascending dims expected"):
        sets.project(points, [2, 0])
    with pytest.raises(AssertionError, match="ascending dims expected"):
        sets.project(points, [1, 1])


def test_a_fraction_is_no_integer() -> None:
    assert sets.to_int(isl.Val(-3)) == -3
    with pytest.raises(AssertionError, match="integer expected"):
        sets.to_int(isl.Val("1/2"))


@given(st.lists(st.integers(-9, 30), min_size=1, max_size=5), st.booleans())
def test_steps_are_what_all_coordinates_have_in_common(places: list[int], at_once: bool) -> None:
    found = sets.empty(1)
    for place in places:
        found = found.union(sets.bounding_box([(place, place)]))
    (side,) = sets.dim_steps(found.coalesce() if at_once else found) or [range(0)]
    least = min(places)
    assert side == range(least, max(places) + 1, gcd(*(p - least for p in places)) or 1)


def test_points_at_steps_are_those_of_the_sides() -> None:
    sides = [range(-3, 9, 4), range(5, 6), range(0, 7, 3)]
    points = sets.lattice(sides)
    assert enumerate_set(points) == [
        (i, j, k) for i in sides[0] for j in sides[1] for k in sides[2]
    ]
    assert sets.dim_steps(points) == [range(-3, 6, 4), range(5, 6), range(0, 7, 3)]
    half = isl.Set("{ [i] : i >= 0 and i mod 2 = 0 }")
    assert sets.dim_steps(half) is None


def test_a_step_is_that_of_a_coordinate_whatever_the_others_are() -> None:
    points = isl.Set("{ [i, j] : 0 <= i < 10 and 0 <= j < 3 and (i - j) mod 2 = 0 }")
    assert sets.dim_steps(points) == [range(10), range(3)]
    points = points.intersect(isl.Set("{ [i, j] : j mod 2 = 1 }"))
    assert sets.dim_steps(points) == [range(1, 10, 2), range(1, 2)]


def test_a_flat_hull_has_the_equalities_steps_and_bounds_of_a_set() -> None:
    triangle = isl.Set("{ [i, j] : 0 <= i <= j < 3 }")
    assert sets.flat_hull(sets.anonymous(triangle)).is_equal(sets.box((3, 3)))
    diagonal = sets.anonymous(isl.Set("{ [i, i] : i = 1 or i = 4 }"))
    hull = sets.flat_hull(diagonal)
    assert hull.is_equal(sets.anonymous(isl.Set("{ [i, i] : 1 <= i <= 4 and (i - 1) mod 3 = 0 }")))
    assert sets.flat_hull(sets.empty(2)).is_empty()
