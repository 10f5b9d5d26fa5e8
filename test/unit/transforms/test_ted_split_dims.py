"""Dims split by the constants that divide them: the same points, no division left, good names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.ir.dtypes import INT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import add, compare, dim, floordiv, index, load, mod, mul, sub
from ted.transforms.ted_split_dims import split_dims
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i, j = dim(0), dim(1)
X = given("x", 40)


def split(one: Equation, shape: tuple[int, ...], fill: float = 0) -> tuple[Tensor, Equation]:
    """The equation after splitting, which must keep every value."""
    before = defined("y", shape, one, fill=fill)
    (after,) = split_dims(System((X,), (before,)))[0].outputs
    numbers = [[float((7 * k) % 11) for k in range(40)]]
    old, new = values([X], [before, after], numbers)
    assert old.tolist() == new.tolist()
    (found,) = after.equations
    return after, found


def divisions(one: Equation) -> list[Expr]:
    return [n for n in postorder(one.body, *one.write) if n.op in ("floordiv", "mod")]


@pytest.mark.parametrize(
    ("body", "extents"),
    [
        (lambda: load(X, [floordiv(i, index(3))]), (4, 3)),
        (lambda: load(X, [mod(i, index(4))]), (3, 4)),
        (lambda: load(X, [add(mul(floordiv(i, index(4)), index(4)), mod(i, index(4)))]), (3, 4)),
        (lambda: load(X, [floordiv(add(i, index(6)), index(3))]), (4, 3)),
    ],
)
def test_a_divided_dim_becomes_two(body: object, extents: tuple[int, ...]) -> None:
    one = replace(equation((12,), body()), dim_names=("p",))  # type: ignore[operator]
    _, found = split(one, (12,))
    assert found.extents == extents
    assert found.parallel == 2
    assert divisions(found) == []
    assert found.dim_names == ("p_outer", "p_inner")


def test_dims_that_do_not_fill_the_last_group_leave_points_out() -> None:
    _, found = split(equation((11,), load(X, [floordiv(i, index(3))])), (11,))
    assert found.extents == (4, 3)
    assert found.domain.count_val().to_python() == 11


def test_a_later_dim_is_split_where_it_stands() -> None:
    body = load(X, [add(mul(i, index(10)), floordiv(j, index(2)))])
    one = replace(equation((2, 8), body, "add", 1), dim_names=("p", "r"))
    _, found = split(one, (2,))
    assert (found.extents, found.parallel) == ((2, 4, 2), 1)
    assert found.dim_names == ("p", "r_outer", "r_inner")
    assert split(replace(one, dim_names=()), (2,))[1].dim_names == ()


@pytest.mark.parametrize(
    "one",
    [
        equation((3,), load(X, [floordiv(i, index(3))])),  # one group
        equation((12,), load(X, [floordiv(mul(i, index(2)), index(3))])),
        equation((12,), load(X, [floordiv(add(i, index(1)), index(3))])),
        equation((6, 6), load(X, [floordiv(add(i, j), index(3))]), "add", 1),
        equation((12,), load(X, [sub(index(12), i)])),
    ],
)
def test_what_no_dim_alone_decides_stays(one: Equation) -> None:
    assert split(one, (12,))[1] is one


def test_numbered_reduction_dims_stay_whole() -> None:
    one = equation((2, 12), load(X, [floordiv(j, index(3))]), "argmax", 1)

    y = Tensor("y", (2,), INT64, -1, (one,))
    assert split_dims(System((X,), (y,)))[0].outputs == (y,)
    lower = equation((12,), load(X, [floordiv(i, index(3))]), where=compare("le", index(2), i))
    _, found = split(lower, (12,))
    assert found.domain.count_val().to_python() == 10
