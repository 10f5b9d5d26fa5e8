"""Indices that depend on data: every value that they can have, and no other."""

from __future__ import annotations

import itertools

import pytest

from ted.domain import sets
from ted.ir import unknowns
from ted.ir.dtypes import FLOAT64, INDEX, INT8, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    floordiv,
    index,
    land,
    lnot,
    load,
    lor,
    mod,
    mul,
    neg,
    select,
    sub,
    unchecked,
)
from ted.ir.unknowns import is_inside, value_where
from unit.domain.random_maps import enumerate_set
from unit.ir.scalar_values import value

t = dim(0)
N = Tensor("n", (3,), INT64)
n = load(N, [t])
at = cast(n, INDEX)
DATA = range(-9, 10)
BOUND = 4


def possible(e: Expr, condition: Expr) -> set[tuple[int, int]]:
    """Time and value, for every number that the data can be."""
    found = set()
    for now, datum in itertools.product(range(3), DATA):

        def data(tensor: Tensor, _: object, datum: int = datum) -> int:
            return datum

        if value(condition, (now,), data):
            found.add((now, value(e, (now,), data)))
    return {(now, v) for now, v in found if abs(v) <= BOUND}


CLIPPED = apply("minimum", apply("maximum", at, index(0)), index(3))
SMALL = land(compare("le", const(0, INT64), n), compare("lt", n, const(3, INT64)))


@pytest.mark.parametrize(
    ("e", "condition"),
    [
        (at, TRUE), (at, SMALL), (CLIPPED, TRUE), (add(CLIPPED, t), TRUE), (sub(at, t), SMALL),
        (neg(at), SMALL), (apply("abs", at), TRUE), (mul(at, index(2)), SMALL),
        (mul(index(-1), at), SMALL), (floordiv(at, index(2)), SMALL), (mod(at, index(3)), TRUE),
        (select(compare("lt", n, const(0, INT64)), index(0), at), TRUE), (unchecked(at), SMALL),
        (at, compare("eq", at, t)), (at, lnot(SMALL)), (at, compare("ne", at, t)),
        (at, lor(compare("lt", at, index(-2)), compare("le", index(3), at))),
        (apply("minimum", at, t), SMALL), (sub(at, at), TRUE), (t, compare("le", at, t)),
        (cast(floordiv(n, const(-2, INT64)), INDEX), SMALL),
        (cast(mod(n, const(-2, INT64)), INDEX), TRUE),
        (index(2), TRUE), (cast(apply("maximum", n, const(1, INT64)), INDEX), SMALL),
    ],
)  # fmt: skip
def test_every_value_of_the_data_is_there_and_no_other(e: Expr, condition: Expr) -> None:
    found = value_where(e, condition, sets.box((3,)))
    near = sets.within(found, 1, -BOUND, BOUND)
    assert set(enumerate_set(near)) == possible(e, condition)


def test_what_may_wrap_or_truncate_is_unknown() -> None:
    for e in (
        cast(add(n, const(1, INT64)), INDEX),
        cast(cast(load(Tensor("x", (3,), FLOAT64), [t]), INT64), INDEX), mul(at, at),
    ):  # fmt: skip
        found = value_where(e, compare("eq", at, index(0)), sets.box((3,)))
        assert sets.dim_range(found, 1) is None
    found = value_where(cast(cast(n, INT8), INDEX), TRUE, sets.box((3,)))
    assert sets.dim_range(found, 1) == (-128, 127)


def test_an_index_is_inside_by_what_is_computed_or_asked_before() -> None:
    column = Tensor("small", (3,), INT8)
    small = load(column, [t])
    shifted = cast(add(cast(small, INT64), const(128, INT64)), INDEX)
    box = sets.box((3,))
    assert is_inside(shifted, 256, TRUE, box)
    assert not is_inside(shifted, 255, TRUE, box)
    assert is_inside(mod(at, index(3)), 3, TRUE, box)
    assert is_inside(at, 3, land(compare("le", index(0), at), compare("lt", at, index(3))), box)
    assert not is_inside(at, 3, compare("lt", at, index(3)), box)
    assert is_inside(add(t, index(1)), 4, TRUE, box)
    assert not is_inside(add(t, index(1)), 3, TRUE, box)


def test_a_question_about_another_tensor_is_the_same_and_keeps_none() -> None:
    def ask(condition: Expr = TRUE) -> bool:
        at = load(Tensor("at", (3,), INT8), [t])
        return is_inside(apply("minimum", at, const(2, INT8)), 200, condition, sets.box([3]))

    assert ask() is ask() is False
    before = unknowns._known.cache_info()
    ask()
    assert unknowns._known.cache_info().hits == before.hits + 1
    positive = compare("lt", const(0.0, FLOAT64), load(Tensor("x", (3,), FLOAT64), [t]))
    ask(positive)
    assert unknowns._known.cache_info().currsize == before.currsize
