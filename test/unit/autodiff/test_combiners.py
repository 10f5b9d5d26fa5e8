"""Chains of combiners as equations that the sweep can differentiate: values and gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ted
from ted.autodiff.combiners import expand_combiners
from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.ir.dtypes import FLOAT64, INT64
from ted.ir.equations import Equation, System, Tensor, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import add, compare, dim, floordiv, index, load, mul
from ted.ir.specialising import specialise
from unit.autodiff.systems import defined, gradients, tangent, values
from unit.transforms.recurrences import equation, given

i, r, s = dim(0), dim(1), dim(2)


def product(n: int, m: int, fill: float = 1.0) -> tuple[Tensor, Tensor]:
    """`y[i] = fill * x[i, 0] * ... * x[i, m - 1]`."""
    x = given("x", n, m)
    return x, defined("y", (n,), equation((n, m), load(x, [i, r]), "mul", 1), fill=fill)


def over(extents: tuple[Extent, ...], body: Expr) -> Equation:
    """The product over all of a box."""
    return Equation(extents, 0, parameters.box(extents), (), "mul", body)


def slopes(rows: list[list[float]]) -> list[list[float]]:
    """For each factor, the product of the others."""
    return [[float(np.prod(row[:k] + row[k + 1 :])) for k in range(len(row))] for row in rows]


@pytest.mark.parametrize(
    "row",
    [[], [7], [2, 3], [2, 0, 3], [0, 2, 0], [2, 3, 5, 7], [2, 0, 3, 5, 7], [2, 3, 5, 7, 11, 13]],
)
def test_the_slope_of_a_product_is_the_product_of_the_others(row: list[float]) -> None:
    rows = [[*row], [x + 1 for x in row]]
    x, y = product(2, len(row))
    system = expand_combiners(System((x,), (y,)))[0]
    assert values([x], system.outputs, [rows])[0].tolist() == np.prod(rows, axis=1).tolist()
    assert gradients([x], y, [rows], [1, 1]) == [slopes(rows)]


def test_the_sign_of_a_product_that_is_zero_is_kept() -> None:
    x, y = product(1, 2)
    (zero,) = values([x], expand_combiners(System((x,), (y,)))[0].outputs, [[[-1, 0]]])
    assert np.signbit(zero).all()


def test_what_is_multiplied_over_no_dim_is_a_map() -> None:
    x = given("x", 3)
    first = parameters.box((2,)).intersect(parameters.box((3,)))
    y = defined("y", (3,), replace(equation((3,), load(x, [i]), "mul"), domain=first), fill=1)
    system = expand_combiners(System((x,), (y,)))[0]
    assert [e.combiner for e in system.outputs[0].equations] == ["set"]
    assert topological(system.outputs) == [x, system.outputs[0]]  # no factors between
    assert values([x], system.outputs, [[5, 7, 9]])[0].tolist() == [5, 7, 1]
    assert gradients([x], y, [[5, 7, 9]], [1, 2, 3]) == [[1, 2, 0]]


def test_products_are_made_in_pairs() -> None:
    x, y = product(1, 16)
    (root,) = expand_combiners(System((x,), (y,)))[0].outputs
    assert len(topological([root])) == 7  # x, the factors, 8, 4, 2, 1 and the result


def test_a_product_onto_a_value_keeps_it() -> None:
    x, y = product(1, 3, fill=10.0)
    assert values([x], expand_combiners(System((x,), (y,)))[0].outputs, [[[2, 0, 3]]])[0] == 0
    assert gradients([x], y, [[[2, 0, 3]]], [1]) == [[[0, 60, 0]]]


def test_a_product_over_two_dims_has_all_factors() -> None:
    x = given("x", 2, 2, 3)
    y = defined("y", (2,), equation((2, 2, 3), load(x, [i, r, s]), "mul", 1), fill=1)
    rows = np.arange(1.0, 13.0).reshape(2, 6)
    (dx,) = gradients([x], y, [rows], [1, 1])
    assert np.reshape(dx, (2, 6)).tolist() == slopes(rows.tolist())


@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_a_product_over_a_symbolic_size_multiplies_as_many_factors(length: int) -> None:
    n = ted.size("n", min=0)
    x = Tensor("x", (n,), FLOAT64)
    y = defined("y", (), over((n,), load(x, [i])), fill=1)
    system = expand_combiners(System((x,), (y,)))[0]
    small = specialise(system, {"n": length})
    row = [2.0, 3.0, 5.0, 7.0][:length]
    assert values(small.inputs, small.outputs, [row])[0] == np.prod(row)


def test_a_product_over_two_symbolic_sizes_goes_row_by_row() -> None:
    n, m = ted.size("n"), ted.size("m")
    x = Tensor("x", (n, m), FLOAT64)
    y = defined("y", (), over((n, m), load(x, [i, r])), fill=1)
    system = expand_combiners(System((x,), (y,)))[0]
    small = specialise(system, {"n": 2, "m": 3})
    assert values(small.inputs, small.outputs, [[2, 3, 5, 7, 11, 13]])[0] == 30030


@pytest.mark.parametrize(
    ("combiner", "start", "rows", "expected"),
    [
        ("max", [3, 3], [[1, 5], [1, 2]], ([0, 2], [[0, 1], [0, 0]])),
        ("min", [3, 3], [[1, 5], [7, 4]], ([0, 2], [[1, 0], [0, 0]])),
        ("mul", [3, 5], [[2, 4], [0, 7]], ([8, 0], [[12, 6], [70, 0]])),
    ],
)
def test_a_reduction_onto_a_value_gives_it_its_share(
    combiner: str, start: list[float], rows: list[list[float]], expected: tuple[object, object]
) -> None:
    a, x = given("a", 2), given("x", 2, 2)
    first = equation((2,), load(a, [i]))
    y = defined("y", (2,), first, equation((2, 2), load(x, [i, r]), combiner, 1))
    assert gradients([a, x], y, [start, rows]) == [*expected]


def test_what_a_later_equation_overwrites_has_no_cotangent() -> None:
    a, b = given("a", 4), given("b", 4)
    y = defined(
        "y", (4,),
        equation((4,), mul(load(a, [i]), load(a, [i]))),
        equation((2,), mul(load(b, [i]), load(b, [i])), write=(add(i, index(1)),)),
    )  # fmt: skip
    assert gradients([a, b], y, [[1, 2, 3, 4], [5, 6, 7, 8]]) == [[2, 0, 0, 32], [20, 36, 0, 0]]
    assert tangent([a, b], y, [[1, 2, 3, 4], [5, 6, 7, 8]], [[1] * 4, [1] * 4]) == [2, 10, 12, 8]


def test_a_sum_that_is_overwritten_loses_exactly_those_elements() -> None:
    a, b = given("a", 3, 2), given("b", 3)
    y = defined(
        "y", (3,),
        equation((3, 2), load(a, [i, r]), "add", 1),
        equation((3,), load(b, [i]), where=compare("le", index(2), i)),
    )  # fmt: skip
    assert gradients([a, b], y, [np.ones((3, 2)), np.ones(3)]) == [
        [[1, 1], [2, 2], [0, 0]],
        [0, 0, 3],
    ]


def test_what_is_added_after_a_store_keeps_both() -> None:
    a, b = given("a", 3), given("b", 3)
    y = defined("y", (3,), equation((3,), load(a, [i])), equation((3,), load(b, [i]), "add"))
    assert gradients([a, b], y, [np.ones(3), np.ones(3)]) == [[1, 2, 3], [1, 2, 3]]


def test_what_is_overwritten_at_strided_places_goes_there_only() -> None:
    a, b = given("a", 4), given("b", 2)
    y = defined("y", (4,), equation((4,), load(a, [i])),
                equation((2,), load(b, [i]), write=(mul(i, index(2)),)))  # fmt: skip
    assert gradients([a, b], y, [np.ones(4), np.ones(2)]) == [[0, 2, 0, 4], [1, 3]]


def test_integers_and_single_stores_stay_as_they_are() -> None:
    x, n = given("x", 3), Tensor("n", (3,), INT64)
    y = defined("y", (3,), equation((3,), load(x, [floordiv(i, index(2))])))
    m = defined("m", (), equation((3,), load(n, [i]), "mul", 0), fill=1, dtype=INT64)
    system = System((x, n), (y, m))
    assert expand_combiners(system)[0].outputs == (y, m)
