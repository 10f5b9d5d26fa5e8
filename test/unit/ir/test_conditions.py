"""Conditions as integer sets: bounds where parts are data, however often parts are shared."""

from __future__ import annotations

import pytest

from ted.domain import sets
from ted.ir.affine import NotAffine, condition_bounds, condition_set
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.paths import MAX_TERMS, common, conjuncts, implied_of_indices, path_conditions
from ted.ir.scalar import (
    TRUE,
    add,
    compare,
    const,
    dim,
    index,
    land,
    lnot,
    load,
    lor,
    reads_data,
    select,
)

BOX = sets.box((10,))
ZERO = const(0, FLOAT64)
LOW, HIGH = compare("lt", dim(0), index(4)), compare("lt", dim(0), index(7))


def data(name: str) -> Expr:
    return compare("lt", ZERO, load(Tensor(name, (10,), FLOAT64), [dim(0)]))


ON_DATA = data("a")


def numbers(condition: Expr) -> tuple[int, int]:
    """How many points of the box the upper and the lower bound of a condition hold."""
    over, under = (BOX.intersect(s) for s in condition_bounds(condition, BOX))
    return sets.to_int(over.count_val()), sets.to_int(under.count_val())


CONDITIONS = [
    (ON_DATA, (10, 0)),
    (LOW, (4, 4)),
    (lnot(LOW), (6, 6)),
    (land(HIGH, ON_DATA), (7, 0)),
    (lor(LOW, ON_DATA), (10, 4)),
    (lnot(land(HIGH, ON_DATA)), (10, 3)),
    (land(lnot(LOW), lor(ON_DATA, HIGH)), (6, 3)),
    (lnot(lor(LOW, ON_DATA)), (6, 0)),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=repr)
def test_bounds_enclose_the_condition_whatever_the_data(
    condition: Expr, expected: tuple[int, int]
) -> None:
    assert numbers(condition) == expected


def shared(depth: int) -> Expr:
    """A condition whose tree has 2**depth leaves and whose DAG has 4 * depth nodes."""
    total = HIGH
    for k in range(depth):
        total = lor(land(total, data(f"a{k}")), land(lnot(total), LOW))
    return total


def test_shared_parts_are_looked_at_once() -> None:
    assert numbers(shared(60)) == (7, 0)


def test_shared_affine_parts_are_looked_at_once() -> None:
    total = HIGH
    for _ in range(60):
        total = lor(land(total, HIGH), land(lnot(total), LOW))
    assert sets.to_int(BOX.intersect(condition_set(total, BOX)).count_val()) == 7


def test_a_condition_on_data_has_no_set() -> None:
    with pytest.raises(NotAffine, match="comparisons of affine indices"):
        condition_set(land(LOW, lnot(ON_DATA)), BOX)


def test_terms_of_a_conjunction_are_listed_once() -> None:
    total = land(LOW, ON_DATA)
    for _ in range(60):
        total = land(land(total, HIGH), land(ON_DATA, total))
    assert conjuncts(total) == [LOW, ON_DATA, HIGH]
    assert conjuncts(TRUE) == []


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=repr)
def test_what_a_condition_says_of_indices_alone(condition: Expr, expected: tuple[int, int]) -> None:
    implied = implied_of_indices(condition)
    assert not reads_data(implied)
    assert numbers(implied) == (expected[0], expected[0])


def test_of_many_paths_what_all_of_them_say_is_kept() -> None:
    read = load(Tensor("x", (10,), FLOAT64), [dim(0)])
    total = ZERO
    for k in range(MAX_TERMS + 1):
        total = add(total, select(land(HIGH, data(f"a{k}")), read, ZERO))
    assert path_conditions(total)[read] is HIGH
    assert path_conditions(add(total, read))[read] is TRUE


def test_what_is_common_can_be_asked_everywhere() -> None:
    asked_below_four = data("b")
    terms = [land(land(LOW, asked_below_four), HIGH), land(land(HIGH, lnot(LOW)), asked_below_four)]
    assert common(terms) is HIGH
    assert common([land(ON_DATA, LOW), land(land(HIGH, ON_DATA), LOW)]) is land(ON_DATA, LOW)
