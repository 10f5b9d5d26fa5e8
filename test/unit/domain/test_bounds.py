"""Exact bounds, injectivity and overwriting, on cases interval analysis cannot decide."""

import islpy as isl
import pytest

from ted.domain import bounds, sets
from ted.domain.bounds import Witness
from unit.domain.random_maps import enumerate_set, random_problem


def value(text: str) -> isl.PwAff:
    return isl.PwAff(text)


def test_divided_and_rebuilt_index_fits_its_own_extent() -> None:
    rebuilt = [value("{ [i] -> [4*(i//4) + i%4] }")]
    assert bounds.out_of_bounds_witness(sets.box([10]), rebuilt, [10]) is None
    assert bounds.out_of_bounds_witness(sets.box([10]), rebuilt, [9]) == Witness((9,), 0, 9)


def test_a_difference_fits_on_the_triangle_only() -> None:
    difference = [value("{ [i, j] -> [i - j] }")]
    triangle = isl.Set("{ [i, j] : 0 <= j <= i < 8 }")
    assert bounds.out_of_bounds_witness(triangle, difference, [8]) is None
    assert bounds.out_of_bounds_witness(sets.box([8, 8]), difference, [8])[:3] == ((0, 1), 0, -1)


def test_the_witness_is_the_first_point_over_all_dims() -> None:
    index = [value("{ [i] -> [i] }"), value("{ [i] -> [2i] }")]
    assert bounds.out_of_bounds_witness(sets.box([10]), index, [9, 9])[:3] == ((5,), 1, 10)


def test_an_empty_domain_is_within_any_bounds() -> None:
    assert bounds.out_of_bounds_witness(sets.empty(1), [value("{ [i] -> [i] }")], [0]) is None


@pytest.mark.parametrize("seed", range(60))
def test_bounds_agree_with_enumeration(seed: int) -> None:
    problem = random_problem(seed)
    targets = [problem.target(p) for p in problem.points]
    for k, component in enumerate(problem.functions):
        reached = [t[k] for t in targets]
        expected = (min(reached), max(reached)) if reached else None
        assert bounds.index_range(problem.domain, component) == expected
    shape = [3] * len(problem.index)
    outside = [
        (p, k, t[k])
        for p, t in zip(problem.points, targets, strict=True)
        for k in range(len(shape))
        if not 0 <= t[k] < 3
    ]
    found = bounds.out_of_bounds_witness(problem.domain, problem.functions, shape)
    assert (found and found[:3]) == min(outside, default=None)
    injective = len(set(targets)) == len(targets)
    assert bounds.is_injective(problem.domain, problem.functions) is injective
    assert enumerate_set(bounds.image(problem.domain, problem.functions)) == sorted(set(targets))


def test_what_a_later_write_covers_is_overwritten() -> None:
    even, whole = [value("{ [i] -> [2i] }")], [value("{ [i] -> [i] }")]
    left = bounds.not_overwritten(sets.box([8]), whole, sets.box([3]), even)
    assert enumerate_set(left) == [(1,), (3,), (5,), (6,), (7,)]
    assert bounds.not_overwritten(sets.box([3]), even, sets.box([8]), whole).is_empty()


def test_sets_are_compared_by_position_not_by_name() -> None:
    upper, lower = isl.Set("{ [i, j] : i < j }"), isl.Set("{ [j, i] : i < j }")
    assert bounds.is_disjoint(upper, lower)
    assert not bounds.is_subset(upper, lower)
