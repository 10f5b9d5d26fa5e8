"""A choice that is the same at every point is a test around its loop, and only one side is run."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.linalg

import ted
from unit.frontend.tracing import placeholders

X, W = np.random.default_rng(1).normal(size=(2, 16, 16))


def program(x, w):
    y = ted.cond(ted.sum(x) > 0, lambda x: ted.tanh(x @ w), lambda x: x * 2.0, x)
    return [y, *ted.differentiate(y, [x, w], head=ted.ones_like(y))]


def branches(text):
    """What stands behind each test: the lines of both sides."""
    return re.findall(r"scf\.if .*?\n    }(?: else {\n.*?\n    })?", text, re.DOTALL)


def test_every_product_stands_behind_the_test_of_its_branch() -> None:
    x, w = placeholders(X, W)
    f = ted.compile([x, w], program(x, w))
    text = f.ir("linalg")
    inside = "\n".join(branches(text))
    assert text.count("linalg.matmul") == inside.count("linalg.matmul") == 3
    assert text.count("math.tanh") == inside.count("math.tanh") == 1
    assert "form: " not in text
    assert f.explain().count("contraction, boxes = 1") == 3
    for sign in (1, -1):
        at = sign * np.abs(X)
        y, dx, dw = f(at, W)
        t = np.tanh(at @ W)
        wanted = (t, (1 - t * t) @ W.T, at.T @ (1 - t * t))
        if sign < 0:
            wanted = (2 * at, np.full_like(X, 2), np.zeros_like(W))
        for found, value in zip((y, dx, dw), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-11, atol=1e-12)


def test_a_choice_of_few_points_or_of_two_elements_is_made_at_each_point() -> None:
    p = ted.placeholder((), "bool", name="p")
    x, w = placeholders(X, W)
    few = ted.where(p, ted.tanh(x[0]), 0.0)
    short = ted.where(p, x, w)
    text = ted.compile([p, x, w], [few, short]).ir("linalg")
    assert "scf.if" not in text


@pytest.mark.parametrize("taken", [True, False])
def test_steps_of_a_branch_may_look_for_a_place(taken: bool) -> None:
    f = ted.function(lambda p, a: ted.cond(p, lambda a: ted.linalg.lu(a)[2], lambda a: -a, a))
    a = X[:3, :3]
    wanted = scipy.linalg.lu(a)[2] if taken else -a
    np.testing.assert_allclose(f(np.array(taken), a), wanted, rtol=1e-12, atol=1e-14)


def test_conditions_of_conditions() -> None:
    p, q = (ted.placeholder((), "bool", name=n) for n in "pq")
    x, w = placeholders(X, W)

    def inner(x):
        return ted.cond(q, lambda x: x @ w, lambda x: ted.exp(x), x)

    f = ted.compile([p, q, x, w], ted.cond(p, inner, lambda x: x, x))
    for first in (True, False):
        for second in (True, False):
            wanted = (X @ W if second else np.exp(X)) if first else X
            found = f(np.array(first), np.array(second), X, W)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_steps_after_the_condition_failed_are_a_test() -> None:
    x, w = placeholders(X[0], W)

    def doubled(val):
        return {"count": val["count"] + 1, "h": ted.tanh(val["h"] @ w) * 2.0}

    def small(val):
        return ted.sum(val["h"] ** 2) < 40.0

    found = ted.while_loop(small, doubled, {"count": 0, "h": x}, 1000, truncate=True)
    text = ted.compile([x, w], found["h"]).ir("linalg")
    loop = text[text.index("scf.for") :]
    behind = [part.split("} else {")[0] for part in loop.split("scf.if ")[1:]]
    assert loop.count("math.tanh") == 1
    assert [part.count("math.tanh") for part in behind] == [0, 1]
    (dx,) = ted.differentiate(ted.sum(found["h"]), [x])
    text = ted.compile([x, w], dx).ir("linalg")
    loops = text.split("scf.for")[1:]
    assert any("scf.if" in loop.split("math.")[0] for loop in loops)
    assert all("arith.select" not in loop for loop in loops)


def left(found, *inputs):
    """Whether the loop over time of a program may be left."""
    return "@ted_loop_goes_on(%" in ted.compile(list(inputs), found).ir("linalg")


def test_loops_are_left_when_later_steps_would_change_nothing() -> None:
    x, w = placeholders(X[0], W)

    def body(val):
        return val[0] + 1, ted.tanh(val[1] @ w) + val[1]

    many = 10**9  # nobody waits for so many
    f = ted.compile([x], ted.while_loop(lambda h: h[0] < 9.0, lambda h: h + h, abs(x) + 1, many))
    assert f(X[0])[0] >= 9
    both = ted.while_loop(lambda val: ted.sum(val[1] ** 2) < 40.0, body, (0, x), many)
    count, h = ted.compile([x, w], list(both))(X[0], W)
    again = ted.while_loop(lambda val: ted.sum(val[1] ** 2) < 40.0, body, (0, x), int(count))
    np.testing.assert_array_equal(ted.compile([x, w], again[1])(X[0], W), h)


def test_loops_of_which_more_is_read_are_not_left() -> None:
    (x,) = placeholders(X[0])

    def step(val, _):
        going, h, steps = val
        going = going & (h[0] < 9.0)
        return (going, ted.where(going, h * 2.0, h), steps + 1), h

    (going, h, steps), hs = ted.scan(step, (True, x, 0), length=7)
    assert left([going, h], x)
    assert left([h, steps], x)  # what counts on is a loop of its own
    assert not left([h, hs], x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_conditions_on_floats_of_16_bits_are_tested_in_32(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)

    def steps(xs: ted.Tensor, start: ted.Tensor) -> ted.Tensor:
        return ted.scan(lambda c, x: (ted.where(x > 0, c + x, x), None), start, xs)[0]

    xs = np.array([1.5, 2.5, -1.0, 3.0], kind)
    assert ted.function(steps)(xs, np.zeros((), kind)) == 2
    a = np.eye(9, dtype=kind)
    product = ted.function(lambda p, a: ted.where(p > 0.5, a @ a, 0))
    for p in (0.75, 0.25):
        np.testing.assert_array_equal(product(np.array(p, kind), a), a * (p > 0.5))


def test_a_tested_equation_may_have_dims_of_one_point() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 8, 32)), rng.normal(size=(32, 16))

    def product(p: Any, x: Any, w: Any) -> Any:
        zeros = ted.zeros((1, 8, 16), "float64")
        return ted.cond(p, lambda: ted.einsum("bik,kj->bij", x, w), lambda: zeros)

    def squares(p: Any, x: Any) -> Any:
        return ted.cond(p, lambda: ted.sum(x * x, axis=2), lambda: ted.zeros((1, 8), "float64"))

    yes, no = np.bool_(True), np.bool_(False)
    np.testing.assert_allclose(ted.function(product)(yes, x, w), x @ w, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ted.function(product)(no, x, w), np.zeros((1, 8, 16)))
    np.testing.assert_allclose(ted.function(squares)(yes, x), (x * x).sum(2), rtol=1e-12)
