"""Recurrences that read themselves at times that are data: values, gradients, proofs."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from sweeps import swept
from ted.errors import ExecutionError, FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import compiled, run

RNG = np.random.default_rng(0)
X = RNG.normal(size=6)
EARLIER = np.array([0, 0, 5, 1, 1, 3])  # two of them are not: the condition says so
LATER = np.array([3, 1, 5, 4, 5, 3])


def guarded(x, i, reverse=False):
    """Reads the element that an index names where that is done already."""

    def element(h, t):
        done = i[t] > t if reverse else i[t] < t
        return x[t] * x[t] + ted.where(done, ted.sin(h[i[t]]) * x[t], 0.5 * x[t])

    return ted.recurrence(x.shape, element, "float64", reverse=reverse)


def bounded(x, i):
    """The index is made earlier by a minimum."""
    return ted.recurrence(
        x.shape,
        lambda h, t: x[t] + ted.where(t > 0, ted.sin(h[ted.minimum(i[t], t - 1)]), 0.0),
        "float64",
    )


def two(x, i):
    """Two tensors, of which one may be read at its own time, when it is complete."""
    a, b = ted.recurrence(
        [x.shape, x.shape],
        [
            lambda a, b, t: x[t] + ted.where(i[t] < t, b[i[t]] * a[i[t]], 0.0),
            lambda a, b, t: ted.sin(a[t]) * x[t] + ted.where(i[t] <= t, a[i[t]], 0.1),
        ],
        "float64",
    )
    return a * b


def rows(x, i):
    """Every element of a row has an index of its own."""
    r = ted.reduce_axis(x.shape[1])
    return ted.recurrence(
        x.shape,
        lambda h, t, j: ted.tanh(
            x[t, j] + ted.sum(ted.where(i[t, j] < t, h[i[t, j], r] * x[t, r], 0.0), axis=r)
        ),
        "float64",
    )


def read_outside(x, i):
    """An ordinary recurrence, of which elements at data are read afterwards."""
    h = ted.recurrence(
        x.shape, lambda h, t: x[t] * x[t] + ted.where(t > 0, ted.sin(h[t - 1]), 0.0), "float64"
    )
    return ted.take(h, i, 0) * h


PROGRAMS = {
    "guarded": (guarded, X, EARLIER),
    "in_reverse": (lambda x, i: guarded(x, i, True), X, LATER),
    "bounded": (bounded, X, np.array([3, 0, 0, 1, 5, 2])),
    "two": (two, X, EARLIER),
    "rows": (rows, RNG.normal(size=(4, 3)), RNG.integers(0, 4, (4, 3))),
    "read_outside": (read_outside, X, EARLIER),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_reads_at_times_that_are_data(name) -> None:
    function, *args = PROGRAMS[name]
    check_grads(function, tuple(args), order=2, modes=("fwd", "rev"))


@pytest.mark.fast(1)
@swept("name", PROGRAMS, ["guarded", "in_reverse", "bounded"])
def test_compiled_they_do_what_the_interpreter_does(name) -> None:
    function, x, i = PROGRAMS[name]

    def gradient(x, i):
        y = function(x, i)
        (dx,) = ted.differentiate(y, [x], head=ted.cos(y))
        return ted.concatenate([y, dx, *ted.differentiate(dx, [x], head=ted.cos(x))])

    np.testing.assert_allclose(compiled(gradient, x, i), run(gradient, x, i), rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_values_are_those_of_a_loop(reverse) -> None:
    i = LATER if reverse else EARLIER
    h = np.zeros(6)
    for t in reversed(range(6)) if reverse else range(6):
        done = i[t] > t if reverse else i[t] < t
        h[t] = X[t] ** 2 + (np.sin(h[i[t]]) * X[t] if done else 0.5 * X[t])
    np.testing.assert_allclose(compiled(lambda x, i: guarded(x, i, reverse), X, i), h, rtol=1e-14)


def test_a_negative_time_is_an_error_when_the_program_runs() -> None:
    with pytest.raises(ExecutionError, match="-1"):
        compiled(guarded, X, EARLIER - 1)


REFUSED = {
    "not_guarded": (lambda h, i, t: h[i[t]], r"the past, got h at time 1, .*ted.where\(index < ti"),
    "guarded_the_wrong_way": (
        lambda h, i, t: ted.where(i[t] > t, h[i[t]], 0.0), "h at time 0 must read the past"
    ),
    "at_its_own_time": (
        lambda h, i, t: ted.where(i[t] <= t, h[i[t]], 0.0), "h reads h at the same time"
    ),
    "another_index": (
        lambda h, i, t: ted.where(i[t] < t, h[i[0]], 0.0), "h at time 0 must read the past"
    ),
    "arithmetic_that_may_wrap": (
        lambda h, i, t: ted.where(i[t] + 1 < t, h[i[t]], 0.0), "h at time 0 must read the past"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proved_to_be_earlier_is_refused(case) -> None:
    element, message = REFUSED[case]
    i = ted.placeholder((5,), "int64", name="i")
    with pytest.raises(FrontendError, match=message):
        ted.recurrence((5,), lambda h, t: element(h, i, t), "float64", name="h")
