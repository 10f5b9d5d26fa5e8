"""Recurrences and their gradients through machine code, and what the gradients cost."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.same_values import check_machine_code
from ted import nn
from unit.recurrence_programs import by_data

RNG = np.random.default_rng(9)


def wave(x):
    return ted.recurrence(
        (5, 3),
        lambda u, t, i: ted.where(t > 1, 2 * u[t - 1, i] - u[t - 2, 2 - i], x[0, i] * x[t, i]),
        "float64",
    )


def from_init(x):
    r = ted.reduce_axis(5)
    return ted.recurrence(
        (5, 3), lambda h, t, i: ted.sum(h[r, i], axis=r, where=r < t, init=x[t, i]), "float64"
    )


def scanned(x, w):
    def step(h, row):
        return ted.sin(ted.take(h, ted.argmax(row), 0) + h @ w + row), h

    return ted.scan(step, x[0], x)[1]


# The function, the shapes of its arguments, and the bound on the work of its gradients.
CASES = {
    "cumsum": (lambda x: ted.cumsum(x, 0), [(5, 3)], 1),
    "cumprod": (lambda x: ted.cumprod(x, 1, True), [(5, 3)], 3),
    "solve": (ted.solve_triangular, [(5, 5), (5, 2)], 3),
    "cholesky": (ted.cholesky, [(5, 5)], 3),
    "rnn": (nn.rnn, [(4, 2, 3), (3, 3), (3, 3)], 2.3),
    "lstm": (lambda *a: nn.lstm(*a)[0], [(4, 2, 3), (3, 12), (3, 12)], 2.3),
    "lstm_from_states": (
        lambda x, a, b, h, c: nn.lstm(x, a, b, None, (h, c))[0],
        [(4, 2, 3), (3, 12), (3, 12), (2, 3), (2, 3)],
        2.3,
    ),
    "gru": (nn.gru, [(4, 2, 3), (3, 9), (3, 9)], 2.3),
    "wave": (wave, [(5, 3)], 4),
    "from_init": (from_init, [(5, 3)], 3),
    "by_data": (by_data, [(5, 3)], 4),
    "scan": (scanned, [(5, 3), (3, 3)], 4),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_the_interpreter(case) -> None:
    function, shapes, heaviest = CASES[case]
    inputs = [ted.placeholder(s, "float64", name=f"x{k}") for k, s in enumerate(shapes)]
    arrays = [RNG.normal(size=s) / 4 for s in shapes]
    for array in arrays:
        if array.ndim == 2 and array.shape[0] == array.shape[1]:
            array += 2 * np.eye(len(array))
    result = function(*inputs)
    head = ted.placeholder(result.shape, "float64", name="head")
    arrays.append(RNG.normal(size=result.shape))
    gradients = ted.differentiate(result, inputs, head)
    assert gradients.report().ratio <= heaviest
    check_machine_code([*inputs, head], [result, *gradients], arrays)


def test_every_derivative_of_a_running_sum() -> None:
    found = ted.jacobian(lambda x: ted.cumsum(x, 0))(np.ones(5))
    np.testing.assert_array_equal(found, np.tril(np.ones((5, 5))))
    x = RNG.normal(size=(5,))
    found = ted.jvp(lambda a: ted.cumprod(a, 0), (x,), (np.ones(5),))[1]
    np.testing.assert_allclose(found, np.cumprod(x) * np.cumsum(1 / x), rtol=1e-12)
