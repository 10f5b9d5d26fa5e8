"""`ted.laplacian` against Hessians of ted and of JAX, and against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import nn
from ted.errors import DerivativeError, FrontendError

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.usefixtures("float64_in_jax")
jnp = jax.numpy

RNG = np.random.default_rng(3)
W1, W2 = RNG.normal(size=(3, 4)), RNG.normal(size=4)
X, M = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))


def agree(ours: Any, theirs: Any) -> None:
    mine, reference = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(mine) == len(reference) > 0
    for a, b in zip(mine, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def trace_of(fn: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The Laplacian of a function of JAX by its Hessian."""

    def second(*args: Any) -> Any:
        hessian, size = jax.hessian(fn, argnum)(*args), args[argnum].size
        shape = hessian.shape[: hessian.ndim - 2 * args[argnum].ndim]
        return jnp.trace(hessian.reshape(*shape, size, size), axis1=-2, axis2=-1)

    return second


def network(m: Any) -> Callable[..., Any]:
    return lambda p, x: m.sum(m.tanh(m.tanh(x @ p[0]) * p[1]) ** 2)


def residual(m: Any, lap: Callable[..., Any], mapped: Any) -> Callable[..., Any]:
    """A loss over points of the Laplacian, as physics-informed networks have it."""
    return lambda p, xs: m.mean((mapped(lap)(p, xs) - m.sum(xs, axis=1)) ** 2)


def test_a_network_at_points_with_gradients_equals_jax() -> None:
    params = (W1, W2)
    ours = residual(ted, ted.laplacian(network(ted), 1), lambda f: ted.vmap(f, (None, 0)))
    theirs = residual(jnp, trace_of(network(jnp), 1), lambda f: jax.vmap(f, (None, 0)))
    agree(ted.value_and_grad(ours)(params, X), jax.jit(jax.value_and_grad(theirs))(params, X))


def kinks(m: Any) -> Callable[..., Any]:
    """A choice, an extremum, a product and a sum, of a matrix."""
    return lambda x: m.max(m.where(x > 0, m.sin(x) * x, m.exp(x)), axis=0) * m.prod(x, axis=0)


def layout(m: Any) -> Callable[..., Any]:
    return lambda x: m.concatenate([m.sin(x[::-1])[1:], x**3]) * m.cumsum(m.cos(x))[2]


def two_results(m: Any) -> Callable[..., Any]:
    return lambda x: {"a": m.exp(x @ W1) * m.sum(x), "b": m.floor(x[0]) * x[1]}


def test_several_kinds_of_equations_equal_jax_and_the_trace_of_a_hessian() -> None:
    x = X[0]

    def ours(x: Any, m: Any) -> Any:
        found = ted.laplacian(kinks(ted))(m), ted.laplacian(layout(ted))(x)
        twice = ted.laplacian(ted.laplacian(lambda x: ted.sum(ted.sin(x) * x[0])))
        trace = ted.trace(ted.hessian(lambda x: ted.sum(ted.tanh(x @ W1)))(x))
        alone = ted.laplacian(lambda x: ted.sum(ted.tanh(x @ W1)))(x)
        return *found, twice(x), trace - alone, ted.laplacian(two_results(ted))(x)

    @jax.jit
    def theirs(x: Any, m: Any) -> Any:
        found = trace_of(kinks(jnp))(m), trace_of(layout(jnp))(x)
        twice = trace_of(trace_of(lambda x: jnp.sum(jnp.sin(x) * x[0])))(x)
        by_name = {"a": trace_of(lambda x: two_results(jnp)(x)["a"])(x), "b": 0.0}
        return *found, twice, 0.0, by_name

    agree(ted.function(ours)(x, M), theirs(x, M))


def test_several_arguments_are_summed_over_together() -> None:
    def u(p: Any, s: Any) -> Any:
        return ted.sum(ted.sin(p["a"] * s) * p["b"])

    p = {"a": np.array([0.5, 2.0]), "b": np.array([3.0, 4.0])}
    found = ted.function(
        lambda p, s: (ted.laplacian(u, (0, "s"))(p, s), ted.laplacian(u, "s")(p, s))
    )(p, np.array(0.7))
    a, b, s = p["a"], p["b"], 0.7
    in_s = -np.sum(a**2 * b * np.sin(a * s))
    in_a = -np.sum(s**2 * b * np.sin(a * s))
    np.testing.assert_allclose(found, [in_a + in_s, in_s], rtol=1e-12)


def test_derivatives_of_the_user_curve_too() -> None:
    @ted.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    @cube.defvjp
    def _(inputs: Any, outputs: Any, heads: Any) -> Any:
        return 5 * inputs[0] ** 2 * heads[0]  # not 3: nobody looks at the function itself

    def f(x: Any) -> Any:
        return cube(ted.sin(x)) * x

    sin, cos, x = np.sin(X[0]), np.cos(X[0]), X[0]
    slope = 5 * sin**2 * cos
    curved = 10 * sin * cos**2 - 5 * sin**3
    found = ted.function(ted.vmap(lambda x: ted.sum(ted.laplacian(f)(x))))(X[:2])
    assert found[0] == pytest.approx(np.sum(2 * slope + x * curved))
    found = ted.function(ted.laplacian(lambda x: cube(ted.prod(x))))(x)
    assert found == pytest.approx(10 * np.prod(x) ** 3 * np.sum(1 / x**2))
    kept = ted.function(ted.laplacian(lambda x: ted.sum(ted.checkpoint(ted.sin)(x * x))))(x)
    assert kept == pytest.approx(np.sum(2 * np.cos(x**2) - 4 * x**2 * np.sin(x**2)))


def test_a_recurrence_of_tangents_and_one_of_their_sum() -> None:
    def f(m: Any) -> Callable[..., Any]:
        loop = ted.scan if m is ted else jax.lax.scan

        def last(x: Any) -> Any:
            def step(h: Any, _: Any) -> Any:
                return m.tanh(h * h * 0.5 + x), h[0]

            h, firsts = loop(step, x, None, length=4)
            return m.sum(h) + firsts

        return last

    agree(ted.function(ted.laplacian(f(ted)))(X[0]), jax.jit(trace_of(f(jnp)))(X[0]))


def test_it_is_differentiable_by_differences() -> None:
    def f(x: Any) -> Any:
        return ted.sum(nn.softmax(x @ W1)[0] * ted.sin(x))

    ted.testing.check_grads(ted.laplacian(f), [X[0]], order=2)


def test_errors_name_the_argument() -> None:
    with pytest.raises(DerivativeError, match="laplacian: argnums counts the 1 positional"):
        ted.laplacian(ted.sum, 1)(X)
    with pytest.raises(DerivativeError, match=r"laplacian: .*floats, got int64 as argument 0"):
        ted.laplacian(ted.sum)(np.arange(3))
    with pytest.raises(FrontendError, match="laplacian"):
        ted.laplacian(X)  # type: ignore[arg-type]
