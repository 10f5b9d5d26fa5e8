"""Adjoints of reads inside a recurrence, at times that are data too."""

from __future__ import annotations

import numpy as np
import pytest

from ted.autodiff.steps import in_steps, settle_recurrences, written_at_data
from ted.errors import DerivativeError
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Tensor
from ted.ir.scalar import add, cast, compare, const, dim, index, land, load, mul, select
from unit.autodiff.systems import gradients, values
from unit.domain.random_maps import enumerate_set
from unit.transforms.recurrences import before, equation, given, history

t = dim(0)
ZERO = const(0.0, FLOAT64)


def looking_back(steps: int = 5, reverse: bool = False) -> tuple[list[Tensor], Tensor]:
    """`h[t] = x[t] + w[t] * h[n[t]]` where n[t] is an earlier time, else `x[t]`."""
    x, w, n = given("x", steps), given("w", steps), Tensor("n", (steps,), INT64)
    h = history("h", steps, reverse=reverse)
    when = cast(load(n, [t]), INDEX)
    earlier = compare("lt", t, when) if reverse else compare("lt", when, t)
    inside = land(compare("le", index(0), when), compare("lt", when, index(steps)))
    past = select(land(inside, earlier), load(h, [when]), ZERO)
    h.equations = (equation((steps,), add(load(x, [t]), mul(load(w, [t]), past))),)
    return [x, w, n], h


@pytest.mark.parametrize(("reverse", "times"), [(False, [9, 0, 0, 2, 1]), (True, [3, 3, 4, 4, 9])])
def test_gradients_of_reads_at_earlier_times_that_are_data(reverse: bool, times: list[int]) -> None:
    inputs, h = looking_back(reverse=reverse)
    w, head = [2.0, 3, 5, 7, 11], np.array([1.0, 10, 100, 1000, 10000])
    matrix = np.zeros((5, 5))  # h = x + M h
    for now, when in enumerate(times):
        if when < 5:
            matrix[now, when] = w[now]
    x = np.array([1.0, 2, 3, 4, 5])
    solved = np.linalg.solve(np.eye(5) - matrix, x)
    assert np.allclose(values(inputs, [h], [x, w, times])[0], solved)
    dx, dw = gradients(inputs, h, [x, w, times], head)
    transposed = np.linalg.solve((np.eye(5) - matrix).T, head)
    assert dx == pytest.approx(transposed.tolist())
    reads = [solved[when] if when < 5 else 0 for when in times]
    assert dw == pytest.approx((transposed * reads).tolist())


@pytest.mark.parametrize(("reverse", "pairs"), [(False, "s < t"), (True, "t < s")])
def test_an_adjoint_looks_at_every_pair_of_times_once(reverse: bool, pairs: str) -> None:
    inputs, h = looking_back(reverse=reverse)
    (equation_of_h,) = h.equations
    summand = equation(
        (5,), load(inputs[0], [t]), "add", 0, write=(cast(load(inputs[2], [t]), INDEX),)
    )
    assert written_at_data(h, summand)
    new = in_steps(h, summand, h, equation_of_h)
    assert new.extents == (5, 5)
    assert new.write == (dim(0),)
    expected = {(s, u) for s in range(5) for u in range(5) if eval(pairs, {"s": s, "t": u})}
    assert set(enumerate_set(new.domain)) == expected


def test_what_is_written_at_a_known_time_stays_as_it_is() -> None:
    inputs, h = looking_back()
    summand = equation((4,), load(inputs[0], [t]), "add", 0, write=(before(t, 0),))
    assert not written_at_data(h, summand)
    assert in_steps(h, summand, h, h.equations[0]) is summand
    assert not written_at_data(inputs[0], summand)


def circle(step: int, time: int | None) -> Tensor:
    """`h[t] = h[t + step]`, forwards."""
    h = history("h", 5, time=time)
    h.equations = (
        equation((4,), load(h, [add(t, index(step))]), where=compare("le", index(1), t)),
    )
    return h


def test_a_users_derivative_that_looks_ahead_is_refused() -> None:
    settle_recurrences([circle(-1, 0)])
    rule = "override in a recurrence: its adjoints at a time depend on the head at that time"
    with pytest.raises(DerivativeError, match=f"{rule}, got others in h"):
        settle_recurrences([circle(1, 0)])
    with pytest.raises(DerivativeError, match="override in a"):
        settle_recurrences([circle(-1, None)])


def test_systems_without_recurrences_are_settled_already() -> None:
    x = given("x", 3)
    settle_recurrences([x])
    assert x.time is None
