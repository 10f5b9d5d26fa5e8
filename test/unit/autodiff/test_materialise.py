"""Factors that adjoints share are stored once, where that is worth it, and change no value."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from ted.autodiff.vjp import vjp
from ted.domain import sets
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, topological
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    add,
    apply,
    compare,
    const,
    dim,
    dims_used,
    div,
    index,
    load,
    mul,
    select,
    sub,
    weight,
)
from unit.autodiff.systems import defined, gradients
from unit.transforms.recurrences import before, equation, given, history

i, r = dim(0), dim(1)
ZERO = const(0.0, FLOAT64)


def adjoints(inputs: list[Tensor], output: Tensor) -> list[Tensor]:
    head = Tensor("head", output.shape, FLOAT64)
    found = vjp(System(tuple(inputs), (output,)), [head]).adjoints
    return [found[t] for t in inputs]


def shared(inputs: list[Tensor], output: Tensor) -> list[Tensor]:
    """The tensors that the gradient makes for factors."""
    roots = topological(adjoints(inputs, output))
    return [t for t in roots if "_shared_" in t.name]


def work(inputs: list[Tensor], output: Tensor) -> int:
    """The weight of all bodies of the gradient at one point, with additions."""
    new = [*shared(inputs, output), *adjoints(inputs, output)]
    additions = sum(max(0, len(t.equations) - 1) for t in adjoints(inputs, output))
    return additions + sum(weight(e.body) for t in new for e in t.equations)


def product(count: int) -> tuple[list[Tensor], Tensor]:
    xs = [given(f"x{k}", 3) for k in range(count)]
    body = reduce(mul, [load(x, [i]) for x in xs])
    return xs, defined("y", (3,), equation((3,), body))


@pytest.mark.parametrize("count", range(2, 10))
def test_the_gradient_of_a_long_product_is_right_and_costs_four_times_as_much(count: int) -> None:
    xs, y = product(count)
    rows = np.arange(2.0, 2.0 + 3 * count).reshape(count, 3)
    found = gradients(xs, y, [*rows], [1, 1, 1])
    expected = [np.prod(np.delete(rows, k, axis=0), axis=0).tolist() for k in range(count)]
    assert found == expected
    assert work(xs, y) <= 4 * weight(y.equations[0].body)
    assert bool(shared(xs, y)) == (count >= 4)


def test_two_reads_of_a_tensor_count_the_addition() -> None:
    x = given("x", 12)
    places = [add(mul(i, index(2)), index(k)) for k in range(3)]
    y = defined("y", (3,), equation((3,), reduce(mul, [load(x, [at]) for at in places])))
    assert work([x], y) <= 4 * weight(y.equations[0].body)
    values = np.arange(1.0, 13)
    expected = np.zeros(12)
    for p in range(3):
        for k in range(3):
            others = [values[2 * p + m] for m in range(3) if m != k]
            expected[2 * p + k] += np.prod(others)
    assert gradients([x], y, [values], [1, 1, 1]) == [expected.tolist()]


def test_a_factor_is_as_large_as_the_dims_that_it_depends_on() -> None:
    a, b = given("a", 4), given("b", 4, 3)
    dear = apply("exp", load(a, [i]))
    body = reduce(mul, [dear, dear, load(b, [i, r]), load(b, [i, r]), load(a, [i])])
    y = defined("y", (4, 3), equation((4, 3), apply("tanh", apply("sin", body))))
    found = shared([a, b], y)
    assert {t.shape for t in found} <= {(4,), (4, 3)}
    assert all(
        t.shape == (4,) for t in found if not any(1 in dims_used(e.body) for e in t.equations)
    )


def test_factors_of_a_sum_are_stored_only_if_they_do_not_change_along_it() -> None:
    xs = [given(f"x{k}", 3) for k in range(6)]
    w = given("w", 2)
    body = reduce(mul, [load(x, [i]) for x in xs])
    y = defined("y", (3,), equation((3, 2), apply("sin", mul(body, load(w, [r]))), "add", 1))
    found = shared([*xs, w], y)
    assert found
    assert all(t.shape == (3,) for t in found)
    rows = [[1.5, 2, 1], [0.5, 1, 1], [1, 0.25, 1], [1, 1, 0.5], [1, 2, 3], [1, 1, 1]]
    got = gradients([*xs, w], y, [*rows, [1, 2]], [1, 1, 1])
    p = np.prod(rows, axis=0)
    slope = np.cos(p) + 2 * np.cos(2 * p)
    for k, row in enumerate(rows):
        assert got[k] == pytest.approx((slope * p / row).tolist())
    assert got[6] == pytest.approx([(p * np.cos(p)).sum(), (p * np.cos(2 * p)).sum()])


def test_what_costs_just_four_times_as_much_stores_nothing_along_a_sum() -> None:
    x = given("x", 16)
    places = [i, add(mul(i, index(3)), mul(r, index(2)))]
    body = div(const(1.0, FLOAT64), reduce(add, [load(x, [at]) for at in places]))
    y = defined("y", (4,), equation((4, 4), body, "add", 1))
    assert not shared([x], y)
    assert work([x], y) + 1 == 4 * (weight(body) + 1)  # the second read of x is one addition more


def test_what_would_cost_more_stores_factors_along_a_sum_in_tensors_no_larger_than_others() -> None:
    at = add(mul(i, index(6)), r)
    x, y, z = load(given("x", 18), [at]), load(given("y", 3), [i]), load(given("z", 18), [at])
    rest = sub(z, mul(x, y))
    body = select(compare("lt", mul(x, y), rest), mul(mul(x, y), rest), rest)
    inputs = [x.attr, y.attr, z.attr]
    found = shared(inputs, defined("s", (3,), equation((3, 6), body, "add", 1)))
    assert {t.shape for t in found} == {(3, 6)}


def test_factors_in_a_step_belong_to_the_step() -> None:
    xs = [given(f"x{k}", 4) for k in range(5)]
    h = history("h", 4)
    past = select(compare("le", index(1), i), load(h, [before(i)]), const(1.0, FLOAT64))
    body = reduce(mul, [apply("sin", past), *(load(x, [i]) for x in xs)])
    h.equations = (equation((4,), body),)
    found = shared(xs, h)
    assert found
    assert all(t.shape == (4,) for t in found)
    rows = np.linspace(0.8, 1.3, 20).reshape(5, 4)

    def last(rows: np.ndarray) -> np.ndarray:
        states = [1.0]
        for t in range(4):
            states.append(np.sin(states[-1]) * np.prod(rows[:, t]))
        return np.array(states[1:])

    got = np.array(gradients(xs, h, [*rows], [0, 0, 0, 1]))
    step = 1e-6
    for k, t in ((0, 0), (2, 1), (4, 3), (3, 2)):
        moved = rows.copy()
        moved[k, t] += step
        back = rows.copy()
        back[k, t] -= step
        slope = (last(moved)[3] - last(back)[3]) / (2 * step)
        assert got[k, t] == pytest.approx(slope, rel=1e-6)


def test_each_factor_is_computed_only_where_some_adjoint_needs_it() -> None:
    xs = [given(f"x{k}", 5) for k in range(6)]
    inside = compare("lt", i, index(2))
    far = add(i, index(3))
    product_inside = reduce(mul, [load(x, [far]) for x in xs])
    y = defined("y", (5,), equation((5,), select(inside, product_inside, ZERO)))
    found = shared(xs, y)
    assert found
    for tensor in found:
        (definition,) = tensor.equations
        assert definition.domain.is_equal(sets.box((2,)).intersect(definition.domain))
    got = gradients(xs, y, [np.full(5, 2.0)] * 6, [1] * 5)
    assert got == [[0, 0, 0, 32, 32]] * 6


def test_an_adjoint_on_fewer_points_reads_the_factors_of_the_others() -> None:
    xs, z = [given(f"x{k}", 5) for k in range(6)], given("z", 3)
    guarded = select(compare("lt", i, index(3)), load(z, [i]), const(1.0, FLOAT64))
    body = reduce(mul, [*(load(x, [i]) for x in xs), guarded])
    *_, dz = adjoints([*xs, z], defined("y", (5,), equation((5,), body)))
    (summand,) = dz.equations
    assert weight(summand.body) <= 2


def test_choices_on_data_do_not_mix() -> None:
    xs = [given(f"x{k}", 2) for k in range(5)]
    reads: list[Expr] = [load(x, [i]) for x in xs]
    positive = compare("lt", ZERO, reads[0])
    long = reduce(mul, reads)
    y = defined("y", (2,), equation((2,), select(positive, long, apply("sin", long))))
    rows = [[1, -1], [2, 0.5], [3, 1], [4, 0.25], [5, 2]]
    got = gradients(xs, y, rows, [1, 1])
    p = np.prod(rows, axis=0)
    for k, row in enumerate(rows):
        assert got[k] == pytest.approx([p[0] / row[0], np.cos(p[1]) * p[1] / row[1]])
