"""Programs of any size, each written once for ted and for jax.numpy: what `compile.py` compiles.

A program is a function of a framework and a size; it returns a loss of arrays and their shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Shapes = dict[str, tuple[int, ...]]
Loss = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Framework:
    """What differs between ted and its peers.

    `convolve` takes images (n, h, w, c) and a kernel (h, w, c, d), with zeros around the images.
    """

    xp: Any
    convolve: Callable[[Any, Any], Any]
    where: Callable[[Any, Any, Any], Any]


def softmax(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """One kernel: the mean of a softmax over rows of n."""
    return lambda p: f.xp.sum(_softmax(f, p["x"]) * p["y"]), {"x": (64, n), "y": (64, n)}


def chain(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """A chain of n operations on one tensor."""

    def loss(p: dict[str, Any]) -> Any:
        y = p["x"]
        for k in range(n):
            y = f.xp.sin(y) if k % 2 else y * 1.1
        return f.xp.sum(y)

    return loss, {"x": (64, 256)}


def mlp(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """n dense layers of 128."""

    def loss(p: dict[str, Any]) -> Any:
        x = p["x"]
        for k in range(n):
            x = f.xp.tanh(x @ p[f"w{k}"] + p[f"b{k}"])
        return f.xp.sum(x * x)

    layers = {f"w{k}": (128, 128) for k in range(n)} | {f"b{k}": (128,) for k in range(n)}
    return loss, {"x": (32, 128)} | layers


def residual(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """n residual blocks: two convolutions 3x3, each with a normalization over the batch."""

    def loss(p: dict[str, Any]) -> Any:
        x = p["x"]
        for k in range(n):
            y = _relu(f, _normal(f, f.convolve(x, p[f"v{k}"]), p[f"g{k}"], p[f"c{k}"]))
            y = _normal(f, f.convolve(y, p[f"w{k}"]), p[f"h{k}"], p[f"d{k}"])
            x = _relu(f, x + y)
        return f.xp.sum(x * x)

    kernels = {f"{name}{k}": (3, 3, 16, 16) for k in range(n) for name in "vw"}
    scales = {f"{name}{k}": (16,) for k in range(n) for name in "ghcd"}
    return loss, {"x": (8, 16, 16, 16)} | kernels | scales


def transformer(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """n layers of attention with one head of 64 on 32 places, and of a dense net, both residual."""

    def loss(p: dict[str, Any]) -> Any:
        x = p["x"]
        for k in range(n):
            y = _layer_norm(f, x)
            q, key, value = (y @ p[f"{name}{k}"] for name in "qkv")
            x = x + _softmax(f, q @ key.T * 0.125) @ value
            x = x + f.xp.tanh(_layer_norm(f, x) @ p[f"u{k}"]) @ p[f"d{k}"]
        return f.xp.sum(x * x)

    weights = {f"{name}{k}": (64, 64) for k in range(n) for name in "qkv"}
    dense = {f"u{k}": (64, 128) for k in range(n)} | {f"d{k}": (128, 64) for k in range(n)}
    return loss, {"x": (32, 64)} | weights | dense


def stencil(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """n steps of the heat equation, with a coefficient for each place."""

    def loss(p: dict[str, Any]) -> Any:
        x = p["x"]
        for _ in range(n):
            x = x[1:-1] + p["k"][: x.shape[0] - 2] * (x[2:] - 2 * x[1:-1] + x[:-2])
        return f.xp.sum(x * x)

    return loss, {"x": (1000,), "k": (1000,)}


def factors(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """A product of n factors."""
    shapes = {f"x{k}": (64, 256) for k in range(n)}
    return lambda p: f.xp.sum(math.prod(p[name] for name in shapes)), shapes


def cascade(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """A cascade of n choices."""

    def loss(p: dict[str, Any]) -> Any:
        y = p["x"]
        for k in range(n):
            y = f.where(p["x"] > k / n, y * p["y"], y)
        return f.xp.sum(y)

    return loss, {"x": (64, 256), "y": (64, 256)}


def _softmax(f: Framework, x: Any) -> Any:
    e = f.xp.exp(x - f.xp.max(x, axis=-1, keepdims=True))
    return e / f.xp.sum(e, axis=-1, keepdims=True)


def _layer_norm(f: Framework, x: Any) -> Any:
    centred = x - f.xp.mean(x, axis=-1, keepdims=True)
    return centred / f.xp.sqrt(f.xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def _normal(f: Framework, x: Any, scale: Any, shift: Any) -> Any:
    centred = x - f.xp.mean(x, axis=(0, 1, 2), keepdims=True)
    variance = f.xp.mean(centred * centred, axis=(0, 1, 2), keepdims=True)
    return centred / f.xp.sqrt(variance + 1e-5) * scale + shift


def _relu(f: Framework, x: Any) -> Any:
    return f.xp.maximum(x, 0.0)


# Program, its sizes from small to large, and the most seconds to compile the largest one cold.
PROGRAMS: dict[str, tuple[Callable[[Framework, int], tuple[Loss, Shapes]], Sequence[int], float]]
PROGRAMS = {
    "softmax": (softmax, (256,), 0.15),
    "chain": (chain, (50, 100, 200), 1.5),
    "mlp": (mlp, (8, 16, 32), 2.0),
    "residual": (residual, (4, 16, 50), 15.0),
    "transformer": (transformer, (2, 4, 8), math.inf),
    "stencil": (stencil, (5, 10, 20), math.inf),
    "product": (factors, (8, 16, 32), math.inf),
    "where": (cascade, (40, 80, 160), math.inf),
}
