"""Where steps of recurrences keep their slices: numbers of programs that share much memory."""

from __future__ import annotations

import numpy as np
import torch

import ted
from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir
from ted.testing.validation import Validator

RNG = np.random.default_rng(5)
A, H = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3))
START = RNG.normal(size=3)


def _close(found, wanted) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_a_state_may_be_added_to_in_the_memory_of_the_state_before() -> None:
    ys = RNG.normal(size=(3, 2))

    def loss(x, ys):
        def step(x, y):
            u = A @ x
            v = y - H @ u
            return u + H.T @ v, v @ v

        return ted.sum(ted.scan(step, x, ys)[1])

    x, a, h = torch.tensor(START, requires_grad=True), torch.tensor(A), torch.tensor(H)
    state, total = x, torch.zeros((), dtype=torch.float64)
    for y in torch.tensor(ys):
        u = a @ state
        v = y - h @ u
        state, total = u + h.T @ v, total + v @ v
    _close(ted.grad(loss)(START, ys), torch.autograd.grad(total, x)[0])


def test_both_sides_of_a_test_start_from_what_the_step_has_written() -> None:
    ys, is_used = RNG.uniform(1, 2, (3, 3)), np.array([True, False, True])
    positive = np.abs(A)

    def loss(x, ys, is_used):
        def step(x, at):
            y, b = at
            v = y + 0.1 * x
            return x + ted.where(b, ted.sqrt(positive @ v), 0.0), v

        x, vs = ted.scan(step, x, (ys, is_used))
        return ted.sum(x) + ted.sum((vs @ positive) ** 2)

    given = torch.tensor(ys, requires_grad=True)
    a, x, vs = torch.tensor(positive), torch.tensor(np.abs(START)), []
    for y, b in zip(given, is_used, strict=True):
        vs.append(y + 0.1 * x)
        x = x + torch.sqrt(a @ vs[-1]) if b else x
    total = x.sum() + ((torch.stack(vs) @ a) ** 2).sum()
    _close(ted.grad(loss, 1)(np.abs(START), ys, is_used), torch.autograd.grad(total, given)[0])


def test_blocks_of_rows_have_memory_of_their_own_for_what_nobody_reads_later() -> None:
    low, x = np.tril(A) + 3 * np.eye(3), RNG.normal(size=(3, 9))
    squares = ted.jacobian(lambda x, low: ted.sum(ted.solve_triangular(low, x) ** 2, axis=0))
    slopes = 2 * np.linalg.solve(low.T, np.linalg.solve(low, x))
    _close(squares(x, low), np.einsum("ij,jk->kij", slopes, np.eye(9)))


def test_an_inner_recurrence_may_look_for_positions() -> None:
    def step(h, row):
        s = ted.reduce_axis(3)

        def largest(p, t):
            last = ted.where(t > 0, p[t - 1], -1)
            return ted.argmax(ted.where(last == s, -1.0, h[s] * row[t]), axis=s)

        places = ted.recurrence((2,), largest, "int64")
        return h + ted.cast(places[1], "float64") * row, places

    rows = RNG.normal(size=(3, 3))
    h, wanted = START, []
    for row in rows:
        places: list[int] = []
        for t in range(2):
            taken = [t > 0 and s == places[0] for s in range(3)]
            places.append(int(np.argmax(np.where(taken, -1.0, h * row[t]))))
        wanted.append(places)
        h = h + places[1] * row
    last, found = ted.function(lambda h, rows: ted.scan(step, h, rows))(START, rows)
    np.testing.assert_array_equal(found, wanted)
    _close(last, h)


def test_what_is_around_an_empty_sum_stays_inside() -> None:
    """At the first step a sum has no terms, and its total no place: it was read, and put back."""
    x = ted.placeholder((3, 3), "float64", name="x")
    total = ted.sum(ted.linalg.cholesky(9 * np.eye(3) + x) ** 2)
    (first,) = ted.differentiate(total, [x])
    (second,) = ted.differentiate(ted.sum(first**3), [x])
    text = ted.compile([x], [second]).ir("ted")
    validator = Validator(1)
    with make_context(threading=False):
        module = ir.Module.parse(text)
        run_pipeline(module, "builtin.module(ted-emit-kernels)", observers=[validator])
    assert not [r for r in validator.summary() if "not validated" in r]
