"""Sums of second derivatives of tiny systems, with numbers that can be computed by hand."""

from __future__ import annotations

import pytest

from ted.autodiff.curvature import Directions
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, Tensor
from ted.ir.scalar import add, apply, compare, const, dim, load, mul, select
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i, r = dim(0), dim(1)
ZERO = const(0.0, FLOAT64)
X, Y = given("x", 2), given("y", 2)
X_DOT, Y_DOT = given("x_dot", 2), given("y_dot", 2)
WIDE = {X_DOT: given("x_dots", 3, 2), Y_DOT: given("y_dots", 3, 2)}
DIRECTIONS = Directions({X: X_DOT, Y: Y_DOT}, WIDE, (3,))
x, y = load(X, [i]), load(Y, [i])
AT = [[2.0, -4.0], [3.0, 5.0]]
ALONG = [[[1, 2], [0, 3], [2, 1]], [[5, 1], [1, 1], [0, 2]]]  # squares of x: 5 and 14


def curvature(tensor: Tensor, part: Equation | None = None) -> Equation | None:
    return DIRECTIONS.curvature(tensor, part or tensor.equations[0])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (mul(x, x), [2 * 5, 2 * 14]),
        (mul(x, y), [2 * (5 + 0 + 0), 2 * (2 + 3 + 2)]),
        (mul(x, mul(x, x)), [6 * 2 * 5, 6 * -4 * 14]),
        (select(compare("lt", ZERO, x), mul(x, x), ZERO), [10, 0]),
        (apply("sqrt", mul(y, y)), [0, 0]),
    ],
)
def test_second_derivatives_are_summed_over_directions(body: object, expected: list[float]) -> None:
    z = defined("z", (2,), equation((2,), body))
    found = curvature(z)
    assert found is not None
    assert (found.extents, found.parallel, found.combiner) == ((2, 3), 1, "add")
    total = defined("z_lap", (2,), found)
    got = values([X, Y, *WIDE.values()], [total], [*AT, *ALONG])[0]
    assert got.tolist() == pytest.approx(expected)


def test_what_is_linear_or_still_adds_nothing() -> None:
    still = given("s", 2)
    for body in (add(x, y), mul(x, const(3.0, FLOAT64)), mul(x, load(still, [i])),
                 apply("exp", load(still, [i])), mul(apply("floor", x), y)):  # fmt: skip
        assert curvature(defined("z", (2,), equation((2,), body))) is None


def test_an_extremum_curves_where_it_is_taken() -> None:
    body = mul(load(X, [r]), load(X, [r]))
    z = defined("z", (1,), equation((1, 2), body, "max", 1))
    found = curvature(z)
    assert found is not None
    assert found.combiner == "add"
    total = defined("z_lap", (1,), found)
    assert values([X, *WIDE.values()], [total], [AT[0], *ALONG])[0].tolist() == [28]


def test_a_stored_value_is_read() -> None:
    z = defined("z", (2,), equation((2,), apply("exp", x)))
    found = curvature(z)
    assert found is not None
    assert {read.attr for read in found.reads} == {z, WIDE[X_DOT]}
