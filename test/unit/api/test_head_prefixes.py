"""Heads with dims in front: the gradients of every index of these dims, one by one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ted
from ted.api.head_prefixes import split_heads
from ted.errors import DerivativeError
from ted.testing.tracing import interpreted

X = ted.placeholder((3,), "float64", name="x")
W = ted.placeholder((2, 3), "float64", name="w")
UNREAD = ted.placeholder((4,), "float64", name="unread")
Y = ted.sin(W @ X)
Z = ted.sum(Y * Y) * X
RNG = np.random.default_rng(5)
POINT = {t: RNG.normal(size=t.shape) for t in (X, W, UNREAD)}


def run(tensors: Any, heads: dict[Any, Any]) -> list[Any]:
    given = {**POINT, **heads}
    return list(interpreted(list(given), list(tensors))(*given.values()))


def heads_of(*prefix: int) -> list[Any]:
    return [ted.placeholder((*prefix, *t.shape), "float64", name=f"d{t.name}") for t in (Y, Z)]


def shown(found: Any) -> list[Any]:
    """Gradients, adjoints of what lies between, and the parts of these."""
    parts = found.adjoint_summands
    return [*found, found.adjoints[Y], *(p for t in (X, W, Y) for p in parts[t].values())]


@pytest.mark.parametrize("prefix", [(4,), (2, 5), (1, 3, 2), (0,)])
def test_every_index_in_front_has_the_gradients_of_its_own_head(prefix: tuple[int, ...]) -> None:
    single, several = heads_of(), heads_of(*prefix)
    alone = shown(ted.differentiate([Y, Z], [X, W, UNREAD], single))
    found = shown(ted.differentiate([Y, Z], [X, W, UNREAD], several))
    numbers = [RNG.normal(size=h.shape) for h in several]
    results = run(found, dict(zip(several, numbers, strict=True)))
    assert [r.shape for r in results] == [(*prefix, *t.shape) for t in alone]
    for index in np.ndindex(prefix):
        one = {h: a[index] for h, a in zip(single, numbers, strict=True)}
        for result, expected in zip(results, run(alone, one), strict=True):
            np.testing.assert_allclose(result[index], expected, rtol=1e-12, atol=1e-13)


def test_an_input_that_nothing_reads_has_zeros_for_all_heads() -> None:
    found = ted.differentiate([Y, Z], [UNREAD, X], heads_of(2, 5))
    assert found[0].shape == (2, 5, 4)
    assert [t.name for t in found.unused] == ["unread"]


def test_one_hot_heads_are_written_like_other_tensors() -> None:
    (jacobian,) = ted.differentiate(Y, [X], ted.eye(2, "float64"))
    (result,) = run([jacobian], {})
    w, x = POINT[W], POINT[X]
    np.testing.assert_allclose(result, np.cos(w @ x)[:, None] * w, rtol=1e-12)


def test_gradients_of_all_heads_have_gradients() -> None:
    head = ted.placeholder((4, 2), "float64", name="h")
    (dx,) = ted.differentiate(Y, [X], head)
    (dhead,) = ted.differentiate(ted.sum(dx * dx), [head])
    number = RNG.normal(size=(4, 2))
    slope = np.cos(POINT[W] @ POINT[X])[:, None] * POINT[W]
    (found,) = run([dhead], {head: number})
    np.testing.assert_allclose(found, 2 * number @ slope @ slope.T, rtol=1e-12)


def test_heads_without_dims_in_front_are_left_alone() -> None:
    heads = heads_of()
    found = split_heads([Y, Z], heads)
    assert found.prefix == ()
    assert found.given == found.single == tuple(h.node for h in heads)


def p(shape: tuple[int, ...], dtype: str = "float64") -> Any:
    return ted.placeholder(shape, dtype, name="h")


@pytest.mark.parametrize(
    ("output", "head", "message"),
    [
        (Y, p((3,)), "got float64[3] for sin: float64[2]"),
        (Y, p((4, 3)), "got float64[4, 3] for sin: float64[2]"),
        (Y, p(()), "got float64[] for sin: float64[2]"),
        (Y, p((4, 2), "float32"), "got float32[4, 2] for sin: float64[2]"),
        (W * 1.0, p((2,)), "got float64[2] for mul: float64[2, 3]"),
        (W * 1.0, p((3,)), "got float64[3] for mul: float64[2, 3]"),
    ],
)
def test_a_head_ends_like_its_output(output: Any, head: Any, message: str) -> None:
    rule = (
        "differentiate: a head has the shape and type of its output, with dims in front of it or "
        f"none, {message}"
    )
    with pytest.raises(DerivativeError, match=re.escape(rule)):
        ted.differentiate(output, [X, W], head)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [((4,), (3,), "got [4] and [3]"), ((), (3,), "got [] and [3]"), ((4,), (), "got [4] and []")],
)
def test_heads_have_the_same_dims_in_front(first: Any, second: Any, message: str) -> None:
    heads = [heads_of(*first)[0], heads_of(*second)[1]]
    rule = f"have the same dims in front of the shapes of their outputs, {message}"
    with pytest.raises(DerivativeError, match=re.escape(rule)):
        ted.differentiate([Y, Z], [X], heads)
