"""Random recurrences: several tensors, lags, triangles and directions; gradients of two orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor, recurrent_tensors
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, compare, const, dim, index, land, load, mul, select, sub
from ted.testing.tracing import interpreted, module_of
from ted.transforms import gradient
from ted.transforms.ted_check_bounds import violations
from ted.transforms.ted_fuse_pointwise import fuse_pointwise
from unit.transforms.recurrences import equation, given, history

STEPS, WIDTH = 4, 3
STEP = 1e-5
Array = np.ndarray[Any, Any]


class Program:
    """One to three tensors over (time, place) or (place, time) that read each other's past."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.time = self.pick(0, 1)
        self.reverse = bool(self.pick(False, True))
        self.x, self.w = given("x", *self.at(STEPS, WIDTH)), given("w", WIDTH, WIDTH)
        names = "abc"[: int(self.random.integers(1, 4))]
        self.group = [
            history(n, *self.x.shape, time=self.time, reverse=self.reverse) for n in names
        ]
        for number, tensor in enumerate(self.group):
            tensor.equations = tuple(self.equations(number))

    def pick(self, *choices: Any) -> Any:
        """One of the choices."""
        return choices[int(self.random.integers(len(choices)))]

    def at(self, t: Any, place: Any) -> tuple[Any, Any]:
        """Time and place in the order of the dims."""
        return (t, place) if self.time == 0 else (place, t)

    def equations(self, number: int) -> list[Equation]:
        """A pointwise start, then perhaps a contraction over places or over earlier steps."""
        t, place = dim(self.time), dim(1 - self.time)
        start = equation(self.x.shape, self.pointwise(t, place, number))
        rest = {"none": [], "places": [self.over_places(t)], "steps": [self.over_steps(t, place)]}
        return [start, *rest[self.pick(*rest)]]

    def lagged(self, t: Expr, place: Expr) -> Expr:
        """Some tensor one or two steps ago, or a constant before there are any."""
        lag, shift = int(self.pick(1, 1, 2)), int(self.pick(0, 0, 1))
        seen = add(t, index(lag)) if self.reverse else sub(t, index(lag))
        inside = land(
            land(compare("le", index(0), seen), compare("lt", seen, index(STEPS))),
            compare("lt", place, index(WIDTH - shift)),
        )
        value = load(self.pick(*self.group), self.at(seen, add(place, index(shift))))
        return select(inside, value, const(0.5, FLOAT64))

    def pointwise(self, t: Expr, place: Expr, number: int) -> Expr:
        """Reads of the past, of the input, and of tensors that this step has completed."""
        leaves = [self.lagged(t, place), load(self.x, self.at(t, place)), self.lagged(t, place)]
        leaves += [load(other, self.at(t, place)) for other in self.group[:number]]
        value = leaves[0]
        for leaf in leaves[1:]:
            value = self.pick(add, mul, lambda a, b: apply("maximum", a, b))(value, leaf)
        return apply(self.pick("sin", "tanh"), value)

    def over_places(self, t: Expr) -> Equation:
        """`+= past[t - 1, r] * w[r, place]`."""
        place, r = dim(1 - self.time), dim(2)
        past = add(t, index(1)) if self.reverse else sub(t, index(1))
        where = land(compare("le", index(0), past), compare("lt", past, index(STEPS)))
        body = mul(load(self.pick(*self.group), self.at(past, r)), load(self.w, (r, place)))
        return equation((*self.x.shape, WIDTH), body, "add", 2, where)

    def over_steps(self, t: Expr, place: Expr) -> Equation:
        """`+= earlier[r, place] * x[t, place]` over all earlier steps r."""
        r = dim(2)
        where = compare("lt", t, r) if self.reverse else compare("lt", r, t)
        past = load(self.pick(*self.group), self.at(r, place))
        body = mul(past, load(self.x, self.at(t, place)))
        return equation((*self.x.shape, STEPS), body, "add", 2, where)


def inner(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(xs, ys, strict=True))


def check(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], random: np.random.Generator
) -> tuple[list[Tensor], list[Tensor]]:
    """Compare the gradients of outputs with differences; returns them and all their inputs."""
    heads = [given(f"d{n}", *t.shape) for n, t in enumerate(outputs)]
    found = gradient.differentiate(list(outputs), list(inputs), heads).gradients
    module = module_of((*inputs, *heads), found)
    with module.context:
        assert list(violations(module)) == []
    arrays = [random.standard_normal(t.shape) for t in inputs]
    weights = [random.standard_normal(t.shape) for t in heads]
    along = [random.standard_normal(t.shape) for t in inputs]
    run = interpreted(inputs, outputs)
    up = run(*(a + STEP * v for a, v in zip(arrays, along, strict=True)))
    down = run(*(a - STEP * v for a, v in zip(arrays, along, strict=True)))
    moved = (inner(up, weights) - inner(down, weights)) / (2 * STEP)
    gradients = interpreted((*inputs, *heads), found)(*arrays, *weights)
    assert inner(gradients, along) == pytest.approx(moved, rel=1e-5, abs=1e-5)
    fused, _ = fuse_pointwise(System((*inputs, *heads), tuple(found)))
    for one, other in zip(
        interpreted(fused.inputs, fused.outputs)(*arrays, *weights), gradients, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    return [*inputs, *heads], list(found)


def checked(seed: int) -> None:
    program = Program(seed)
    if not recurrent_tensors(program.group):
        return
    inputs, gradients = check((program.x, program.w), program.group, program.random)
    check(inputs, gradients, program.random)


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", range(8))
def test_random_recurrences_have_right_gradients(seed: int) -> None:
    checked(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 150, 25))
def test_many_random_recurrences_have_right_gradients(first: int) -> None:
    for seed in range(first, first + 25):
        checked(seed)
