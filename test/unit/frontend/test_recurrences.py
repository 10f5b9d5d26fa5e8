"""Recurrences: values, gradients of both orders, forms of earlier times, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.ir.equations import components, is_recurrence
from ted.testing import check_grads
from ted.transforms.gradient import differentiate
from unit.frontend.tracing import compiled, placeholders, run

RNG = np.random.default_rng(4)
X = RNG.normal(size=(4, 5))


def backwards(function, x, axis):
    return np.flip(function(np.flip(x, axis), axis), axis)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_are_those_of_numpy(axis, reverse) -> None:
    wanted = backwards(np.cumsum, X, axis) if reverse else np.cumsum(X, axis)

    def function(x):
        return ted.cumsum(x, axis, reverse)

    np.testing.assert_allclose(run(function, X), wanted, rtol=1e-14)
    np.testing.assert_allclose(compiled(function, X), wanted, rtol=1e-14)
    check_grads(lambda x: function(x * x), (X,), order=2)


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_are_exact_with_zeros(zeros, reverse) -> None:
    x = X.copy()
    x[1, :zeros] = 0.0
    wanted = backwards(np.cumprod, x, 1) if reverse else np.cumprod(x, 1)
    np.testing.assert_allclose(run(lambda a: ted.cumprod(a, 1, reverse), x), wanted, rtol=1e-14)
    check_grads(lambda a: ted.cumprod(a, 1, reverse), (x,), order=2)


def test_running_sums_widen_their_accumulator() -> None:
    found = run(lambda x: ted.cumsum(x, 0), np.ones(2100, "float16"))
    assert found.dtype == np.float16
    assert found[-1] == 2100
    counts = run(lambda x: ted.cumsum(x > 0, 1), X)
    np.testing.assert_array_equal(counts, np.cumsum(X > 0, 1))


def wave(x):
    return ted.recurrence(
        (5, 4),
        lambda u, t, i: ted.where(
            t > 1,
            2 * u[t - 1, i] - u[t - 2, i]
            + 0.3 * (u[t - 1, (i + 1) % 4] - 2 * u[t - 1, i] + u[t - 1, (i + 3) % 4]),
            x[i] * (1.0 + 0.5 * t),
        ),
        "float64",
        name="wave",
    )  # fmt: skip


def test_two_earlier_times_make_a_wave() -> None:
    x = X[:, 0]
    u = [x, 1.5 * x]
    for _ in range(3):
        bend = np.roll(u[-1], -1) - 2 * u[-1] + np.roll(u[-1], 1)
        u.append(2 * u[-1] - u[-2] + 0.3 * bend)
    np.testing.assert_allclose(run(wave, x), np.stack(u), rtol=1e-13)
    check_grads(lambda a: wave(a) ** 2, (x,), order=2)


def test_all_earlier_times_may_be_reduced() -> None:
    r = ted.reduce_axis(6)

    def function(x):
        return ted.recurrence(
            (6,),
            lambda h, t: x[t]
            + ted.sum(h[r] * 0.5 ** (t - r).astype("float64"), axis=r, where=r < t)
            + ted.max(h[r], axis=r, where=r < t, init=0.0),
            "float64",
        )  # fmt: skip

    x, wanted = np.abs(RNG.normal(size=6)), np.zeros(6)
    for t in range(6):
        past = wanted[:t]
        weights = 0.5 ** (t - np.arange(t))
        wanted[t] = x[t] + past @ weights + max([0.0, *past])
    np.testing.assert_allclose(run(function, x), wanted, rtol=1e-13)
    check_grads(function, (x,), order=2)


def test_tensors_that_read_each_other() -> None:
    def function(x):
        even, odd = ted.recurrence(
            [(5,), (5,)],
            [
                lambda even, odd, t: ted.where(t > 0, odd[t - 1], 1.0) + x[t],
                lambda even, odd, t: even[t] * x[t],
            ],
            "float64",
            name=["even", "odd"],
        )
        return [even, odd]

    x, even, odd = X[0], [], []
    for t in range(5):
        even.append((odd[-1] if odd else 1.0) + x[t])
        odd.append(even[-1] * x[t])
    found = run(function, x)
    np.testing.assert_allclose(found, [even, odd], rtol=1e-14)
    check_grads(function, (x,), order=2)


@pytest.mark.parametrize("divisor", [1, 3])
def test_a_time_of_data_that_is_known_is_compared_as_an_index(divisor) -> None:
    def function(x, times):
        return ted.recurrence(
            (3,),
            lambda h, t: ted.where(
                (times[t] % divisor < t) & (x[t] > 0), h[times[t] % divisor], 2.0
            ) + x[t],
            "float64",
        )  # fmt: skip

    wanted = [1.0, 2.0, 4.0 if divisor == 1 else 5.0]
    found = run(function, np.array([-1.0, 1.0, 3.0]), np.array([2, 0, 1]))
    np.testing.assert_allclose(found, wanted)


def test_whole_tensor_operators_on_a_history_follow_its_time() -> None:
    def function(x):
        return ted.recurrence(
            (5,), lambda h, t: x[t] + ted.where(t > 0, ted.tanh(h * 2.0)[t - 1], 0.0), "float64"
        )

    wanted: list[float] = []
    for value in X[0]:
        wanted.append(value + (np.tanh(2 * wanted[-1]) if wanted else 0.0))
    np.testing.assert_allclose(run(function, X[0]), wanted, rtol=1e-14)
    check_grads(function, (X[0],), order=2)


def test_a_function_that_reads_no_earlier_time_is_an_ordinary_tensor() -> None:
    (x,) = placeholders(X)
    made = ted.recurrence((4, 5), lambda h, i, j: x[i, j] * 2.0, "float64")
    assert not any(is_recurrence(group) for group in components([made.node]))
    np.testing.assert_array_equal(run(lambda x: ted.recurrence(
        (4, 5), lambda h, i, j: x[i, j] * 2.0, "float64"), X), 2 * X)  # fmt: skip


# ------------------------------------------------------------------ linear algebra


MATRIX = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
RIGHT = RNG.normal(size=(4, 2))


@pytest.mark.fast(1)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_systems(lower, transpose) -> None:
    triangle = np.tril(MATRIX) if lower else np.triu(MATRIX)
    wanted = np.linalg.solve(triangle.T if transpose else triangle, RIGHT)

    def function(a, b):
        return ted.solve_triangular(a, b, lower, transpose)

    np.testing.assert_allclose(run(function, MATRIX, RIGHT), wanted, rtol=1e-12)
    np.testing.assert_allclose(compiled(function, MATRIX, RIGHT), wanted, rtol=1e-12)
    check_grads(function, (MATRIX, RIGHT), order=2)


def test_a_unit_diagonal_is_not_read() -> None:
    a, b = np.tril(RNG.normal(size=(2, 3, 3)), -1), RNG.normal(size=(2, 3, 2))
    wanted = np.linalg.solve(a + np.eye(3), b)
    unread = np.where(np.eye(3) > 0, np.nan, a)
    found = run(lambda a, b: ted.solve_triangular(a, b, unit_diagonal=True), unread, b)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_vector_on_the_right() -> None:
    found = run(lambda a, b: ted.solve_triangular(a, b), MATRIX, RIGHT[:, 0])
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(MATRIX), RIGHT[:, 0]), rtol=1e-12)


@pytest.mark.fast(1)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_cholesky_factor(batch) -> None:
    a = RNG.normal(size=(*batch, 4, 4)) + 3 * np.eye(4)
    a = a @ np.swapaxes(a, -1, -2)
    wanted = np.linalg.cholesky(a)
    np.testing.assert_allclose(run(ted.cholesky, a), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(compiled(ted.cholesky, a), wanted, rtol=1e-12, atol=1e-14)
    check_grads(ted.cholesky, (a,), order=2)


def test_what_is_not_positive_definite_has_no_factor() -> None:
    with np.errstate(invalid="ignore"):
        found = run(ted.cholesky, -np.eye(2))
    assert np.isnan(found[0, 0])


def test_the_gradient_of_a_solution_is_solved_in_reverse() -> None:
    a, b = placeholders(MATRIX, RIGHT)
    x = ted.solve_triangular(a, b)
    head = ted.placeholder(x.shape, "float64")
    gradients = differentiate([x.node], [a.node, b.node], [head.node]).gradients
    loops = [g for g in components(gradients) if is_recurrence(g)]
    backward = [group for group in loops if all(t.reverse for t in group)]
    assert len(backward) == 1
    assert gradients[0] not in backward[0]  # the outer product stands behind the loop


# ------------------------------------------------------------------ refusals


P = ted.placeholder((5, 3), "float64", name="x")
SQUARE = ted.placeholder((3, 3), name="a")
REFUSED = {
    "future": (
        lambda: ted.recurrence((5,), lambda h, t: ted.where(t < 4, h[t + 1], 0.0), name="h"),
        "recurrence: h at time 0 must read the past, got h at time 1, first at t = 0",
    ),
    "future_in_reverse": (
        lambda: ted.recurrence((5,), lambda h, t: ted.where(t > 0, h[t - 1], 0.0), reverse=True),
        "recurrence: h at time 1 must read the past, got h at time 0, first at t = 1",
    ),
    "future_in_a_sum": (
        lambda: ted.recurrence(
            (5,), lambda h, t: ted.sum(h[R5], axis=R5, where=t + 1 >= R5), name="h"
        ),
        "must read the past, got h at time 1",
    ),
    "itself": (
        lambda: ted.recurrence((5,), lambda h, t: h[t] + 1.0),
        "a step reads what it or an earlier step has completed, got h reads h at the same time",
    ),
    "each_other": (
        lambda: ted.recurrence(
            [(5,), (5,)], [lambda a, b, t: b[t], lambda a, b, t: a[t]], name=["a", "b"]
        ),
        "at the same time",
    ),
    "time_is_data": (
        lambda: ted.recurrence((5,), lambda h, t: h[P[t, 0].astype("int64")], "float64"),
        "h at time 0 must read the past, got h at time 1, first at t = 0; read it under ted.where(",
    ),
    "steps_differ": (
        lambda: ted.recurrence(
            [(5,), (4,)],
            [lambda a, b, t: ted.where(t > 0, b[0], 0.0), lambda a, b, t: a[t]],
        ),
        "share steps and direction",
    ),
    "type": (
        lambda: ted.recurrence((5, 3), lambda h, t, i: P[t, i]),
        "elements have the type of the tensor, got float64 for float32; give dtype= or cast",
    ),
    "time_axis": (lambda: ted.recurrence((5,), lambda h, t: 0.0, time_axis=1), "time_axis"),
    "rank_zero": (lambda: ted.recurrence((), lambda h: 0.0), "time_axis"),
    "no_function": (lambda: ted.recurrence((5,), 3), "given by a function, got 3"),
    "too_few_indices": (
        lambda: ted.recurrence((5, 3), lambda h, t: 0.0), "one index for each of 2 dims, got 1"
    ),
    "one_shape_short": (
        lambda: ted.recurrence([(5,)], [lambda a, b, t: 0.0] * 2), "one shape for each of 2"
    ),
    "not_square": (lambda: ted.cholesky(P), "square in its last two dims"),
    "integers": (
        lambda: ted.cholesky(SQUARE.astype("int64")),
        'cholesky: takes floats, got int64 (astype); write x.astype("float64")',
    ),
    "right_side": (lambda: ted.solve_triangular(SQUARE, P), "b must fit (3, 3) (a)"),
    "cumsum_axis": (lambda: ted.cumsum(P, 2), "axis must be in [-2, 2), got 2"),
}  # fmt: skip
R5 = ted.reduce_axis(5)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_recurrence_is_refused(case) -> None:
    action, message = REFUSED[case]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        action()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
