"""Of a recurrence only the steps and the points are computed that somebody needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted.testing import check_grads
from unit.transforms.test_demanded_boxes import p, shapes, shrunk

STEPS, WIDTH = 9, 6
X = p("x", STEPS, WIDTH)
ARRAY = np.random.default_rng(3).normal(size=(STEPS, WIDTH))


def states(x: Any, *, reverse: bool = False) -> Any:
    """Of each column by itself, at all steps."""

    def step(h: Any, row: Any) -> tuple[Any, Any]:
        h = ted.tanh(h * 0.9 + row)
        return h, h

    return ted.scan(step, x[0], x, reverse=reverse)[1]


def mixed(x: Any) -> Any:
    """Each state reads its left neighbour."""

    def step(h: Any, row: Any) -> tuple[Any, Any]:
        left = ted.concatenate([h[:1] * 0.5, h[:-1]])
        h = ted.tanh(left + row)
        return h, h

    return ted.scan(step, x[0], x)[1]


PARTS: dict[str, tuple[Callable[[Any], Any], tuple[int, int]]] = {
    "first steps": (lambda y: y[:4], (4, WIDTH)),
    "one step": (lambda y: y[3], (4, WIDTH)),
    "the last step": (lambda y: y[-1], (STEPS, WIDTH)),
    "columns": (lambda y: y[:, 1:3], (STEPS, 2)),
    "a corner": (lambda y: y[:2, 4:], (2, 2)),
    "every third column": (lambda y: y[:, ::3], (STEPS, 4)),
    "two parts": (lambda y: ted.concatenate([y[:2, 0], y[4:5, 2]]), (5, 3)),
}


@pytest.mark.parametrize("part", PARTS)
def test_steps_and_columns_that_somebody_reads_are_computed(part: str) -> None:
    cut, box = PARTS[part]
    found = {s for s in shapes(shrunk(cut(states(X)))).values() if len(s) == 2}
    assert box in found
    if box != (STEPS, WIDTH):
        assert (STEPS, WIDTH) not in found


def test_a_recurrence_that_runs_backwards_keeps_its_last_steps() -> None:
    found = shapes(shrunk(states(X, reverse=True)[6:, :2]))
    assert (3, 2) in found.values()
    assert (STEPS, WIDTH) not in found.values()


@pytest.mark.parametrize("steps", [2, STEPS])
@pytest.mark.parametrize(("column", "kept"), [(0, 1), (2, 3), (5, 6)])
def test_what_the_steps_read_of_each_other_is_kept(column: int, kept: int, steps: int) -> None:
    found = {s for s in shapes(shrunk(mixed(X)[:steps, column])).values() if len(s) == 2}
    assert max(s[1] for s in found) == kept
    assert max(s[0] for s in found) == steps


def test_a_history_that_is_a_result_stays_whole() -> None:
    y = states(X)
    assert (STEPS, WIDTH) in shapes(shrunk(y, y[:2] * 2.0)).values()


def test_a_history_that_is_read_at_data_stays_whole() -> None:
    at = ted.placeholder((2,), "int64", name="at")
    y = states(X)
    picked = ted.compute((2, WIDTH), lambda i, j: y[at[i], j], name="picked")
    f = ted.compile([X, at], picked)
    np.testing.assert_array_equal(f(ARRAY, np.array([8, 1])), ted.function(states)(ARRAY)[[8, 1]])


def assert_close(found: Any, wanted: Any) -> None:
    """Equal but for 2 ulp: other loops are made of a part, and a product may go into a sum."""
    np.testing.assert_array_max_ulp(found, wanted, maxulp=2)


@pytest.mark.fast(1)
@swept(
    ("reverse", "part"),
    [(reverse, part) for reverse in (False, True) for part in PARTS],
    [(False, "the last step"), (False, "columns"), (True, "first steps"), (True, "two parts")],
)
def test_compiled_parts_and_their_gradients_are_those_of_the_whole(
    part: str, reverse: bool
) -> None:
    cut, _ = PARTS[part]

    def of(x: Any) -> Any:
        return cut(states(x, reverse=reverse))

    whole = ted.function(lambda x: states(x, reverse=reverse))(ARRAY)
    wanted = ted.function(cut)(whole)
    assert_close(ted.function(of)(ARRAY), wanted)
    check_grads(of, [ARRAY], order=2)
    both = ted.function(lambda x: (of(x), states(x, reverse=reverse)))(ARRAY)
    assert_close(both[0], wanted)
    assert_close(both[1], whole)
