"""What `compile.py` compiles: programs of any size for ted and its peers, and operators of ted.nn.

A program of any size is a function of a framework and the size; it gives a loss of arrays and their
shapes. An operator is a function of arrays of the shapes beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ted
from ted import nn

Shapes = dict[str, tuple[int, ...]]
Loss = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Framework:
    """What differs between ted and its peers.

    `convolve` takes images (n, h, w, c) and a kernel (h, w, c, d), with zeros around the images.
    `scan` takes a step from a state and a row to the next state, the first state, the rows, and how
    many steps a segment has whose states the gradient computes again, None for none; it gives all
    states.
    """

    xp: Any
    convolve: Callable[[Any, Any], Any]
    where: Callable[[Any, Any, Any], Any]
    scan: Callable[[Callable[[Any, Any], Any], Any, Any, int | None], Any]


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


def slices(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """A window of n elements, written as a sum of shifted slices."""

    def loss(p: dict[str, Any]) -> Any:
        y = sum(p["x"][:, k : k + 256] * (0.1 + k / n) for k in range(n))
        return f.xp.sum(y * y)

    return loss, {"x": (64, 256 + n)}


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


def loop(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """n steps of a recurrence in a loop of Python."""

    def loss(p: dict[str, Any]) -> Any:
        y = p["x"]
        for _ in range(n):
            y = y * p["w"] + f.xp.sin(y)
        return f.xp.sum(y)

    return loss, {"x": (64, 256), "w": (64, 256)}


def steps(f: Framework, n: int, segment: int | None = None) -> tuple[Loss, Shapes]:
    """n steps of a recurrence of the framework, whose gradient keeps all states."""

    def loss(p: dict[str, Any]) -> Any:
        step = lambda state, row: f.xp.tanh(state @ p["w"] + row)  # noqa: E731
        states = f.scan(step, p["first"], p["rows"], segment)
        return f.xp.sum(states * states)

    return loss, {"rows": (n, 32), "w": (32, 32), "first": (32,)}


def segments(f: Framework, n: int) -> tuple[Loss, Shapes]:
    """The same in n segments of 8 steps, whose states the gradient computes again."""
    return steps(f, 8 * n, 8)


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


@dataclass(frozen=True)
class Program:
    """What makes a program, its sizes from small to large, and the aims of some, in seconds."""

    make: Callable[[Framework, int], tuple[Loss, Shapes]]
    sizes: Sequence[int]
    limits: Mapping[int, float] = field(default_factory=dict)


PROGRAMS = {
    "softmax": Program(softmax, (256,)),
    "chain": Program(chain, (50, 100, 200), {200: 1.5}),
    "mlp": Program(mlp, (8, 16, 32), {32: 2.0}),
    "residual": Program(residual, (4, 16, 50), {16: 6.0, 50: 15.0}),
    "transformer": Program(transformer, (2, 4, 8, 16)),
    "stencil": Program(stencil, (5, 10, 20)),
    "slices": Program(slices, (30, 60, 120)),
    "product": Program(factors, (8, 16, 32, 64)),
    "where": Program(cascade, (40, 80, 160)),
    "loop": Program(loop, (10, 20, 40)),
    "steps": Program(steps, (16, 64, 256)),
    "segments": Program(segments, (4, 8, 16, 32)),
}


def _steps(checkpoint: int | None) -> Callable[[Any, Any], Any]:
    """64 steps of a recurrence, whose gradient keeps all carries or those of segments."""

    def sum_of_states(x: Any, w: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            carry = ted.tanh(carry @ w + row)
            return carry, carry

        _, states = ted.scan(step, ted.zeros((32,), "float32"), x, checkpoint=checkpoint)
        return states

    return sum_of_states


# Operators with their gradients, of arrays of these shapes.
IMAGES, MATRIX = (8, 16, 16, 16), (64, 128)
OPERATORS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "dense": (nn.dense, [MATRIX, (128, 64), (64,)]),
    "conv1d": (nn.conv1d, [(8, 64, 16), (3, 16, 16)]),
    "conv2d": (nn.conv2d, [IMAGES, (3, 3, 16, 16)]),
    "conv2d stride 2": (partial(nn.conv2d, stride=2, padding=1), [IMAGES, (3, 3, 16, 16)]),
    "conv3d": (nn.conv3d, [(2, 8, 8, 8, 4), (3, 3, 3, 4, 4)]),
    "conv_transpose2d": (partial(nn.conv_transpose2d, stride=2), [IMAGES, (3, 3, 8, 16)]),
    "depthwise_conv2d": (nn.depthwise_conv2d, [IMAGES, (3, 3, 16, 1)]),
    "max_pool2d": (partial(nn.max_pool2d, window=3, stride=2, padding=1), [IMAGES]),
    "avg_pool2d": (partial(nn.avg_pool2d, window=2), [IMAGES]),
    "batch_norm": (nn.batch_norm, [IMAGES, (16,), (16,)]),
    "layer_norm": (nn.layer_norm, [MATRIX, (128,), (128,)]),
    "group_norm": (lambda x, w, b: nn.group_norm(x, 4, w, b), [IMAGES, (16,), (16,)]),
    "rms_norm": (nn.rms_norm, [MATRIX, (128,)]),
    "log_softmax": (nn.log_softmax, [MATRIX]),
    "gelu": (nn.gelu, [MATRIX]),
    "causal attention": (partial(nn.attention, causal=True), [(4, 32, 16)] * 3),
    "lstm": (lambda x, v, w: nn.lstm(x, v, w)[0], [(16, 8, 8), (8, 64), (16, 64)]),
    "gru": (nn.gru, [(16, 8, 8), (8, 48), (16, 48)]),
    "64 steps": (_steps(None), [(64, 32), (32, 32)]),
    "64 steps by 8": (_steps(8), [(64, 32), (32, 32)]),
}
