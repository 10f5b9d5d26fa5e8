"""Batching at the level of systems: one more parallel dim, whatever the equations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted
from ted.domain import sets
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import Equation, topological
from ted.ir.equations import Tensor as Node
from ted.ir.scalar import add, apply, compare, const, dim, index, load, mul, select, sub
from ted.testing.tracing import interpreted, module_of
from ted.transforms.batching import Batched, batch
from ted.transforms.ted_report_gradient import report_function
from unit.transforms.test_gradient_promises import OPERATORS, p

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.usefixtures("float64_in_jax")
jnp = jax.numpy

RNG = np.random.default_rng(3)
EXTENT = 3


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_batched_gradient_has_the_gradients_of_its_members_and_their_forms(name: str) -> None:
    y = OPERATORS[name]()
    head = p("head", *y.shape)
    inputs = [n for n in topological([y.node]) if n.is_input]
    gradients = [g.node for g in ted.differentiate(y, [wrap(n) for n in inputs], head)]
    singles = [*inputs, head.node]
    # Every other input is shared, and the batch dim of the rest stands last.
    moving = [k for k in range(len(singles)) if k % 2 == 0 or k == len(singles) - 1]
    wide = [
        replace(n, shape=(*n.shape, EXTENT)) if k in moving else replace(n)
        for k, n in enumerate(singles)
    ]
    given = {
        n: Batched(w, len(n.shape) if k in moving else None)
        for k, (n, w) in enumerate(zip(singles, wide, strict=True))
    }
    found = [batch(gradients, given, EXTENT)[g] for g in gradients]
    arrays = [RNG.normal(size=w.shape) for w in wide]
    values = interpreted(wide, [b.tensor for b in found])(*arrays)
    one = interpreted(singles, gradients)
    for member in range(EXTENT):
        own = [a[..., member] if k in moving else a for k, a in enumerate(arrays)]
        for value, b, expected in zip(values, found, one(*own), strict=True):
            at = value if b.axis is None else value[member]
            np.testing.assert_allclose(at, expected, rtol=1e-13, atol=1e-13)
    module = module_of(wide, [b.tensor for b in found])
    with module.context:
        assert not report_function(module, "main", results=0).scatters


# ------------------------------------------------------------------ recurrences


def recurrence(x: Tensor) -> Tensor:
    """h[t] = tanh(h[t-1]) + x[t] * h[t-1] + x[t], as a tensor that reads itself."""
    t, i = dim(0), dim(1)
    h = Node("h", x.shape, x.dtype, 0, time=0)
    before = select(compare("lt", index(0), t), load(h, [sub(t, index(1)), i]), const(0, x.dtype))
    now = load(x.node, [t, i])
    body = add(add(apply("tanh", before), mul(now, before)), now)
    h.equations = (Equation(x.shape, 2, sets.box(x.shape), (t, i), "set", body),)
    return wrap(h)


def unrolled(x: Any) -> Any:
    h, rows = jnp.zeros_like(x[0]), []
    for row in x:
        h = jnp.tanh(h) + row * h + row
        rows.append(h)
    return jnp.stack(rows)


def squares(lib: Any, fn: Any) -> Any:
    return lambda x: lib.sum(fn(x) ** 2)


MIXTURES = {
    "jvp": lambda m, f, x: m.jvp(f, (x,), (x * x,)),
    "grad": lambda m, f, x: m.grad(squares(m, f))(x),
    "jvp(grad)": lambda m, f, x: m.jvp(m.grad(squares(m, f)), (x,), (x * x,)),
    "jacobian": lambda m, f, x: m.jacobian(f)(x),
    "vmap": lambda m, f, x: m.vmap(lambda c: f(x * c))(x[0]),
    "vmap(grad)": lambda m, f, x: m.vmap(lambda c: m.grad(squares(m, f))(x * c))(x[0]),
    "grad(vmap)": lambda m, f, x: m.grad(lambda x: m.sum(m.vmap(lambda c: f(x * c))(x[0]) ** 2))(x),
}


class Jax:
    """The names of ted, from jax."""

    sum = staticmethod(jnp.sum)
    grad, jvp = staticmethod(jax.grad), staticmethod(jax.jvp)
    vmap, jacobian = staticmethod(jax.vmap), staticmethod(jax.jacrev)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", MIXTURES)
def test_modes_of_a_recurrence_equal_those_of_its_unrolled_form(name: str) -> None:
    x, at = p("x", 5, 3), RNG.normal(size=(5, 3))
    found = MIXTURES[name](ted, recurrence, x)
    outputs = list(found) if isinstance(found, tuple) else [found]
    expected = jax.jit(lambda x: MIXTURES[name](Jax, unrolled, x))(at)
    expected = expected if isinstance(expected, tuple) else [expected]
    for value, theirs in zip(interpreted([x], outputs)(at), expected, strict=True):
        np.testing.assert_allclose(value, np.asarray(theirs), rtol=1e-10, atol=1e-11)


def test_a_recurrence_that_reads_where_its_own_integers_say() -> None:
    x = RNG.normal(size=(2, 3, 4))

    def largest(x: Any) -> Any:
        r = ted.reduce_axis(4, "r")

        def place(_p: Any, total: Any, t: Any) -> Any:
            return ted.argmax(x[t, r] + ted.where(t > 0, total[t - 1], 0.0), axis=r)

        def value(place: Any, total: Any, t: Any) -> Any:
            return x[t, place[t]] * 2 + ted.where(t > 0, total[t - 1], 0.0)

        return ted.recurrence([(3,), (3,)], [place, value], ["int64", "float64"])[1]

    found = ted.vmap(largest)(x)
    np.testing.assert_allclose(found, np.cumsum(2 * x.max(-1), -1), rtol=1e-14)
