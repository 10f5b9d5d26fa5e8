"""Recurrences as ops and back, and the groups that no step can compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ted.errors import VerifyError
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Equation, System, Tensor, components
from ted.ir.from_ops import from_module
from ted.ir.printing import format_system
from ted.ir.recurrences import spread_times, step_order
from ted.ir.scalar import add, cast, compare, const, index, load, select
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret
from unit.transforms.recurrences import (
    PROGRAMS,
    Recurrence,
    before,
    cholesky,
    cumsum,
    equation,
    given,
    history,
    i,
    j,
)

ZERO = const(0.0, FLOAT64)


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_a_round_trip_is_the_identity(make: Callable[[], Recurrence]) -> None:
    program = make()
    system = System(program.inputs, (program.output,))
    module = to_module(system)
    again = from_module(module)
    assert format_system(again).count("\n") == format_system(system).count("\n")
    assert str(to_module(again)) == str(module)


def test_a_step_computes_what_is_read_at_its_time_first() -> None:
    (group,) = [g for g in components([cholesky().output]) if len(g) > 1]
    assert [t.name for t in step_order(group[::-1])] == ["s", "d", "L"]


def test_a_recurrence_goes_on_from_a_given_tensor() -> None:
    x, c = given("x", 5), history("c", 5)
    c.fill = None
    past = select(compare("lt", index(0), i), load(c, [before(i)]), const(0.0, FLOAT64))
    c.equations = (
        equation((5,), load(x, [i])),
        equation((5,), add(past, const(1.0, FLOAT64)), "add"),
    )
    module = to_module(System((x,), (c,)))
    assert "tensor.empty" not in str(module)
    assert str(to_module(from_module(module))) == str(module)
    array = np.random.default_rng(0).standard_normal(5)
    (found,) = interpret(module, [array])
    np.testing.assert_allclose(found, np.cumsum(array + 1), rtol=1e-14)


def test_the_best_of_earlier_steps_is_found() -> None:
    """A step adds 1 where an earlier one exists, and each knows the best of the earlier."""
    n = 6
    x, c = given("x", n), history("c", n)
    best = Tensor("best", (n,), INT64, -1, time=0)
    best.equations = (equation((n, n), load(c, [j]), "argmax", 1, compare("lt", j, i)),)
    one = select(compare("le", const(0, INT64), load(best, [i])), const(1.0, FLOAT64), ZERO)
    c.equations = (equation((n,), add(one, load(x, [i]))),)
    module = to_module(System((x,), (c, best)))
    assert str(to_module(from_module(module))) == str(module)
    array = np.random.default_rng(1).standard_normal(n)
    values, positions = interpret(module, [array])
    np.testing.assert_array_equal(values, array + (np.arange(n) > 0))
    assert list(positions) == [-1, *(int(np.argmax(values[:t])) for t in range(1, n))]


# ------------------------------------------------------------------ what no step can compute


def refused(group: tuple[Tensor, ...], *inputs: Tensor) -> str:
    with pytest.raises(VerifyError) as caught:
        to_module(System(inputs, group))
    return str(caught.value)


def reading(target: Tensor, source: Tensor, at: Any) -> Equation:
    return equation(target.shape, load(source, [at]))


def test_tensors_that_wait_for_each_other_are_named() -> None:
    p, q = history("p", 5), history("q", 5)
    p.equations, q.equations = (reading(p, q, i),), (reading(q, p, i),)
    assert refused((p, q)).startswith("recurrence: a step reads what it or an earlier step has ")
    assert refused((p, q)).endswith("got q reads p reads q at the same time")


def test_a_tensor_that_waits_for_itself_is_named() -> None:
    (x,), c = cumsum().inputs, history("c", 5)
    c.equations = (equation((5,), add(load(x, [i]), load(c, [i]))),)
    assert "got c reads c at the same time" in refused((c,), x)


def test_a_recurrence_without_time_names_the_tensor() -> None:
    c = history("c", 5, time=None)
    c.equations = (reading(c, c, before(i)),)
    assert "got none for c[5] in c; make it a carry of a scan" in refused((c,))


def test_steps_and_directions_have_to_agree() -> None:
    p, q = history("p", 5), history("q", 5, reverse=True)
    p.equations, q.equations = (reading(p, q, before(i)),), (reading(q, p, before(i)),)
    assert "share steps and direction, got" in refused((p, q))
    assert "p: 5 forwards" in refused((p, q))
    assert "q: 5 in reverse" in refused((p, q))


def test_a_time_that_is_data_may_be_that_of_this_step() -> None:
    at, c = Tensor("at", (5,), INT64), history("c", 5)
    c.equations = (reading(c, c, cast(load(at, [i]), INDEX)),)
    assert "got c reads c at the same time" in refused((c,), at)


def test_a_time_that_is_data_and_written_is_refused() -> None:
    at, c = Tensor("at", (5,), INT64), history("c", 5)
    (made,) = (reading(c, c, before(i)),)
    c.equations = (replace(made, write=(cast(load(at, [i]), INDEX),), combiner="add"),)
    assert "times that are written are affine indices, got" in refused((c,), at)


def test_the_time_of_what_is_written_at_one_step_alone_is_that_step() -> None:
    h = history("h", 3, 4)
    step = equation((4,), load(h, [index(2), i]), write=(index(2), i))
    late = Tensor("late", (3, 4), FLOAT64, 0, (step,))
    h.equations = (equation((3, 4), load(late, [i, j])),)
    spread_times([h])
    assert late.time == 0
