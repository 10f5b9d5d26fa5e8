"""Overrides and single steps of one call of differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ted
from ted.api.user_derivatives import adjoint_product
from ted.errors import DerivativeError
from ted.frontend.trees import flatten
from ted.testing.tracing import interpreted

X = ted.placeholder((2,), "float64", name="x")


Y = ted.placeholder((2,), "float64", name="y")


POINT = [np.array([2.0, 3.0]), np.array([5.0, 7.0])]


P = X * Y


S = ted.sum(P * X)


def run(*tensors: Any) -> list[list[float]]:
    return [r.tolist() for r in interpreted([X, Y], tensors)(*POINT)]


def test_an_override_stands_for_what_lies_between() -> None:
    table = {P: ([X, Y], lambda tensor, deps, head: [head * 100.0, None])}
    dx, dy = ted.differentiate(S, [X, Y], override=table)
    assert run(dx, dy) == [[2 * 100 + 10, 3 * 100 + 21], [0, 0]]
    alone = {P: (X, lambda tensor, deps, head: head * 10.0 + deps[0] * 0.0)}
    x = ted.differentiate(ted.sum(P), [X], override=alone)
    assert run(x[0]) == [[10, 10]]
    pair: Any = {P: ((X, Y), lambda tensor, deps, head: (head * 100.0, None))}
    assert run(*ted.differentiate(S, [X, Y], override=pair)) == run(dx, dy)


def test_single_steps_differentiate_one_operand_alone() -> None:
    assert run(adjoint_product(P, X, Y)) == [[25, 49]]
    squared = P * X
    assert run(adjoint_product(squared, P, Y)) == [[10, 21]]
    asked = []

    def step(out: Any, inp: Any, head: Any) -> Any:
        asked.append((out.name, inp.name))
        return adjoint_product(out, inp, head)

    dx, dy = ted.differentiate(S, [X, Y], fdiff=step)
    assert run(dx, dy) == [[20, 42], [4, 9]]
    assert len(asked) >= 3


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({3: ([X], lambda *a: a)}, "override has the form"),
        ({P: ([3], lambda *a: a)}, "dependencies are float tensors that it is computed from"),
        ({P: [[X], lambda *a: a]}, "override has the form"),
        ({P: ([X], lambda *a: a, 1)}, "override has the form"),
    ],
)
def test_entries_of_another_form_are_refused(table: Any, message: str) -> None:
    with pytest.raises(DerivativeError, match=message):
        ted.differentiate(S, [X], override=table)


def test_integers_on_the_way_are_no_steps() -> None:
    whole = ted.cast(ted.cast(X * 2.0, "int64"), "float64")
    asked = []

    def step(out: Any, inp: Any, head: Any) -> Any:
        asked.append(out.dtype.name)
        return adjoint_product(out, inp, head)

    (dx,) = ted.differentiate(ted.sum(whole * X), [X], fdiff=step)
    assert run(dx) == [[4, 6]]
    assert set(asked) == {"float64"}


def stepped(out: Any, inp: Any, head: Any) -> Any:
    return adjoint_product(out, inp, head)


def two_carries(carry: Any, x: Any) -> Any:
    a, b = carry
    return (ted.sin(a) * b + x, ted.cos(b * x) - a), a * b * x


RECURRENCES: dict[str, Any] = {
    "product": ted.sum(ted.cumprod(X * Y, 0) ** 2),
    "sum of a sum": ted.sum(ted.cumsum(ted.cumsum(X, 0) * Y, 0) * X),
    "scan": ted.scan(lambda h, x: (ted.sin(h) * x, h * h), X[0], Y),
    "two carries": ted.scan(two_carries, (X[0], X[1]), Y),
    "two of them": ted.cumprod(ted.exp(ted.cumsum(Y, 0)) * X, 0),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", RECURRENCES)
def test_single_steps_of_a_recurrence_make_up_its_gradient(name: str) -> None:
    total = sum((ted.sum(t * t) for _, t in flatten(RECURRENCES[name])[0]), start=ted.sum(P))
    expected = run(*ted.differentiate(total, [X, Y]))
    found = run(*ted.differentiate(total, [X, Y], fdiff=stepped))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_step_sees_operands_of_floats_that_are_not_the_tensor_itself() -> None:
    asked = []

    def step(out: Any, inp: Any, head: Any) -> Any:
        asked.append((out.node, inp.node))
        return adjoint_product(out, inp, head)

    n = ted.placeholder((2,), "int64", name="n")
    ted.differentiate(ted.sum(ted.cumprod(ted.take(X, n, 0), 0)), [X], fdiff=step)
    assert asked
    assert all(inp.dtype.is_float and inp is not out for out, inp in asked)
