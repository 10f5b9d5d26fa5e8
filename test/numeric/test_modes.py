"""Mixtures of grad, vjp, jvp, jacobian and vmap, compiled, against jax and torch in float64."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted import nn

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.usefixtures("float64_in_jax")

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
W, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
X, Y = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))
x, y = X[0], Y[0]

TED = SimpleNamespace(
    **{n: getattr(ted, n) for n in ("grad", "jvp", "vmap", "jacobian", "hessian", "vjp")},
    **{n: getattr(ted, n) for n in ("sum", "tanh", "exp", "sin", "max", "prod", "where", "argmax")},
    softmax=nn.softmax,
)
JAX = SimpleNamespace(
    grad=jax.grad, jvp=jax.jvp, vmap=jax.vmap, jacobian=jax.jacrev, hessian=jax.hessian,
    vjp=jax.vjp, sum=jax.numpy.sum, tanh=jax.numpy.tanh, exp=jax.numpy.exp, sin=jax.numpy.sin,
    max=jax.numpy.max, prod=jax.numpy.prod, where=jax.numpy.where, argmax=jax.numpy.argmax,
    softmax=jax.nn.softmax,
)  # fmt: skip


def loss(lib: Any) -> Callable[..., Any]:
    return lambda w, x: lib.sum(lib.tanh(x @ w) ** 2)


def layer(lib: Any) -> Callable[..., Any]:
    return lambda w, x: lib.softmax(x @ w)


def kinks(lib: Any) -> Callable[..., Any]:
    """A reduction of each kind that has a rule of its own, and a choice."""

    def function(x: Any) -> Any:
        positive = lib.where(x > 0, lib.sin(x) * x, lib.exp(x))
        return lib.max(positive, axis=0) * lib.prod(x, axis=0)

    return function


# What a mixture is -> (lib -> function, arguments): the same Python with either library.
MIXTURES: dict[str, tuple[Callable[[Any], Callable[..., Any]], tuple[Array, ...]]] = {
    "vmap(grad)": (lambda m: m.vmap(m.grad(loss(m)), in_axes=(None, 0)), (W, X)),
    "grad(vmap)": (
        lambda m: m.grad(lambda w, xs: m.sum(m.vmap(lambda x: loss(m)(w, x))(xs) ** 2)), (W, X),
    ),
    "jvp": (lambda m: lambda w, x, v, u: m.jvp(layer(m), (w, x), (v, u)), (W, x, V, y)),
    "jvp of kinks": (lambda m: lambda x, v: m.jvp(kinks(m), (x,), (v,)), (X, Y)),
    "jvp(grad)": (
        lambda m: lambda w, x, v, u: m.jvp(m.grad(loss(m), argnums=(0, 1)), (w, x), (v, u)),
        (W, x, V, y),
    ),
    "grad(jvp)": (
        lambda m: m.grad(
            lambda w, x, v: m.sum(m.jvp(lambda w: layer(m)(w, x), (w,), (v,))[1] ** 2),
            argnums=(0, 1, 2),
        ),
        (W, X, V),
    ),
    "jvp(jvp)": (
        lambda m: lambda x, v: m.jvp(lambda x: m.jvp(kinks(m), (x,), (v,))[1], (x,), (v,)),
        (X, Y),
    ),
    "jvp(vmap(grad))": (
        lambda m: lambda w, x, v: m.jvp(
            lambda w: m.vmap(m.grad(loss(m)), in_axes=(None, 0))(w, x), (w,), (v,)
        ),
        (W, X, V),
    ),
    "vmap(jvp)": (
        lambda m: m.vmap(lambda x, v: m.jvp(kinks(m), (x,), (v,))[1], in_axes=1, out_axes=-1),
        (RNG.normal(size=(3, 2, 4)), RNG.normal(size=(3, 2, 4))),
    ),
    "vmap(vmap)": (
        lambda m: m.vmap(
            m.vmap(lambda a, b: a * b, in_axes=(0, None)), in_axes=(None, 0), out_axes=1
        ),
        (x, y),
    ),
    "vmap of argmax": (lambda m: m.vmap(lambda a: m.argmax(a, axis=0), in_axes=1), (X,)),
    "vmap of shared results": (lambda m: m.vmap(lambda a, b: b * 2, in_axes=(0, None)), (x, Y)),
    "jacobian": (lambda m: m.jacobian(layer(m), argnums=(0, 1)), (W, X)),
    "jacobian of kinks": (lambda m: m.jacobian(kinks(m)), (X,)),
    "jacobian(jacobian)": (lambda m: m.jacobian(m.jacobian(lambda x: m.sin(x) * x)), (x,)),
    "vmap(jacobian)": (lambda m: m.vmap(m.jacobian(lambda x: m.softmax(x))), (X,)),
    "hessian": (lambda m: m.hessian(loss(m)), (W, x)),
    "vmap(hessian)": (lambda m: m.vmap(m.hessian(loss(m), 1), in_axes=(None, 0)), (W, X)),
    "grad of a captured tensor": (
        lambda m: m.grad(lambda x: m.sum(m.grad(lambda y: m.sum(x * y * y))(x) * x)), (x,),
    ),
    "grad with one tensor twice": (
        lambda m: lambda x: m.grad(lambda a, b: m.sum(a * b * b), argnums=(0, 1))(x, x), (x,),
    ),
    "third order": (
        lambda m: m.grad(lambda x: m.sum(m.grad(lambda x: m.sum(m.grad(
            lambda x: m.sum(m.sin(x) * x))(x) * x))(x))), (x,),
    ),
}  # fmt: skip


def agree(ours: Any, theirs: Any) -> None:
    mine, reference = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(mine) == len(reference)
    for a, b in zip(mine, reference, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-11)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", MIXTURES)
def test_mixture_equals_jax(name: str) -> None:
    function, arguments = MIXTURES[name]
    agree(ted.function(function(TED))(*arguments), jax.jit(function(JAX))(*arguments))


def test_hvp_equals_torch() -> None:
    def theirs(w: Any, x: Any) -> Any:
        return (torch.tanh(x @ w) ** 2).sum()

    tensors = tuple(map(torch.tensor, (W, X)))
    _, products = torch.autograd.functional.hvp(theirs, tensors, tuple(map(torch.tensor, (V, Y))))
    agree(ted.hvp(loss(TED), (W, X), (V, Y)), [p.numpy() for p in products])


def test_jacobian_of_a_convolution_equals_torch() -> None:
    image, weight = RNG.normal(size=(1, 2, 6, 5)), RNG.normal(size=(3, 2, 3, 3))

    def theirs(image: Any, weight: Any) -> Any:
        return torch.nn.functional.conv2d(image, weight, stride=2, padding=1)

    def ours(image: Any, weight: Any) -> Any:
        return nn.conv2d(image, weight, stride=2, padding=1, layout="NCHW")

    tensors = (torch.tensor(image), torch.tensor(weight))
    expected = torch.autograd.functional.jacobian(theirs, tensors)
    agree(ted.jacobian(ours, argnums=(0, 1))(image, weight), [e.numpy() for e in expected])


def test_per_sample_gradients_of_a_network_equal_torch() -> None:
    params = {"w1": RNG.normal(size=(4, 6)), "b1": RNG.normal(size=6), "w2": RNG.normal(size=6)}
    targets = RNG.normal(size=5)

    def objective(lib: Any) -> Callable[..., Any]:
        def value(p: Any, x: Any, target: Any) -> Any:
            return ((lib.tanh(x @ p["w1"] + p["b1"]) * p["w2"]).sum() - target) ** 2

        return value

    ours = ted.vmap(ted.grad(objective(ted)), in_axes=(None, 0, 0))(params, X, targets)
    theirs = torch.func.vmap(torch.func.grad(objective(torch)), in_dims=(None, 0, 0))(
        {k: torch.tensor(v) for k, v in params.items()}, torch.tensor(X), torch.tensor(targets)
    )
    for key, value in theirs.items():
        np.testing.assert_allclose(ours[key], value.numpy(), rtol=1e-10, atol=1e-11)
