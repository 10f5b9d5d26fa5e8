"""Windows of histories: how many slices, where each stands, and which histories have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import ted
from ted.dialects import session
from ted.frontend.systems import system_of
from ted.frontend.tensors import Tensor
from ted.ir.to_ops import to_module
from ted.linalg.scan_bodies import ScanBody
from ted.linalg.storage_folding import Window, find_windows
from ted.mlir.queries import operations

STEPS = 12
X = ted.placeholder((STEPS, 3), "float64", name="x")
N = ted.placeholder((STEPS,), "int64", name="n")


def history(step: Callable[[Any, Any, Any], Any], first: int = 1, reverse: bool = False) -> Tensor:
    """`u[t, i] = step(u, t, i)` after the first steps."""

    def element(u: Any, t: Any, i: Any) -> Any:
        going = t < STEPS - first if reverse else t >= first
        return ted.where(going, step(u, t, i), X[t, i])

    return ted.recurrence((STEPS, 3), element, "float64", reverse=reverse)


def windows(result: Tensor, inputs: Sequence[Tensor] = (X, N)) -> list[dict[int, Window]]:
    """Those of every recurrence, in order."""
    with session():
        module = to_module(system_of(list(inputs), [result]))
        return [find_windows(ScanBody(op)) for op in operations(module.operation, "ted.scan")]


BEFORE = history(lambda u, t, i: u[t - 1, i] * 2.0)
BESIDE = history(lambda u, t, i: u[t - 1, i] * u[t - 1, 2 - i])
TWO = history(lambda u, t, i: u[t - 1, i] - u[t - 2, i], first=2)
AFTER = history(lambda u, t, i: u[t + 1, i] * 2.0, reverse=True)
THREE_AFTER = history(lambda u, t, i: u[t + 1, i] - u[t + 3, i], first=3, reverse=True)


def kept(size: int, reverse: bool = False, carries: bool = False) -> dict[int, Window]:
    return {0: Window(0, size, is_carried=True, steps=STEPS, reverse=reverse, carries=carries)}


def updated(size: int, reverse: bool = False) -> dict[int, Window]:
    """Of a slice that is made of that of the step before, in place of it."""
    return kept(size, reverse, carries=True)


CASES = {
    "the last slice, of the step before": (BEFORE[STEPS - 1], updated(1)),
    "the last slice, of two steps before": (TWO[STEPS - 1], kept(3)),
    "the last slice, of elements beside it": (BESIDE[STEPS - 1], kept(2)),
    "the last two slices": (BEFORE[STEPS - 2 :], updated(2)),
    "the last four slices": (BEFORE[STEPS - 4 :], updated(4)),
    "five slices are too many": (BEFORE[STEPS - 5 :], {}),
    "an early slice": (BEFORE[0], {}),
    "the first slice of a reverse one": (AFTER[0], updated(1, reverse=True)),
    "the first three of a reverse one": (AFTER[:3], updated(3, reverse=True)),
    "three steps after": (THREE_AFTER[0], kept(4, reverse=True)),
    "the last slice of a reverse one": (AFTER[STEPS - 1], {}),
    "several uses": (BEFORE[STEPS - 1] + BEFORE[STEPS - 3], updated(3)),
    "a use that wants all": (BEFORE[STEPS - 1] + ted.sum(BEFORE, axis=0), {}),
    "a distance that depends on the step": (
        history(lambda u, t, i: u[t // 2, i] * 2.0)[STEPS - 1], {}),
    "a read at data": (
        history(lambda u, t, i: u[ted.clip(N[t], 0, t - 1), i])[STEPS - 1], {}),
    "used at data afterwards": (
        ted.compute((3,), lambda i: BEFORE[ted.clip(N[i], 0, STEPS - 1), i]), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_many_slices_are_kept_as_are_wanted_at_once(case: str) -> None:
    result, expected = CASES[case]
    assert windows(result) == [expected]


@pytest.mark.parametrize(("steps", "size"), [(3, 2), (2, None)])
def test_a_window_is_smaller_than_its_history(steps: int, size: int | None) -> None:
    x = ted.placeholder((steps, 2), name="x")
    turned = ted.recurrence(
        (steps, 2), lambda u, t, i: ted.where(t > 0, u[t - 1, 1 - i] * x[t, i], x[t, i]), "float64"
    )
    (found,) = windows(turned[steps - 1], [x])
    assert [w.size for w in found.values()] == ([size] if size else [])


@pytest.mark.parametrize("reverse", [False, True])
def test_slices_stand_in_the_order_of_their_times(reverse: bool) -> None:
    window = Window(0, 3, is_carried=True, steps=STEPS, reverse=reverse)
    order = range(STEPS)
    slices: list[int | None] = [None] * 3
    times = reversed(order) if reverse else order
    for time in times:
        for source, target in window.moves():
            slices[target] = slices[source]
        slices[window.place(0)] = time
        for ago in range(3):
            before = time + ago if reverse else time - ago
            assert slices[window.place(ago)] == (before if before in order else None)
    assert slices == [window.first_time + k for k in range(3)]
