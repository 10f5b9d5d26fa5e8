"""Between isl and plain expressions: the same values and points, both ways."""

import itertools

import islpy as isl
import pytest

from ted.domain import conversion, sets
from ted.domain.affine import constant, dim, parameter
from unit.domain.random_maps import enumerate_set

POINTS = list(itertools.product(range(-4, 5), repeat=2))
VALUES = [
    constant(-3), dim(0), 2 * dim(0) - 3 * dim(1) + 1, (dim(0) + 1) // 3, dim(1) % 4,
    ((dim(0) + dim(1)) // 2 + 3) // 2, 5 * ((2 * dim(0) - dim(1)) // 3) - dim(0),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_expressions_survive_isl(value) -> None:
    back = conversion.from_isl(conversion.to_isl(value, 2))
    assert [back.evaluate(at) for at in POINTS] == [value.evaluate(at) for at in POINTS]


def test_a_rational_expression_is_rounded_down() -> None:
    half = conversion.from_isl(isl.Aff("{ [i, j] -> [(i + 1)/2] }"))
    assert [half.evaluate((i, 0)) for i in (-2, -1, 0, 1, 2)] == [-1, 0, 0, 1, 1]


def test_parameters_keep_their_names() -> None:
    value = 2 * parameter("n") + dim(0)
    assert conversion.from_isl(conversion.to_isl(value, 1)) == value


SETS = [
    "{ [i, j] : 0 <= i < 4 and i <= j < 4 }", "{ [i, j] : 0 <= i < 3 and j = 2i }",
    "{ [i, j] : 0 <= i < 7 and j = 0 and i mod 3 = 1 }", "{ [i, j] : 0 <= i < 2 and 0 <= j < 2 "
    "or i = 4 and j = 4 }", "{ [i, j] : 1 = 0 }", "{ [i, j] : 0 <= i, j <= 3 and i != j }",
]  # fmt: skip


@pytest.mark.parametrize("text", SETS)
def test_sets_survive_as_conjunctions(text: str) -> None:
    points = isl.Set(text)
    parts = conversion.conjunctions(points)
    assert conversion.from_conjunctions(2, parts).is_equal(points)
    apart = conversion.conjunctions(points, disjoint=True)
    listed = [at for part in apart for at in enumerate_set(conversion.from_conjunctions(2, [part]))]
    assert sorted(listed) == enumerate_set(points)
    for part in parts:
        inside = [at for at in POINTS if all(_holds(c, at) for c in part)]
        assert inside == enumerate_set(
            conversion.from_conjunctions(2, [part]).intersect(sets.bounding_box([(-4, 4)] * 2))
        )


def _holds(constraint, at) -> bool:
    value = constraint.expression.evaluate(at)
    return value == 0 if constraint.equality else value >= 0
