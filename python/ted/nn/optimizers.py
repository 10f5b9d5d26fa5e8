"""Optimisers: rules that move the parameters of a nest, with what they keep for each.

    optimizer = nn.adamw(nn.cosine_schedule(1e-3, steps=1000, warmup=50))
    state = optimizer.init(params)
    params, state = optimizer.update(params, gradients, state)

`update` is made of ordinary expressions, to be called in a function that is compiled; with
`donate=` of that function parameters and state are written in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ted
from ted import tree
from ted.frontend.checks import dtype_of, flag, number
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.frontend.trees import flatten
from ted.nn.arguments import floating, shaped, wide_type
from ted.records import dataclass

# (rate, steps with this one, parameter, gradient, *what is kept) -> (parameter, *what is kept).
Rule = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Optimizer:
    """A rule, its learning rate, and the names of what it keeps for each parameter.

    `rate` is a number, a scalar tensor, or a function of the number of steps before this one.
    """

    name: str
    rate: Any
    kept: tuple[str, ...]
    rule: Rule

    def init(self, params: Any) -> dict[str, Any]:
        """The state before the first step: `step`, and zeros like the parameters for what is kept.

        It is float32 for parameters of half types, in which small changes would be lost.
        Raises: FrontendError for a parameter that is not of a float type.
        """
        for path, leaf in flatten(params)[0]:
            if not dtype_of(leaf.dtype, f"{self.name}: dtype").is_float:
                fail(f"{self.name}: {path or 'params'} must be of a float type, got {leaf.dtype}")
        zeros = {name: tree.map(_zeros, params) for name in self.kept}
        return {"step": np.array(0), **zeros}

    def update(self, params: Any, gradients: Any, state: Any) -> tuple[Any, dict[str, Any]]:
        """Parameters and state after a step.

        Shapes: gradients, and what is kept, as the nest `params`.
        Raises: FrontendError for nests or shapes that differ, or a state of another optimiser.
        """
        if not isinstance(state, dict) or set(state) != {"step", *self.kept}:
            names = sorted(state) if isinstance(state, dict) else type(state).__name__
            fail(f"{self.name}: state is what init gives, with {('step', *self.kept)}, got {names}")
        step = state["step"] + 1
        rate = self.rate(state["step"]) if callable(self.rate) else self.rate
        found, shape = flatten(params)
        columns = [self._like(params, gradients, "gradients")]
        columns += [self._like(params, state[name], name) for name in self.kept]
        rows = [
            self._moved(path, rate, step, *leaves)
            for (path, p), *others in zip(found, *columns, strict=True)
            for leaves in [(p, *others)]
        ]
        new = [tree.unflatten(shape, column) for column in zip(*rows, strict=True)]
        new = new or [params] * (1 + len(self.kept))
        return new[0], {"step": step, **dict(zip(self.kept, new[1:], strict=True))}

    def _like(self, params: Any, given: Any, what: str) -> list[Any]:
        if tree.structure(given) != tree.structure(params):
            shapes = f"{tree.structure(params)}, got {tree.structure(given)}"
            fail(f"{self.name}: {what} are nested as params are, {shapes}")
        return tree.leaves(given)

    def _moved(self, path: str, rate: Any, step: Any, p: Any, g: Any, *kept: Any) -> list[Tensor]:
        p = floating(p, f"{self.name}: {path or 'params'}")
        values = [
            shaped(value, p.shape, f"{self.name}: {what} of {path or 'params'}")
            for what, value in zip(("gradient", *self.kept), (g, *kept), strict=True)
        ]
        kind = wide_type(p.dtype)
        numbers = [n if isinstance(n, (int, float)) else ted.cast(n, kind) for n in (rate, step)]
        new = self.rule(*numbers, *(ted.cast(value, kind) for value in (p, *values)))
        return [ted.cast(new[0], p.dtype), *new[1:]]


def _zeros(leaf: Any) -> Any:
    kind = wide_type(leaf.dtype)
    return ted.zeros(leaf.shape, kind) if isinstance(leaf, Tensor) else np.zeros(leaf.shape, kind)


def _checked(name: str, **given: float) -> None:
    """Numbers of at least 0; means (b1, b2, momentum, ...) are below 1."""
    for what, value in given.items():
        most = math.inf if what in ("eps", "weight_decay", "rate_decay", "first") else 1.0
        below = "" if most == math.inf else " and below 1"
        rule = f"is a number of at least 0{below}"
        number(value, f"{name}: {what}", rule, lambda v, most=most: 0 <= v < most)


def _decayed(p: Any, g: Any, weight_decay: float) -> Any:
    """The gradient with that of weight_decay * |p|^2 / 2."""
    return g + weight_decay * p if weight_decay else g


def sgd(
    lr: Any, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    """p - lr * d, where d is the gradient or, with momentum, v = momentum * v + gradient.

    `nesterov` goes on along gradient + momentum * v.
    Raises: FrontendError for numbers out of range, or nesterov without momentum.
    """
    _checked("sgd", momentum=momentum, weight_decay=weight_decay)
    if flag(nesterov, "sgd: nesterov") and not momentum:
        fail("sgd: nesterov needs a momentum, got momentum=0")

    def plain(rate: Any, _: Any, p: Any, g: Any) -> tuple[Any, ...]:
        return (p - rate * _decayed(p, g, weight_decay),)

    def heavy(rate: Any, _: Any, p: Any, g: Any, v: Any) -> tuple[Any, ...]:
        g = _decayed(p, g, weight_decay)
        v = momentum * v + g
        return p - rate * (g + momentum * v if nesterov else v), v

    return Optimizer("sgd", lr, ("v",), heavy) if momentum else Optimizer("sgd", lr, (), plain)


def _means(b1: float, b2: float, g: Any, m: Any, v: Any) -> tuple[Any, Any]:
    return b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * (g * g)


def _direction(b1: float, b2: float, eps: float, step: Any, m: Any, v: Any) -> Any:
    """The mean over the root of the mean square, both without their bias to zero."""
    # 1 - b ** step without cancellation: b2 ** step is close to 1 in the first steps.
    first, second = (-ted.expm1(step * math.log(b)) if b else 1.0 for b in (b1, b2))
    return m / first / (ted.sqrt(v) / ted.sqrt(second) + eps)


def adam(
    lr: Any = 1e-3, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0
) -> Optimizer:
    """Adam; `weight_decay` adds to the gradient, see `adamw`.

    Raises: FrontendError for numbers out of range.
    Source: Kingma and Ba, Adam, algorithm 1.
    """
    _checked("adam", b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)

    def rule(rate: Any, step: Any, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
        m, v = _means(b1, b2, _decayed(p, g, weight_decay), m, v)
        return p - rate * _direction(b1, b2, eps, step, m, v), m, v

    return Optimizer("adam", lr, ("m", "v"), rule)


def adamw(
    lr: Any = 1e-3, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> Optimizer:  # fmt: skip
    """Adam, where parameters also shrink by lr * weight_decay of themselves in each step.

    Raises: FrontendError for numbers out of range.
    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, algorithm 2.
    """
    _checked("adamw", b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)

    def rule(rate: Any, step: Any, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
        m, v = _means(b1, b2, g, m, v)
        return p - rate * (_direction(b1, b2, eps, step, m, v) + weight_decay * p), m, v

    return Optimizer("adamw", lr, ("m", "v"), rule)


def rmsprop(
    lr: Any = 1e-2, decay: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0
) -> Optimizer:
    """p - lr * g / (root of the running mean of g^2 + eps).

    Raises: FrontendError for numbers out of range.
    Source: Tieleman and Hinton, Lecture 6.5: rmsprop.
    """
    _checked("rmsprop", decay=decay, eps=eps, weight_decay=weight_decay)

    def rule(rate: Any, _: Any, p: Any, g: Any, v: Any) -> tuple[Any, ...]:
        g = _decayed(p, g, weight_decay)
        v = decay * v + (1 - decay) * (g * g)
        return p - rate * g / (ted.sqrt(v) + eps), v

    return Optimizer("rmsprop", lr, ("v",), rule)


def adagrad(
    lr: Any = 1e-2, rate_decay: float = 0.0, eps: float = 1e-10, weight_decay: float = 0.0
) -> Optimizer:
    """p - lr / (1 + rate_decay * steps before) * g / (root of the sum of all g^2 + eps).

    Raises: FrontendError for numbers out of range.
    Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods.
    """
    _checked("adagrad", rate_decay=rate_decay, eps=eps, weight_decay=weight_decay)

    def rule(rate: Any, step: Any, p: Any, g: Any, v: Any) -> tuple[Any, ...]:
        g = _decayed(p, g, weight_decay)
        v = v + g * g
        return p - rate / (1 + (step - 1) * rate_decay) * g / (ted.sqrt(v) + eps), v

    return Optimizer("adagrad", lr, ("v",), rule)


def lion(lr: Any = 1e-4, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 0.0) -> Optimizer:
    """p - lr * (sign(b1 * m + (1 - b1) * g) + weight_decay * p), then m = b2 * m + (1 - b2) * g.

    Raises: FrontendError for numbers out of range.
    Source: Chen et al., Symbolic Discovery of Optimization Algorithms, algorithm 2.
    """
    _checked("lion", b1=b1, b2=b2, weight_decay=weight_decay)

    def rule(rate: Any, _: Any, p: Any, g: Any, m: Any) -> tuple[Any, ...]:
        way = ted.sign(b1 * m + (1 - b1) * g)
        return p - rate * (way + weight_decay * p), b2 * m + (1 - b2) * g

    return Optimizer("lion", lr, ("m",), rule)


def lamb(
    lr: Any = 1e-3, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-6, weight_decay: float = 0.0
) -> Optimizer:
    """AdamW, whose step is as long for each parameter as |p| says, where that is not 0.

    Raises: FrontendError for numbers out of range.
    Source: You et al., Large Batch Optimization for Deep Learning, algorithm 2.
    """
    _checked("lamb", b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)

    def rule(rate: Any, step: Any, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
        m, v = _means(b1, b2, g, m, v)
        way = _direction(b1, b2, eps, step, m, v) + weight_decay * p
        ours, its = (ted.sqrt(ted.sum(x * x)) for x in (p, way))
        both = (ours > 0) & (its > 0)
        trust = ted.where(both, ours / ted.where(both, its, 1.0), 1.0)
        return p - rate * trust * way, m, v

    return Optimizer("lamb", lr, ("m", "v"), rule)


# ------------------------------------------------------------------ gradients that are not too long


def global_norm(nest: Any) -> Tensor:
    """The root of the sum of the squares of all elements of a nest, in float32 for half types.

    Raises: FrontendError for a leaf that is not of a float type.
    """
    total: Any = ted.zeros((), "float32")
    for path, leaf in flatten(nest)[0]:
        x = floating(leaf, f"global_norm: {path or 'nest'}")
        wide = ted.cast(x, wide_type(x.dtype))
        total = total + ted.sum(wide * wide)
    return ted.sqrt(total)


def clip_by_global_norm(gradients: Any, most: Any) -> Any:
    """The gradients, divided by the same number where their `global_norm` is above `most`.

    Raises: FrontendError for a leaf that is not of a float type, or a `most` that is not above 0.
    """
    if isinstance(most, (int, float)) and not most > 0:
        fail(f"clip_by_global_norm: most is above 0, got {most!r}")
    norm = global_norm(gradients)
    factor = most / ted.maximum(norm, most)
    return tree.map(lambda g: g * ted.cast(factor, g.dtype), gradients)
