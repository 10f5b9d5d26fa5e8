"""Tangents of tiny systems, with numbers that can be computed by hand."""

from __future__ import annotations

import math

import pytest

from ted.autodiff.jvp import jvp, push_body
from ted.autodiff.override import Override
from ted.errors import DerivativeError
from ted.ir.dtypes import FLOAT64, INT64
from ted.ir.equations import System, Tensor
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    load,
    loads,
    mul,
    select,
    sub,
)
from unit.autodiff.systems import defined, tangent, values
from unit.transforms.recurrences import cumprod, cumsum_from_the_end, equation, given

i, r = dim(0), dim(1)
ZERO = const(0.0, FLOAT64)
X, Y = given("x", 2), given("y", 2)
x, y = load(X, [i]), load(Y, [i])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (x, [10, 20]),
        (add(x, y), [110, 220]),
        (sub(x, y), [-90, -180]),
        (mul(x, y), [3 * 10 + 2 * 100, 5 * 20 - 4 * 200]),
        (mul(x, x), [40, -160]),
        (apply("exp", x), [math.exp(2) * 10, math.exp(-4) * 20]),
        (select(compare("lt", ZERO, x), x, y), [10, 200]),
        (select(compare("lt", ZERO, x), ZERO, mul(y, const(2.0, FLOAT64))), [0, 400]),
        (apply("maximum", x, y), [100, 200]),
        (mul(apply("stop_gradient", x), y), [2 * 100, -4 * 200]),
    ],
)  # fmt: skip
def test_the_tangent_of_a_body(body: object, expected: list[float]) -> None:
    z = defined("z", (2,), equation((2,), body))
    found = tangent([X, Y], z, [[2, -4], [3, 5]], [[10, 20], [100, 200]])
    assert found == pytest.approx(expected)


def test_what_does_not_move_has_no_tangent() -> None:
    x_dot = Tensor("x_dot", (2,), FLOAT64)
    assert push_body(y, {X: x_dot}) is None
    assert push_body(apply("floor", x), {X: x_dot}) is None
    assert push_body(cast(compare("lt", x, y), FLOAT64), {X: x_dot}) is None
    assert push_body(add(y, x), {X: x_dot}) == load(x_dot, [i])
    n = given("n", 2)
    n.dtype = INT64
    z = defined("z", (2,), equation((2,), cast(load(n, [i]), FLOAT64)))
    assert tangent([n], z, [[1, 2]], [[1, 1]]) is None


def test_sums_of_products_move_with_both_factors() -> None:
    a, b = given("a", 2, 2), given("b", 2)
    z = defined("z", (2,), equation((2, 2), mul(load(a, [i, r]), load(b, [r])), "add", 1))
    found = tangent([a, b], z, [[[1, 2], [3, 4]], [5, 6]], [[[1, 0], [0, 1]], [1, 10]])
    assert found == [5 + 21, 6 + 43]


def test_a_store_that_does_not_move_clears_the_tangent_of_what_it_replaces() -> None:
    z = defined("z", (2,), equation((2,), x),
                equation((1,), const(9.0, FLOAT64), write=(add(i, index(1)),)))  # fmt: skip
    assert tangent([X], z, [[2, 4]], [[10, 20]]) == [10, 0]


def test_a_store_before_anything_moves_is_left_out() -> None:
    z = defined("z", (2,), equation((2,), const(9.0, FLOAT64)), equation((2,), x, "add"))
    x_dot = Tensor("x_dot", (2,), FLOAT64)
    (pushed,) = jvp(System((X,), (z,)), [x_dot])[z].equations
    assert (pushed.combiner, pushed.body) == ("add", load(x_dot, [i]))


def test_the_stored_result_is_read_instead_of_computed_again() -> None:
    z = defined("z", (2,), equation((2,), apply("exp", x)))
    (pushed,) = jvp(System((X,), (z,)), [Tensor("x_dot", (2,), FLOAT64)])[z].equations
    assert z in [read.attr for read in loads(pushed.body)]
    assert X not in [read.attr for read in loads(pushed.body)]
    twice = defined("z", (2,), equation((2,), apply("exp", x)), equation((2,), x, "add"))
    pushed, _ = jvp(System((X,), (twice,)), [Tensor("x_dot", (2,), FLOAT64)])[twice].equations
    assert twice not in [read.attr for read in loads(pushed.body)]


def test_tangents_of_recurrences_are_recurrences() -> None:
    program = cumprod(4)
    assert tangent(program.inputs, program.output, [[2, 3, 5, 7]], [[1, 0, 0, 1]]) == [
        1, 3, 15, 15 * 7 + 30,
    ]  # fmt: skip
    program = cumsum_from_the_end(3)
    assert tangent(program.inputs, program.output, [[1, 2, 3]], [[1, 10, 100]]) == [111, 110, 100]


def test_products_of_whole_tensors_have_no_rule_of_their_own() -> None:
    z = defined("z", (), equation((2,), x, "mul", 0), fill=1)
    with pytest.raises(DerivativeError, match=r"z: a combiner in .*, got mul"):
        jvp(System((X,), (z,)), [Tensor("x_dot", (2,), FLOAT64)])


def test_an_override_says_what_the_tangent_is() -> None:
    z = defined("z", (2,), equation((2,), mul(x, x)))
    override = Override((X,), lambda tensor, head: [head])
    x_dot = Tensor("x_dot", (2,), FLOAT64)
    asked = []

    def transpose(tensor: Tensor, given: Override, known: object) -> Tensor:
        asked.append((tensor, given, known))
        return defined("seven", (2,), equation((2,), mul(const(7.0, FLOAT64), load(x_dot, [i]))))

    found = jvp(System((X,), (z,)), [x_dot], {z: override}, transpose)[z]
    assert asked == [(z, override, [x_dot])]
    assert values([X, x_dot], [found], [[2, 3], [1, 10]])[0].tolist() == [7, 70]
    assert z not in jvp(System((X,), (z,)), [x_dot], {z: override}, lambda *_: None)
