"""Domains that leave out zeros only, and those that leave out more."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from support.same_values import check_same_values
from ted.domain import sets
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, const, dim, index, load, mul, neg, sub
from ted.transforms.wider_domains import widen_domains

i, j = dim(0), dim(1)
X = Tensor("x", (6, 6), FLOAT64)
TWO = const(2.0, FLOAT64)


def limit(a: int, b: int, c: int) -> Any:
    """The points with a*i + b*j + c >= 0."""
    return sets.linear(2, [a, b], c).ge_set(sets.constant_aff(2, 0))


CORNER = sets.box((6, 6)).intersect(limit(1, 1, -2))


def on(
    domain: Any, body: Expr, combiner: str = "set", write: tuple[Expr, ...] = (i, j)
) -> Equation:
    return Equation((6, 6), 2, domain, write, combiner, body)


def tensor(*equations: Equation, name: str = "t", fill: float | None = 0) -> Tensor:
    return Tensor(name, (6, 6), FLOAT64, fill, equations)


def widened(result: Tensor) -> list[bool]:
    """Which equations of a tensor are over their boxes, after a comparison of values."""
    system = System((X,), (result,))
    after = widen_domains(system)
    check_same_values(system, after)
    return [e.is_box for e in after.outputs[0].equations]


S = tensor(on(CORNER, load(X, (i, j))), name="s")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (load(S, (i, j)), True), (neg(load(S, (i, j))), True), (mul(TWO, load(S, (i, j))), True),
        (sub(load(S, (i, j)), load(S, (j, i))), True), (load(X, (i, j)), False),
        (mul(load(S, (i, j)), load(X, (i, j))), False), (add(load(S, (i, j)), TWO), False),
        (add(load(S, (i, j)), load(X, (i, j))), False), (apply("exp", load(S, (i, j))), False),
        (mul(load(S, (i, j)), const(np.inf, FLOAT64)), False),
        (load(S, (sub(index(5), i), j)), False), (TWO, False),
    ],
)  # fmt: skip
def test_a_sum_of_reads_that_are_zero_in_the_rest_is_over_the_box(
    body: Expr, expected: bool
) -> None:
    assert widened(tensor(on(CORNER, body))) == [expected]


def test_the_rest_must_be_inside_of_what_is_read_and_written() -> None:
    inside = CORNER.intersect(limit(-1, -1, 9))
    shifted = load(S, (add(i, index(1)), j))
    assert widened(tensor(on(inside.intersect(limit(-1, 0, 4)), shifted))) == [False]
    small = Tensor(
        "t", (5, 6), FLOAT64, 0, (on(CORNER.intersect(limit(-1, 0, 4)), load(S, (i, j))),)
    )
    assert widened(small) == [False]


def test_what_starts_from_another_number_has_no_zeros() -> None:
    other = tensor(on(CORNER, load(X, (i, j))), name="s", fill=3)
    assert widened(tensor(on(CORNER, load(other, (i, j))))) == [False]
    assert widened(tensor(on(CORNER, load(S, (i, j))), fill=3)) == [False]


def test_a_store_over_what_is_there_stays_where_it_is() -> None:
    before = on(sets.bounding_box([(0, 0), (0, 0)]), load(X, (i, j)))
    copy = load(S, (i, j))
    assert widened(tensor(before, on(CORNER, copy))) == [False, False]
    assert widened(tensor(before, on(CORNER, copy, "add"))) == [False, True]
    assert widened(tensor(on(CORNER, copy), before)) == [True, False]


def test_points_that_write_an_element_twice_stay_out() -> None:
    first_column = sets.box((6, 6)).intersect(limit(0, -1, 0))
    column = tensor(on(first_column, load(X, (i, j))), name="s")
    copied = on(first_column, load(column, (i, j)), write=(i, index(0)))
    assert widened(tensor(copied)) == [False]


def test_zeros_are_known_through_several_tensors() -> None:
    copy = tensor(on(CORNER, neg(load(S, (i, j)))), name="a")
    again = tensor(on(CORNER, load(copy, (i, j))), name="b")
    assert widened(tensor(on(CORNER, add(load(copy, (i, j)), load(again, (i, j)))))) == [True]


@pytest.mark.parametrize("seed", range(40))
def test_random_chains_keep_their_values(seed: int) -> None:
    draw = random.Random(seed)
    known = [X, S]
    for number in range(4):
        reads = [
            load(draw.choice(known), [add(at, index(draw.choice([0, 0, 1]))) for at in (i, j)])
            for _ in range(draw.randint(1, 2))
        ]
        body = reads[0] if len(reads) == 1 else draw.choice([add, sub, mul])(*reads)
        domain = sets.bounding_box([(0, 4), (0, 4)])
        for _ in range(draw.randint(0, 2)):
            a, b = draw.choice([(1, 1), (-1, -1), (1, -1), (-1, 1)])
            domain = domain.intersect(limit(a, b, draw.randint(-2, 6)))
        equation = Equation((5, 5), 2, domain, (i, j), draw.choice(["set", "add"]), body)
        known.append(tensor(equation, name=f"t{number}", fill=draw.choice([0, 0, 0, 1])))
    widened(known[-1])
