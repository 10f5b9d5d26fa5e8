"""Histories in the order of dims in which they are read, beside NumPy and torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.ir.equations import Clock
from ted.linalg.ted_turn_histories import turn_histories
from ted.testing.tracing import interpreted
from ted.transforms.ted_fuse_pointwise import fuse_pointwise
from ted.transforms.ted_simplify import simplify

ROWS, STEPS = 21, 6


def means(x: Any) -> Any:
    """Two histories that read each other, of which one is read turned and changed."""

    def step(carry: Any, row: Any) -> Any:
        mean, square = carry
        mean = mean * 0.5 + row
        square = square * 0.25 + mean * row
        return (mean, square), (mean, square)

    zeros = ted.zeros((ROWS,), x.dtype)
    _, (mean, square) = ted.scan(step, (zeros, zeros), ted.transpose(x, (1, 0)))
    return ted.exp(-ted.transpose(square, (1, 0))) * x + ted.transpose(mean, (1, 0))


TURNED: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: ted.transpose(ted.cumsum(ted.transpose(x, (1, 0)), 0), (1, 0)),
    "backwards": lambda x: ted.transpose(
        ted.cumsum(ted.transpose(x, (1, 0)), 0, reverse=True), (1, 0)
    ),
    "twice": lambda x: ted.stack(
        [ted.transpose(ted.cumsum(ted.transpose(x, (1, 0)), 0), (1, 0))] * 2
    ),
    "two carries": means,
}


def compiled(program: Callable[[Any], Any], order: int = 0) -> Any:
    x = ted.placeholder((ROWS, STEPS), "float64", name="x")
    results = [program(x)]
    for _ in range(order):
        results = ted.differentiate(ted.sum(ted.sin(results[0])), [x])
    return ted.compile([x], results[0], target="cpu")


def times_of(f: Any) -> set[str]:
    """The dims of histories that are times, in the program that is lowered."""
    return set(re.findall(r"times = array<i64: ([0-9, ]*)>", f.ir("ted")))


@pytest.mark.parametrize("name", TURNED)
def test_a_history_lies_as_it_is_read(name: str) -> None:
    x = np.random.default_rng(3).standard_normal((ROWS, STEPS))
    for order in range(3):
        f = compiled(TURNED[name], order)
        assert "1" in (times := "".join(times_of(f)))
        assert set(times) <= set("1, ")
        (wanted,) = interpreted(f.system.inputs, f.system.outputs)(x)
        np.testing.assert_allclose(f(x), wanted, rtol=1e-12, atol=1e-12)


def test_gradients_of_two_orders_are_those_of_torch() -> None:
    x = torch.tensor(np.random.default_rng(4).standard_normal((ROWS, STEPS)), requires_grad=True)
    y = x.flip(1).cumsum(1).flip(1)
    (first,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sin().sum(), x)
    for order, wanted in enumerate((y, first, second)):
        found = compiled(TURNED["backwards"], order)(x.detach().numpy())
        np.testing.assert_allclose(found, wanted.detach(), rtol=1e-12, atol=1e-12)


def test_results_have_memory_of_their_own() -> None:
    x = ted.placeholder((ROWS, STEPS), "float64", name="x")
    sums = ted.cumsum(ted.transpose(x, (1, 0)), 0)
    array = np.random.default_rng(5).standard_normal((ROWS, STEPS))
    wanted = np.cumsum(array, 1)
    turned, other = ted.transpose(sums, (1, 0)), ted.swapaxes(sums, 0, 1)
    first, second = ted.compile([x], [turned, other])(array)
    assert not np.shares_memory(first, second)
    np.testing.assert_allclose([first, second], [wanted, wanted], rtol=1e-12)
    kept, first = ted.compile([x], [sums, turned])(array)
    np.testing.assert_allclose([kept.T, first], [wanted, wanted], rtol=1e-12)
    first, halves = ted.compile([x], [turned, turned / 2])(array)
    np.testing.assert_allclose([first, halves], [wanted, wanted / 2], rtol=1e-12)


def neighbours(x: Any) -> Any:
    """Rows that read each other."""
    return ted.transpose(
        ted.scan(
            lambda c, row: (c + ted.roll(c, 1) + row,) * 2,
            ted.zeros((ROWS,), x.dtype),
            ted.transpose(x, (1, 0)),
        )[1],
        (1, 0),
    )


def both_orders(x: Any) -> Any:
    sums = ted.cumsum(ted.transpose(x, (1, 0)), 0)
    return ted.transpose(sums, (1, 0)) + ted.sum(sums**2, 1)


LEFT: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "read in both orders": (both_orders, (ROWS, STEPS)),
    "given by steps": (lambda x: ted.transpose(ted.cumsum(x, 0), (1, 0)), (STEPS, ROWS)),
    "a result itself": (lambda x: ted.cumsum(ted.transpose(x, (1, 0)), 0), (ROWS, STEPS)),
    "rows that read each other": (neighbours, (ROWS, STEPS)),
    "steps of many elements": (
        lambda x: ted.transpose(ted.cumsum(ted.transpose(x, (1, 0, 2)), 0), (1, 0, 2)),
        (ROWS, STEPS, 16),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_histories_stay(name: str) -> None:
    program, shape = LEFT[name]
    x = ted.placeholder(shape, "float64", name="x")
    (times,) = times_of(ted.compile([x], program(x), target="cpu"))
    assert set(times) <= set("0, ")


def test_the_time_moves_with_its_dim() -> None:
    system = fuse_pointwise(simplify(compiled(TURNED["backwards"]).system)[0])[0]
    (history,) = turn_histories(system).outputs
    assert history.clocks == (Clock(1, reverse=True),)
    assert history.shape == (ROWS, STEPS)
