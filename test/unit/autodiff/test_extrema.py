"""Which points an extremum takes, ties included, and what each of them gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.autodiff.combiners import expand_combiners
from ted.autodiff.extrema import cotangent_of_points, taken_points
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE, compare, dim, index, load, loads, mod, mul
from unit.autodiff.systems import defined, gradients, tangent
from unit.transforms.recurrences import equation, given

i, r, s = dim(0), dim(1), dim(2)
X = given("x", 2, 4)
ROWS = [[1.0, 5, 5, 2], [7, 7, 0, 7]]


def extremum(combiner: str, ties: str, body: Expr | None = None) -> Tensor:
    reduction = equation((2, 4), body or load(X, [i, r]), combiner, 1)
    fill = float("-inf") if combiner == "max" else float("inf")
    return defined("y", (2,), replace(reduction, ties=ties), fill=fill)


def negated(rows: list[list[float]]) -> list[list[float]]:
    return [[-x for x in row] for row in rows]


@pytest.mark.parametrize("combiner", ["max", "min"])
def test_the_first_of_equals_gets_all_of_the_cotangent(combiner: str) -> None:
    y = extremum(combiner, "first")
    rows = ROWS if combiner == "max" else negated(ROWS)
    assert gradients([X], y, [rows], [3, 12]) == [[[0, 3, 0, 0], [12, 0, 0, 0]]]
    assert tangent([X], y, [rows], [[[1, 2, 3, 4], [5, 6, 7, 8]]]) == [2, 5]


@pytest.mark.parametrize("combiner", ["max", "min"])
def test_equals_get_equal_parts_of_the_cotangent(combiner: str) -> None:
    y = extremum(combiner, "even")
    rows = ROWS if combiner == "max" else negated(ROWS)
    (dx,) = gradients([X], y, [rows], [3, 12])
    assert dx == [[0, pytest.approx(1.5), pytest.approx(1.5), 0], pytest.approx([4, 4, 0, 4])]
    assert tangent([X], y, [rows], [[[1, 2, 3, 4], [5, 6, 7, 8]]]) == pytest.approx([2.5, 19 / 3])


def test_parts_of_one_are_exact() -> None:
    (dx,) = gradients([X], extremum("max", "even"), [[[1, 5, 2, 3], [0, 0, 1, 0]]], [3, 7])
    assert dx == [[0, 3, 0, 0], [0, 0, 7, 0]]


def test_an_extremum_over_nothing_gives_no_number_but_zero() -> None:
    x = given("x", 2, 4)
    none = equation((2, 4), load(x, [i, r]), "max", 1, compare("lt", r, mul(i, index(4))))
    y = defined("y", (2,), replace(none, ties="even"), fill=float("-inf"))
    (dx,) = gradients([x], y, [[[1, 2, 3, 4], [5, 6, 7, 7]]], [1, 2])
    assert dx == [[0, 0, 0, 0], [0, 0, 1, 1]]


def test_a_scattered_maximum_has_no_first_point() -> None:
    x = given("x", 4)
    y = defined("y", (2,), equation((4,), load(x, [i]), "max", 0,
                                    write=(mod(i, index(2)),)), fill=-9.0)  # fmt: skip
    system = expand_combiners(System((x,), (y,)))[0]
    assert system.outputs[0] is not y
    (dx,) = gradients([x], y, [[3, 1, 3, 2]], [8, 5])
    assert dx == pytest.approx([4, 0, 4, 5])


def test_the_index_over_two_dims_is_row_major() -> None:
    x = given("x", 1, 2, 3)
    y = defined("y", (1,), equation((1, 2, 3), load(x, [i, r, s]), "max", 1), fill=float("-inf"))
    assert gradients([x], y, [[[[1, 2, 3], [9, 4, 9]]]], [5]) == [[[[0, 0, 0], [5, 0, 0]]]]


def test_pointwise_extrema_and_sums_take_every_point() -> None:
    total = defined("y", (2,), equation((2, 4), load(X, [i, r]), "add", 1))
    assert taken_points(total, total.equations[0]).condition is TRUE
    start = defined("y", (2,), equation((2,), load(given("a", 2), [i]), "max"))
    assert taken_points(start, start.equations[0]).condition is TRUE


def masks(y: Tensor) -> list[Tensor]:
    taken, _ = cotangent_of_points(y, y.equations[0], Tensor("dy", y.shape, FLOAT64))
    return [t.attr for t in loads(taken) if t.attr.name.startswith("taken_")]


def test_what_is_compared_is_stored_where_that_is_no_more_than_what_is_read() -> None:
    assert [m.shape for m in masks(extremum("max", "even"))] == [(2, 4)]
    one = load(given("one", 1), [mul(i, index(0))])
    assert masks(extremum("max", "even", one)) != []  # 8 points, a byte each, and 8 bytes
    nine = replace(equation((1, 9), one, "max", 1), ties="even")
    assert masks(defined("y", (1,), nine, fill=float("-inf"))) == []


def test_the_cotangent_is_divided_once_per_result_if_there_are_fewer_results_than_points() -> None:
    y = extremum("max", "even")
    _, value = cotangent_of_points(y, y.equations[0], Tensor("dy", (2,), FLOAT64))
    assert value.op == "load"
    assert [t.name for t in topological([value.attr])][-1] == "dy_each"
    wide = defined("z", (9,), replace(y.equations[0]), fill=float("-inf"))
    _, value = cotangent_of_points(wide, wide.equations[0], Tensor("dz", (9,), FLOAT64))
    assert value.op == "div"
