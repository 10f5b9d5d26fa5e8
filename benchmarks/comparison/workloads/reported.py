"""Programs of the kinds that users of JAX reported as slow on CPUs, written anew.

The issues of jax-ml/jax: 37465 (the gradient of squared differences on 256^3), 40150 and 36799
(gradients of scans whose carry is many scalars, or a small matrix in float64), 23783 and 31662
(transposed, strided and dilated convolutions in one to three dims).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..workload import Program, Workload, both, gradient, in_types, normal, uniform

NODES = 24  # of the filter, two scalars each


def roughness(k: Any, x: Any) -> Any:
    """The sum of squared differences of neighbours along every dim."""
    parts = [k.difference(x, axis) for axis in range(3)]
    return k.sum(parts[0] ** 2) + k.sum(parts[1] ** 2) + k.sum(parts[2] ** 2)


def filtered(k: Any, observed: Any, means: Any, precisions: Any) -> Any:
    """A chain of Gaussian nodes that track a series, each scalar of the state by itself."""

    def step(state: Any, value: Any) -> Any:
        held, certain = list(state[:NODES]), list(state[NODES:])
        surprise = 0.0
        for n in range(NODES):
            parent = held[n + 1] if n + 1 < NODES else 0.0 * held[n]
            expected = 1.0 / (1.0 / certain[n] + k.exp(0.1 * parent - 3.0))
            certain[n] = expected + 1.0
            error = value - held[n]
            held[n] = held[n] + error / certain[n]
            surprise = surprise + 0.5 * (error * error * expected - k.log(expected))
            value = held[n]
        return (*held, *certain), surprise

    start = (*(means[n] for n in range(NODES)), *(precisions[n] for n in range(NODES)))
    return k.sum(k.scan(step, start, observed)[1])


def factored(k: Any, diagonal: Any, left: Any, right: Any, turns: Any) -> Any:
    """The factor of a matrix of rank three off its diagonal, row by row: the state is 3 x 3."""

    def step(held: Any, row: Any) -> Any:
        d, p, q, a = row
        root = k.sqrt(d - k.sum(p * (held @ p)))
        turned = held @ k.transpose(a, (1, 0))
        weight = (q - p @ turned) / root
        after = a @ turned + weight[:, None] * weight[None, :]
        return after, (root, weight)

    start = k.zeros((3, 3), diagonal)
    roots, weights = k.scan(step, start, (diagonal, left, right, turns))[1]
    return k.sum(k.log(roots)) + k.sum(weights * weights)


def scans() -> Iterator[Workload]:
    """Gradients of scans."""
    series = (normal(64), normal(NODES, scale=0.1), uniform(0.5, 2.0, NODES))
    yield from both(
        Workload("scan of 48 scalars", filtered, series, "reported", dtype="float64",
                 without=("inductor",)), "grad",
    )  # fmt: skip
    rows = (uniform(4, 6, 2000), normal(2000, 3, scale=0.3), normal(2000, 3, scale=0.3),
            normal(2000, 3, 3, scale=0.3))  # fmt: skip
    for made in in_types(
        Workload("scan of a 3x3 carry", factored, rows, "reported", without=("inductor",)),
        "float64", "float32",
    ):  # fmt: skip
        yield from both(made, "grad")


def conv(padding: int, stride: int = 1, dilation: int = 1) -> Program:
    """A convolution, channels first."""
    return lambda k, x, w: k.conv(x, w, padding=padding, stride=stride, dilation=dilation)


def transposed(padding: int) -> Program:
    """A transposed one of stride 2."""
    return lambda k, x, w: k.conv_transpose(x, w, 2, padding)


# The program, images, kernel (out, in, ...; in, out, ... of a transposed one).
CONVOLUTIONS: tuple[tuple[str, Program, tuple[int, ...], tuple[int, ...]], ...] = (
    ("transposed 1d", transposed(1), (8, 64, 1024), (64, 32, 4)),
    ("transposed 2d", transposed(1), (4, 64, 32, 32), (64, 32, 4, 4)),
    ("transposed 3d", transposed(1), (1, 64, 32, 32, 16), (64, 1, 3, 3, 3)),
    ("strided 1d", conv(1, stride=2), (8, 32, 4096), (64, 32, 4)),
    ("strided 2d", conv(1, stride=2), (4, 32, 64, 64), (64, 32, 4, 4)),
    ("strided 3d", conv(1, stride=2), (1, 16, 32, 32, 32), (32, 16, 3, 3, 3)),
    ("dilated 1d", conv(4, dilation=4), (8, 64, 1024), (64, 64, 3)),
    ("dilated 2d", conv(2, dilation=2), (4, 32, 64, 64), (32, 32, 3, 3)),
    ("dilated 3d", conv(2, dilation=2), (1, 16, 24, 24, 24), (16, 16, 3, 3, 3)),
)


def convolutions() -> Iterator[Workload]:
    """With their gradients; multiplications are counted where input and kernel meet."""
    for name, program, image, kernel in CONVOLUTIONS:
        many = math.prod(image) * math.prod(kernel[2:]) * 2.0
        if name.startswith("transposed"):
            flops = many * kernel[1]
        else:
            steps = 2 ** (len(image) - 2) if name.startswith("strided") else 1
            flops = many * kernel[0] / steps
        inputs = (normal(*image), normal(*kernel, scale=0.1))
        yield from both(
            Workload(f"{name} convolution", program, inputs, "reported", "compute", flops=flops)
        )
    three = (normal(1, 64, 32, 32, 16), normal(64, 1, 3, 3, 3, scale=0.1))
    yield from gradient(
        Workload("transposed 3d convolution bfloat16", transposed(1), three, "reported", "compute",
                 dtype="bfloat16", flops=2.0 * 64 * 32 * 32 * 16 * 27)
    )  # fmt: skip


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from gradient(
        Workload("roughness 256^3", roughness, (normal(256, 256, 256),), "reported"), "grad"
    )
    yield from scans()
    yield from convolutions()
