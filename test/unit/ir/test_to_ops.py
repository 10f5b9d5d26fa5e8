"""From equations to ops and back: what must stand in the ops, and the same values from both."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ted
from ted.dialects import session
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import System, Tensor
from ted.ir.expressions import Expr
from ted.ir.from_ops import from_module
from ted.ir.scalar import (
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    floordiv,
    index,
    land,
    load,
    lor,
    mod,
    mul,
    select,
    sub,
    unchecked,
)
from ted.ir.to_ops import system_to_module
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import cumsum, equation, given

i, j = dim(0), dim(1)


X = given("x", 6)


N = Tensor("n", (6,), INT64)


x, at = load(X, [i]), cast(load(N, [i]), INDEX)


ZERO = const(0.0, FLOAT64)


NUMBERS = [np.array([1.5, -2, 3, 0, 5, -6]), np.array([0, 5, 2, -1, 1, 3])]


def text_of(*outputs: Tensor) -> str:
    with session():
        return str(system_to_module(System((X, N), outputs)))


def again(*outputs: Tensor) -> tuple[Tensor, ...]:
    """The outputs, read back from their ops; they must have the same values."""
    with session():
        back = from_module(system_to_module(System((X, N), outputs)))
    old = values([X, N], outputs, NUMBERS)
    for one, other in zip(old, values(back.inputs, back.outputs, NUMBERS), strict=True):
        np.testing.assert_array_equal(one, other)
    return back.outputs


def pointwise(body: Expr, *rest: object) -> Tensor:
    return defined("y", (6,), equation((6,), body), *rest)


def test_an_equation_without_points_stays_one() -> None:
    never = equation((6,), x, "add", where=compare("lt", i, index(0)))
    (root,) = again(pointwise(x, never))
    assert len(root.equations) == 2
    assert root.equations[1].domain.is_empty()


def test_a_domain_of_several_boxes_is_several_ops() -> None:
    ends = lor(compare("lt", i, index(2)), compare("lt", index(3), i))
    y = defined("y", (6,), equation((6,), x, "add", where=ends))
    assert text_of(y).count('"ted.compute"') == 2
    again(y)


@pytest.mark.parametrize(
    "body",
    [
        select(compare("lt", index(0), i), load(X, [sub(i, index(1))]), ZERO),
        select(compare("lt", index(0), i), load(X, [sub(i, index(1))]), const(7.0, FLOAT64)),
        select(compare("lt", index(0), i), load(X, [sub(i, index(1))]), const(-0.0, FLOAT64)),
        select(lor(compare("lt", i, index(2)), compare("eq", i, index(4))), x, ZERO),
        load(X, [apply("minimum", add(i, index(1)), index(5))]),
        load(X, [mod(add(i, index(4)), index(6))]), load(X, [floordiv(i, index(2))]),
        select(land(compare("le", index(0), at), compare("lt", at, index(6))), load(X, [at]), ZERO),
        load(X, [unchecked(apply("maximum", at, index(0)))]),
        load(X, [apply("minimum", apply("maximum", at, index(0)), index(5))]),
        cast(mul(i, index(3)), FLOAT64), cast(compare("lt", ZERO, x), FLOAT64),
        apply("stop_gradient", mul(x, x)), select(compare("lt", ZERO, x), apply("sqrt", x), x),
        apply("fmod", x, const(2.0, FLOAT64)), apply("round", apply("exp", x)),
        cast(apply("mod", load(N, [i]), const(3, INT64)), FLOAT64),
        cast(apply("floordiv", load(N, [i]), const(-2, INT64)), FLOAT64),
        cast(apply("bitxor", load(N, [i]), const(5, INT64)), FLOAT64),
        const(math.inf, FLOAT64), apply("maximum", apply("abs", x), cast(i, FLOAT64)),
    ],
    ids=repr,
)  # fmt: skip
def test_bodies_survive(body: Expr) -> None:
    (root,) = again(pointwise(body))
    assert len(root.equations) == 1


def test_a_guard_takes_the_place_of_its_choice() -> None:
    shifted = load(X, [sub(i, index(1))])
    guarded = text_of(pointwise(select(compare("lt", index(0), i), shifted, ZERO)))
    assert "arith.select" not in guarded
    other = text_of(pointwise(select(compare("lt", index(0), i), shifted, const(7.0, FLOAT64))))
    assert "arith.select" in other


@pytest.mark.parametrize("combiner", ["add", "mul", "max", "min", "set"])
def test_chains_survive(combiner: str) -> None:
    second = equation((5,), mul(x, x), combiner, write=(add(i, index(1)),))
    (root,) = again(pointwise(x, second))
    assert [e.combiner for e in root.equations] == ["set", combiner]


@pytest.mark.parametrize("combiner", ["add", "mul", "max", "min"])
def test_reductions_onto_a_fill_survive(combiner: str) -> None:
    body = mul(load(X, [i]), load(X, [j]))
    y = defined("y", (6,), equation((6, 6), body, combiner, 1, compare("le", j, i)), fill=2.5)
    (root,) = again(y)
    assert root.fill == 2.5


def test_a_search_gives_its_index() -> None:
    body = mul(load(X, [i]), load(X, [j]))
    search = equation((6, 6), body, "argmin", 1)
    arg = Tensor("arg", (6,), INT64, -1, (search,))
    least = defined("least", (6,), equation((6, 6), body, "min", 1), fill=math.inf)
    assert text_of(least, arg).count('"ted.compute"') == 1
    again(least, arg)
    again(arg)


def test_recurrences_survive() -> None:
    program = cumsum(4)
    with session():
        back = from_module(system_to_module(System(program.inputs, (program.output,))))
    (found,) = values(back.inputs, back.outputs, [[1, 2, 3, 4]])
    assert found.tolist() == [1, 3, 6, 10]
    assert back.outputs[0].time == 0


def test_writes_at_data_survive() -> None:
    inside = apply("minimum", apply("maximum", at, index(0)), index(5))
    scatter = equation((6,), x, "add", 0, write=(inside,))
    (root,) = again(pointwise(x, scatter))
    assert root.equations[1].is_scatter


def test_many_histories_stand_by_their_types() -> None:
    def step(x, _):
        for k in range(80):
            x = ted.stack([x, x * k]) if k % 2 == 0 else x[0]
        return x, None

    x, _ = ted.scan(step, ted.placeholder((3,), "float64", name="x"), length=2)
    assert ted.module([x]).operation.verify()
