"""Plain quasi-affine expressions: canonical forms, evaluation, text, and agreement with isl."""

import itertools
import random

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ted.domain import conversion, sets
from ted.domain.affine import Aff, Constraint, constant, dim, parameter
from unit.domain.random_maps import enumerate_box, enumerate_set, random_problem

i, j = dim(0), dim(1)


def expressions() -> st.SearchStrategy[Aff]:
    small = st.integers(-4, 4)
    leaves = st.one_of(st.sampled_from([i, j]), small.map(constant))

    def grow(inner: st.SearchStrategy[Aff]) -> st.SearchStrategy[Aff]:
        return st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, c: a * c, inner, small),
            st.builds(lambda a, m: a // m, inner, st.integers(1, 5)),
            st.builds(lambda a, m: a % m, inner, st.integers(1, 5)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (i - 4 * (i // 4), "(i % 4)"),
        (4 * (i // 4) + i % 4, "i"),
        ((i // 2) // 3, "(i // 6)"),
        ((i * 3 + j + 7) // 3, "i + ((j + 1) // 3) + 2"),
        ((4 * i + 6) // 4, "i + 1"),
        (2 * i - 3 * j - 4, "2*i - 3*j - 4"),
        (i - i, "0"),
        (-i + 1, "-i + 1"),
    ],
)
def test_expressions_have_one_short_form(value: Aff, text: str) -> None:
    assert value.show(["i", "j"]) == text


@settings(derandomize=True, max_examples=150, deadline=None)
@given(expressions(), st.integers(-9, 9), st.integers(-9, 9))
def test_the_canonical_form_has_the_value_python_computes(value: Aff, x: int, y: int) -> None:
    names = {"i": x, "j": y}
    assert value.evaluate((x, y)) == eval(value.show(["i", "j"]), names)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(expressions())
def test_expressions_go_through_isl_unchanged(value: Aff) -> None:
    back = conversion.from_isl(conversion.to_isl(value, 2))
    points = [(x, y) for x in range(-7, 8) for y in range(-7, 8)]
    assert [back.evaluate(p) for p in points] == [value.evaluate(p) for p in points]


def test_substitution_replaces_dims_inside_floors() -> None:
    assert ((i + j) // 2).substitute([i * 2, j]) == i + j // 2


def test_dims_and_single_dims_are_visible() -> None:
    assert (i + j // 3).dims == {0, 1}
    assert j.as_dim == 1
    assert (j + 1).as_dim is None
    assert (2 * j).as_dim is None
    assert not (i // 2).is_affine


@settings(derandomize=True, max_examples=150, deadline=None)
@given(expressions(), st.integers(-9, 9), st.integers(-9, 9))
def test_a_period_is_a_constant_growth(value: Aff, x: int, y: int) -> None:
    for index, step in enumerate([(1, 0), (0, 1)]):
        period = value.period(index)
        moved = (x + step[0] * period, y + step[1] * period)
        growth = value.slope(index) * period
        assert value.evaluate(moved) == value.evaluate((x, y)) + growth


def test_a_rational_isl_expression_is_rounded_down() -> None:
    assert conversion.from_isl(isl.Aff("{ [i] -> [(i + 1)/2] }")) == (i + 1) // 2


def test_a_stride_is_one_readable_constraint() -> None:
    points = isl.Set("{ [a, b] : exists e : a - b = 3e }")
    assert conversion.conjunctions(points) == ((Constraint((i - j) % 3, True),),)


def test_the_universe_and_the_empty_set_are_conjunctions() -> None:
    assert conversion.conjunctions(sets.universe(2)) == ((),)
    assert conversion.conjunctions(sets.empty(2)) == ()


@pytest.mark.parametrize("seed", range(40))
def test_sets_survive_as_conjunctions(seed: int) -> None:
    problem = random_problem(seed)
    parts = conversion.conjunctions(problem.domain, disjoint=True)
    rank = sets.rank_of(problem.domain)
    assert conversion.from_conjunctions(rank, parts).is_equal(problem.domain)
    for point in problem.points:
        assert sum(all(c.holds(point) for c in part) for part in parts) == 1


def test_names_are_dropped_and_points_kept() -> None:
    named = isl.Set("{ S[a, a2, b] : a = a2 and 0 <= a < b < 4 }")
    clean = sets.anonymous(named)
    assert "S" not in clean.to_str()
    assert enumerate_set(clean) == [p for p in enumerate_box([4, 4, 4]) if p[0] == p[1] < p[2]]


def test_random_problems_enumerate_their_own_domain() -> None:
    for seed in random.Random(1).sample(range(10_000), 20):
        problem = random_problem(seed)
        assert enumerate_set(problem.domain) == list(problem.points)


def test_sums_do_not_depend_on_the_order_of_their_terms() -> None:
    i, j = dim(0), dim(1)
    size = parameter("n")
    parts = [2 * i, 3 * j, size, (i + j) // 2, (i + 1) // 3]
    sums = [sum(order, constant(5)) for order in itertools.permutations(parts)]
    assert set(map(str, sums)) == {str(sums[0])}
    assert all(one == sums[0] for one in sums)
