"""Checkpoints of functions and of segments of scans: the same values, marked to be made again."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.ir.equations import topological
from ted.testing.tracing import interpreted
from ted.transforms.overrides import override_of

X = ted.placeholder((5,), "float64", name="x")
H = ted.placeholder((), "float64", name="h")
ARRAYS = [np.array([0.5, -1.0, 2.0, 0.25, 1.5]), np.array(0.75)]


def run(*tensors: Any) -> list[Any]:
    return [r.tolist() for r in interpreted([X, H], tensors)(*ARRAYS)]


def step(h: Any, x: Any) -> tuple[Any, Any]:
    new = ted.tanh(h * x) + x
    return new, new * h


def scanned(**options: Any) -> list[Any]:
    last, ys = ted.scan(step, H, X, **options)
    return [last, ys, *ted.differentiate(last + ted.sum(ys * ys), [X, H])]


@pytest.mark.fast(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [1, np.int64(2), 5, True, "sqrt"])
def test_segments_change_no_value_and_no_gradient(checkpoint: Any, reverse: bool) -> None:
    plain = run(*scanned(reverse=reverse))
    for one, other in zip(
        plain, run(*scanned(reverse=reverse, checkpoint=checkpoint)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize(("length", "root"), [(0, 1), (1, 1), (5, 3), (9, 3), (11, 4), (16, 4)])
def test_segments_of_the_least_memory_have_about_the_root_of_the_steps(length: int, root: int):
    xs = ted.placeholder((length,), "float64", name="xs")

    def program(checkpoint: Any) -> str:
        last, ys = ted.scan(step, H, xs, checkpoint=checkpoint)
        return str(ted.module([last, ys]))

    assert program(True) == program("sqrt") == program(root)
    assert length < 3 or program(True) != program(1) != program(length)


@pytest.mark.parametrize("wrong", ["root", 0, -1, 1.5, np.float32(2), np.array([2]), math.nan, ()])
def test_segments_of_no_length_are_refused(wrong: Any) -> None:
    message = (
        "scan: checkpoint is a number of steps, at least 1, or True for the least memory, got "
        f"{wrong!r}; leave it out to keep every carry"
    )
    with pytest.raises(FrontendError, match=re.escape(message)):
        ted.scan(step, H, X, checkpoint=wrong)


def test_segments_of_a_length_without_inputs() -> None:
    last, _ = ted.scan(lambda h, _: (h * 2.0, None), H, length=5, checkpoint=2)
    assert run(last) == [0.75 * 32]


def test_results_of_a_checkpoint_carry_what_makes_them_again() -> None:
    def pair(x: Any) -> Any:
        inner = ted.exp(x)
        return {"a": inner * x, "b": None, "c": ted.sin(inner)}

    plain, marked = pair(X), ted.checkpoint(pair)(X)
    assert marked["b"] is None
    assert run(marked["a"], marked["c"]) == run(plain["a"], plain["c"])
    assert override_of(marked["a"].node) is not None
    (one,) = ted.differentiate(ted.sum(plain["a"] * plain["c"]), [X])
    (other,) = ted.differentiate(ted.sum(marked["a"] * marked["c"]), [X])
    np.testing.assert_allclose(run(one)[0], run(other)[0], rtol=1e-13)
    again = [e for t in topological([other.node]) for e in t.equations if e.recomputed]
    assert again
    assert ted.checkpoint(lambda x: x * 2.0)(ARRAYS[0]).tolist() == (2 * ARRAYS[0]).tolist()


def test_a_result_of_a_checkpoint_that_is_no_tensor_is_named_by_its_place() -> None:
    with pytest.raises(FrontendError, match="checkpoint: results must be tensors, got str at b"):
        ted.checkpoint(lambda x: {"a": x, "b": "x"})(X)
