"""Steps of a scan that go through derivatives of the user's: against the same steps unrolled.

The derivatives are deliberately not those of the functions, so that one sees which are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from sweeps import swept
from ted.testing import check_grads

RNG = np.random.default_rng(0)
STEPS = 3
ARGS = (RNG.normal(size=3), RNG.normal(size=(STEPS, 3)), RNG.normal(size=(3, 3)) / 2)
TANGENTS = tuple(RNG.normal(size=a.shape) for a in ARGS)
Program = Callable[..., Any]


@ted.custom_vjp
def odd(x):
    """A cube, whose derivative is said to be 7 x + y / 2."""
    return x * x * x


odd.defvjp(lambda inputs, outputs, heads: 7 * inputs[0] * heads[0] + outputs[0] * heads[0] / 2)


@ted.custom_vjp
def nested(x):
    """A derivative that calls a function with a derivative of its own."""
    return ted.sin(odd(x))


nested.defvjp(lambda inputs, outputs, heads: 2 * odd(inputs[0]) * heads[0])


@ted.custom_vjp
def pair(x, y):
    """Two results of two arguments."""
    return x * y, x + y


pair.defvjp(
    lambda inputs, outs, heads: (
        3 * heads[0] * inputs[1] + heads[1] * outs[0], 2 * heads[1] + inputs[0] * heads[0]
    )
)  # fmt: skip

STATES: dict[str, Program] = {
    "custom": odd,
    "nested": nested,
    "pair": lambda c: pair(c, ted.cos(c))[0] + pair(ted.sin(c), c)[1],
    "checkpoint": ted.checkpoint(lambda c: ted.sin(odd(c) * c)),
}


def programs(state: Program, reverse: bool = False) -> tuple[Program, Program]:
    """The program as a scan, and its steps one after the other."""

    def step(c, x, w):
        after = state(ted.tanh(c @ w + x))
        return after, ted.sin(after)

    def scanned(start, xs, w):
        h, ys = ted.scan(lambda c, x: step(c, x, w), start, xs, reverse=reverse)
        return ted.sum(h * h) + ted.sum(ys * ys * xs)

    def unrolled(start, xs, w):
        h, ys = start, [None] * STEPS
        for t in reversed(range(STEPS)) if reverse else range(STEPS):
            h, ys[t] = step(h, xs[t], w)
        y = ted.stack(ys)
        return ted.sum(h * h) + ted.sum(y * y * xs)

    return scanned, unrolled


def second(fn: Program) -> Program:
    """A gradient of a function of all gradients."""

    def of_gradients(*args):
        return sum((ted.sum(ted.sin(g)) for g in ted.grad(fn, (0, 1, 2))(*args)), 0.0)

    return ted.grad(of_gradients, (0, 1, 2))


BATCH = (RNG.normal(size=(2, 3)), *ARGS[1:])
MODES: dict[str, tuple[Program, tuple[Any, ...]]] = {
    "grad": (lambda f: ted.grad(f, (0, 1, 2)), ARGS),
    "jvp": (lambda f: lambda *args: ted.jvp(f, args, TANGENTS), ARGS),
    "hvp": (lambda f: lambda *args: ted.hvp(f, args, TANGENTS), ARGS),
    "second": (second, ARGS),
    "vmap": (lambda f: ted.vmap(ted.grad(f, (0, 2)), (0, None, None)), BATCH),
}


FAST = [("custom", "second"), ("pair", "jvp"), ("checkpoint", "grad"), ("nested", "vmap")]


@pytest.mark.fast(1)
@swept(("state", "mode"), [(state, mode) for state in STATES for mode in MODES], FAST)
def test_a_carry_goes_through_derivatives_of_the_users_own(state, mode) -> None:
    transform, args = MODES[mode]
    found, wanted = (transform(f)(*args) for f in programs(STATES[state]))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.slow
def test_a_carry_goes_through_them_in_reverse_time() -> None:
    transform, args = MODES["second"]
    found, wanted = (transform(f)(*args) for f in programs(odd, reverse=True))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_checkpointed_step_has_the_derivatives_of_the_step() -> None:
    step = ted.checkpoint(lambda c, x: (ted.tanh(c * x), ted.sin(c)))
    check_grads(
        lambda start, xs: ted.scan(step, start, xs), ARGS[:2], order=2, modes=("fwd", "rev")
    )


@pytest.mark.fast(1)
@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_carry_that_begins_with_zeros_moves_from_the_second_step_on(steps, reverse) -> None:
    step = ted.checkpoint(lambda c, x: (ted.where(x > 0, ted.sin(c), c * c) + x, c * x))

    def scanned(xs):
        return ted.scan(step, ted.zeros((3,), "float64"), xs, reverse=reverse)

    check_grads(scanned, [ARGS[1][:steps]], order=2, modes=("fwd", "rev"))


def test_a_derivative_may_be_a_recurrence_itself() -> None:
    @ted.custom_vjp
    def summed(x):
        return ted.sin(x)

    summed.defvjp(lambda inputs, outputs, heads: ted.cumsum(heads[0], 0))

    def last(start, xs):
        return ted.sum(ted.scan(lambda c, x: (summed(c) + x, None), start, xs)[0])

    slope = np.ones(3)
    for _ in ARGS[1]:
        slope = np.cumsum(slope)
    np.testing.assert_allclose(ted.function(ted.grad(last))(*ARGS[:2]), slope, rtol=1e-14)


@ted.custom_vjp
def _cube(a: Any, b: Any) -> Any:
    return b**3  # b stands for a, of which the value reads nothing


@_cube.defvjp
def _cube_adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
    a, b = inputs
    return heads[0] * 3 * _square(a * 1.5, b * 1.5) / 2.25, None


@ted.custom_vjp
def _square(a: Any, b: Any) -> Any:
    return b**2


@_square.defvjp
def _square_adjoint(inputs: Any, outputs: Any, heads: Any) -> Any:
    return heads[0] * 2 * inputs[0], None


def _of_itself(a: Any) -> Any:
    return _cube(a, ted.stop_gradient(a))


def _in_steps(a: Any) -> Any:
    return ted.scan(lambda c, x: (c + _of_itself(x), c), ted.zeros((), dtype="float64"), a)[0]


@pytest.mark.parametrize("function", [_of_itself, lambda a: ted.vmap(_of_itself)(a), _in_steps])
def test_what_an_adjoint_reads_and_a_value_does_not_has_a_derivative(function: Any) -> None:
    x = np.array([2.0, 3.0])
    first = ted.grad(lambda a: ted.sum(function(a)))
    np.testing.assert_allclose(ted.grad(lambda a: ted.sum(first(a)))(x), 6 * x)
