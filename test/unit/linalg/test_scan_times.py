"""Times of equations in a recurrence: the code for them does not grow with the number of steps."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code
from ted import dialects, nn
from ted.cpu.pipeline import CPU_STAGES
from ted.frontend.systems import system_of
from ted.ir.pipelines import stage_text
from ted.ir.to_ops import to_module

RNG = np.random.default_rng(3)


def last_of_scan(x):
    return ted.scan(lambda h, row: (ted.sin(h) * row, None), x[0], x)[0]


def one_state(x):
    return ted.cumprod(x, 0)[len(x) - 2]


def few_states(x):
    y = ted.cumprod(x, 0)
    return y[1] * y[4] + y[len(x) - 1]


def every_second(x):
    return ted.cumprod(x, 0)[::2]


def every_third_backwards(x):
    return ted.cumprod(x, 0, reverse=True)[::-3]


def backwards(x):
    return ted.cumprod(x, 0)[::-1]


def in_pairs(x):
    return ted.recurrence(
        x.shape,
        lambda h, t, i: ted.where(
            t > 0, h[t - 1, i] * ted.where(t % 2 == 0, x[t, i], 0.5), x[t, i]
        ),
        "float64",
    )


def recurrent(x):
    return nn.rnn(ted.reshape(x, (-1, 1, 3)), ted.eye(3, dtype="float64"), x[:3])[len(x) - 1]


CASES = [
    last_of_scan, one_state, few_states, every_second, every_third_backwards, backwards, in_pairs,
    recurrent,
]  # fmt: skip


def program(function, steps):
    x = ted.placeholder((steps, 3), "float64", name="x")
    result = function(x)
    head = ted.placeholder(result.shape, "float64", name="head")
    return [x, head], [result, *ted.differentiate(result, [x], head)]


@pytest.mark.fast(1)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("steps", [7, 40])
def test_values_and_gradients_are_those_of_the_interpreter(function, steps) -> None:
    inputs, outputs = program(function, steps)
    arrays = [RNG.normal(size=i.shape) / 4 + 1 for i in inputs]
    check_machine_code(inputs, outputs, arrays)


@pytest.mark.fast(2)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_the_code_is_as_long_for_any_number_of_steps(function) -> None:
    few, many = (_linalg(*program(function, steps)) for steps in (43, 403))
    assert few.count("\n") == many.count("\n")


def _linalg(inputs, outputs):
    with dialects.session():
        return stage_text(to_module(system_of(inputs, outputs)), CPU_STAGES, "linalg")


def test_a_step_without_points_has_no_code_of_its_own() -> None:
    a, b = ted.placeholder((6, 6), "float64"), ted.placeholder((6, 3), "float64")
    (gradient,) = ted.differentiate(ted.sum(ted.solve_triangular(a, b)), [a])
    f = ted.compile([a, b], gradient)
    assert f.ir("linalg").count("arith.divf") == 2  # forwards and back, each in one loop
    matrix, right = RNG.normal(size=(6, 6)) + 4 * np.eye(6), RNG.normal(size=(6, 3))
    solution = np.linalg.solve(np.tril(matrix), right)
    adjoint = np.linalg.solve(np.tril(matrix).T, np.ones((6, 3)))
    np.testing.assert_allclose(f(matrix, right), -np.tril(adjoint @ solution.T), rtol=1e-12)


def _folded(x, checkpoint=None, links=8):
    def step(h, row):
        for k in range(links):
            h = ted.tanh(h * row) + row / (k + 1)
        return h, h

    return ted.scan(step, x[0], x, checkpoint=checkpoint)[1]


def _folded_in_steps(x, checkpoint):
    def inner(g, row):
        g = ted.sin(g) * row
        return g, g

    def step(h, row):
        for k in range(3):
            h = ted.tanh(h * row) + row / (k + 1)
        g, ys = ted.scan(inner, h, ted.stack([row, row + 1, row * 2]), reverse=True)
        return g * 0.5, h + ys[1] * ys[0]

    return ted.scan(step, x[0], x, checkpoint=checkpoint, reverse=True)[1]


@pytest.mark.parametrize(("checkpoint", "times"), [(None, 1), (3, 3)])
def test_a_step_is_not_repeated_for_what_its_carry_starts_from(checkpoint, times) -> None:
    text = _linalg(*program(lambda x: _folded(x, checkpoint, 24), 12))
    assert text.count("math.tanh") <= 24 * times + 1  # one may be behind the test, on both sides


def test_a_short_step_is_one_equation_with_what_its_carry_starts_from() -> None:
    x = ted.placeholder((12, 3), "float64", name="x")
    text = _linalg([x], [_folded(x)[-1]])
    assert text.count("math.tanh") == 2 * 8  # of the first step, and of all others
    assert text.count("linalg.generic") == 2
    assert "scf.if" not in text


@pytest.mark.parametrize(
    ("function", "checkpoint"),
    [(_folded, 3), (_folded_in_steps, None), (_folded_in_steps, 1), (_folded_in_steps, 5)],
)
def test_what_a_carry_starts_from_is_chosen_in_loops_around_loops(function, checkpoint) -> None:
    inputs, outputs = program(lambda x: function(x, checkpoint), 6)
    arrays = [RNG.normal(size=i.shape) / 4 + 1 for i in inputs]
    check_machine_code(inputs, outputs, arrays)
