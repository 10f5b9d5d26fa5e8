"""Factors are independent, and their product is the whole."""

import islpy as isl

from ted.domain import sets
from ted.domain.components import factors, index_factors


def only_part(text: str) -> isl.BasicSet:
    (part,) = sets.disjoint_parts(isl.Set(text))
    return part


def test_dims_without_common_constraint_are_factors() -> None:
    part = only_part("{ [i, j, k] : 0 <= k <= i < 9 and 0 <= j < 4 }")
    first, second = factors(part)
    assert (first.dims, second.dims) == ((0, 2), (1,))
    assert first.points.is_equal(isl.Set("{ [i, k] : 0 <= k <= i < 9 }"))


def test_a_division_ties_the_dims_inside_it() -> None:
    part = only_part("{ [i, j] : 0 <= i, j < 9 and (i + j) % 2 = 0 }")
    assert [factor.dims for factor in factors(part)] == [(0, 1)]


def test_a_set_without_dims_has_no_factors() -> None:
    assert factors(only_part("{ [] }")) == []


def test_an_index_ties_the_dims_that_it_adds() -> None:
    part = only_part("{ [i, j, k] : 0 <= i, j, k < 9 }")
    dims = "[i, j, k]"
    index = [isl.PwAff(f"{{ {dims} -> [{text}] }}") for text in ("j", "i + k", "7")]
    found = index_factors(part, [sets.anonymous_value(value) for value in index])
    assert [(f.targets, f.dims) for f in found] == [((1,), (0, 2)), ((0,), (1,)), ((2,), ())]
