"""Counts are exact, and do not cost time in proportion to what is counted."""

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ted.domain import sets
from ted.domain.counting import Count, count, count_points
from ted.errors import DomainError
from unit.domain.random_maps import constant, enumerate_set, random_problem


@pytest.mark.parametrize("seeds", [range(n, n + 20) for n in range(0, 300, 20)], ids=str)
def test_random_guarded_sets_are_counted_exactly(seeds: range) -> None:
    for seed in seeds:
        problem = random_problem(seed)
        assert count_points(problem.domain) == len(problem.points)
        one = constant(sets.rank_of(problem.domain), 1).function
        part = problem.domain.intersect(problem.functions[0].ge_set(one))
        assert count_points(part) == len(enumerate_set(part))


SLOPES = st.tuples(st.integers(-7, 7), st.sampled_from([-6, -5, -4, -3, -2, 2, 3, 4, 5, 6]))
EDGES = st.lists(st.tuples(SLOPES, st.integers(-15, 60)), min_size=2, max_size=3)


@settings(max_examples=120, deadline=None)
@given(EDGES, st.integers(8, 40))
def test_polygons_between_slopes_are_counted_as_enumeration_does(edges, width) -> None:
    """Their intervals at some columns hold no integer: what is left is strided."""
    i, j = np.meshgrid(np.arange(width), np.arange(-30, 90), indexing="ij")
    inside = np.ones(i.shape, bool)
    rows = [f"0 <= i < {width} and -30 <= j < 90"]
    for (a, b), c in edges:
        inside &= a * i + b * j + c >= 0
        rows.append(f"{a}i + {b}j + {c} >= 0")
    assert count_points(isl.Set(f"{{ [i, j] : {' and '.join(rows)} }}")) == inside.sum()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(2, 7), st.integers(2, 7), st.integers(0, 6), st.integers(0, 3), st.integers(9, 50)
)
def test_columns_without_an_integer_are_left_out(a, b, shift, thin, width) -> None:
    columns = range(width)
    number = sum(
        max((a * i + shift + thin) // b - -((-a * i - shift) // b) + 1, 0) for i in columns
    )
    between = f"{a}i + {shift} <= {b}j <= {a}i + {shift + thin}"
    assert count_points(isl.Set(f"{{ [i, j] : 0 <= i < {width} and {between} }}")) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("{ [i, j] : 0 <= j <= i < 1000000 }", 500000500000),
        ("{ [i, j, k] : 0 <= k <= j <= i < 300 }", 300 * 301 * 302 // 6),
        ("{ [i] : 0 <= i < 1000000000 and i % 7 = 3 }", 142857143),
        ("{ [i] : 0 <= i < 1000000 and i % 7 <= 2 }", 428572),
        ("{ [i, j] : 0 <= 3j <= 2i and i < 100000 }", sum(2 * i // 3 + 1 for i in range(100000))),
        ("{ [i, j] : 0 <= i < 100000 and j = 5 }", 100000),
        ("{ [] }", 1),
        ("{ [i] : i > 0 and i < 1 }", 0),
        ("{ [i] : 0 <= i < 10; [i] : 5 <= i < 20 }", 20),
    ],
)
def test_large_sets_have_closed_forms(text: str, number: int) -> None:
    assert count_points(isl.Set(text)) == number


def test_a_window_over_images_is_counted_by_factors() -> None:
    inside = "0 <= 2y + h - 1 < 224 and 0 <= 2x + w - 1 < 224"
    points = isl.Set(
        "{ [n, o, y, x, c, h, w] : 0 <= n < 32 and 0 <= o < 64 and 0 <= y, x < 112"
        f" and 0 <= c < 3 and 0 <= h, w < 3 and {inside} }}"
    )
    rows = 112 * 3 - 1
    assert count_points(points) == 32 * 64 * 3 * rows * rows


def test_an_unbounded_set_is_refused() -> None:
    with pytest.raises(DomainError, match="bounded"):
        count_points(isl.Set("{ [i] : i >= 0 }"))


def test_what_is_too_expensive_to_count_has_an_upper_bound() -> None:
    cube = isl.Set("{ [i, j, k] : 0 <= i <= j <= k < 2000 }")
    assert count(cube) == Count(2000**3, exact=False)
    assert count(isl.Set("{ [i] : 0 <= i < 4 }")) == Count(4, exact=True)
