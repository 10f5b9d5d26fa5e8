"""Attention, networks, recurrent layers, and what ADBench differentiates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..workload import Workload, both, gradient, in_types, index, normal, uniform

MLP = ((784, 256), (256, 128), (128, 10))
PARAMETERS = [s for m, n in MLP for s in (normal(m, n, scale=m**-0.5), normal(n, scale=0.1))]
MLP_FLOPS = sum(2.0 * 128 * m * n for m, n in MLP)


def network(k: Any, x: Any, labels: Any, *parameters: Any) -> Any:
    """The loss of a perceptron with tanh."""
    for w, b in zip(parameters[0:-2:2], parameters[1:-2:2], strict=True):
        x = k.tanh(k.dense(x, w, b))
    return k.cross_entropy(k.dense(x, *parameters[-2:]), labels)


def step(k: Any, x: Any, labels: Any, *parameters: Any) -> Any:
    """The same with relu."""
    for w, b in zip(parameters[0:-2:2], parameters[1:-2:2], strict=True):
        x = k.relu(k.dense(x, w, b))
    return k.cross_entropy(k.dense(x, *parameters[-2:]), labels)


def hessian_product(k: Any, x: Any, labels: Any, *both_halves: Any) -> Any:
    """The Hessian of the network's loss times a vector, as a program."""
    half = len(both_halves) // 2
    fn = lambda *p: network(k, x, labels, *p)  # noqa: E731
    return k.hvp(fn, both_halves[:half], both_halves[half:], tuple(range(half)))


def perceptron(k: Any, x: Any, v: Any, w: Any) -> Any:
    """The mean square of two layers."""
    return k.mean((k.tanh(x @ v) @ w) ** 2)


def digits(k: Any, x: Any, labels: Any, *p: Any) -> Any:
    """The loss of a small convolutional network."""
    c1, c2, w, b = p
    x = k.max_pool(k.relu(k.conv(x, c1, padding=1)), 2, 2)
    x = k.max_pool(k.relu(k.conv(x, c2, padding=1)), 2, 2)
    return k.cross_entropy(k.dense(k.reshape(x, (x.shape[0], w.shape[0])), w, b), labels)


def transformer(k: Any, x: Any, *p: Any) -> Any:
    """A block: attention of 8 heads and two layers, each after a norm and beside the input."""
    g1, b1, wq, wk, wv, wo, g2, b2, w1, w2 = p
    batch, length, width = x.shape
    h = k.layer_norm(x, g1, b1)

    def heads(w: Any) -> Any:
        return k.transpose(k.reshape(h @ w, (batch, length, 8, width // 8)), (0, 2, 1, 3))

    seen = k.attention(heads(wq), heads(wk), heads(wv))
    x = x + k.reshape(k.transpose(seen, (0, 2, 1, 3)), (batch, length, width)) @ wo
    return x + k.gelu(k.layer_norm(x, g2, b2) @ w1) @ w2


def mixture(k: Any, x: Any, alphas: Any, means: Any, logs: Any, lower: Any) -> Any:
    """ADBench's log-likelihood of a mixture of Gaussians, with a Wishart prior.

    The inverse factors of the covariances have exp(logs) on the diagonal and `lower` below it.
    """
    (n, d), strict = x.shape, k.tril(lower, -1)
    apart = x[:, None, :] - means[None]
    scaled = k.exp(logs)[None] * apart + k.einsum("kij,nkj->nki", strict, apart)
    inner = alphas[None] + k.sum(logs, 1)[None] - 0.5 * k.sum(scaled * scaled, 2)
    prior = 0.5 * (k.sum(k.exp(2.0 * logs)) + k.sum(strict * strict)) - k.sum(logs)
    constant = -0.5 * n * d * math.log(2 * math.pi)
    return constant + k.sum(k.logsumexp(inner, 1)) - n * k.logsumexp(alphas, 0) + prior


def _cross(k: Any, a: Any, b: Any) -> Any:
    return k.stack(
        (
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ),
        1,
    )


def bundle(k: Any, cameras: Any, points: Any, weights: Any, places: Any, c: Any, p: Any) -> Any:
    """ADBench's reprojection errors: Rodrigues' rotation, projection, radial distortion."""
    camera, point = k.take(cameras, c, 0), k.take(points, p, 0)
    turn, shifted = camera[:, 0:3], point - camera[:, 3:6]
    squared = k.sum(turn * turn, 1)[:, None]
    angle = k.sqrt(squared)
    axis, cosine = turn / angle, k.cos(angle)
    along = k.sum(axis * shifted, 1)[:, None] * (1.0 - cosine)
    turned = shifted * cosine + _cross(k, axis, shifted) * k.sin(angle) + axis * along
    flat = turned[:, 0:2] / turned[:, 2:3]
    radius = k.sum(flat * flat, 1)[:, None]
    bent = flat * (1.0 + camera[:, 9:10] * radius + camera[:, 10:11] * radius * radius)
    seen = bent * camera[:, 6:7] + camera[:, 7:9]
    return weights[:, None] * (seen - places)


def critic(k: Any, x: Any, c1: Any, c2: Any, w: Any) -> Any:
    """Two convolutions of stride 2 with leaky units, and a value for each image."""
    for c in (c1, c2):
        x = k.conv(x, c, padding=1, stride=2)
        x = k.maximum(x, 0.0) + 0.2 * (x - k.maximum(x, 0.0))
    return k.reshape(x, (16, 4096)) @ w


def penalised(k: Any, real: Any, fake: Any, mix: Any, *p: Any) -> Any:
    """The loss of a critic with a penalty on the norm of its gradient, which is differentiated."""
    between = mix[:, None, None, None] * real + (1.0 - mix[:, None, None, None]) * fake
    slope = k.grad_of(lambda x: k.sum(critic(k, x, *p)), between)
    norm = k.sqrt(k.sum(slope * slope, (1, 2, 3)) + 1e-12)
    gap = k.mean(critic(k, fake, *p)) - k.mean(critic(k, real, *p))
    return gap + 10.0 * k.mean((norm - 1.0) ** 2)


def networks() -> Iterator[Workload]:
    """Perceptrons and what is derived from them."""
    data = (normal(128, 784), index(10, 128))
    parameters = tuple(range(2, 2 + len(PARAMETERS)))
    yield from both(
        Workload("mlp step", step, (*data, *PARAMETERS), "models", "compute", flops=MLP_FLOPS,
                 wrt=parameters, table=True), "grad", 3.0,
    )  # fmt: skip
    twice = (*data, *PARAMETERS, *PARAMETERS)
    yield from both(
        Workload("hvp of the mlp", hessian_product, twice, "models", "compute",
                 flops=6 * MLP_FLOPS, wrt=tuple(range(2, 2 + 2 * len(PARAMETERS))), table=True),
        factor=3.0,
    )  # fmt: skip
    layers = (normal(512, 256), normal(256, 128, scale=0.06), normal(128, 64, scale=0.1))
    flops = 2.0 * 512 * (256 * 128 + 128 * 64)
    small = Workload("MLP 256-128-64", perceptron, layers, "models", "compute", flops=flops)
    for made in in_types(small, "float64", "float32"):
        yield from gradient(made, "grad", 3.0)
        yield from gradient(made, "jvp", 2.0)
        yield from gradient(made, "hvp", 6.0)
    shapes = (normal(64, 1, 8, 8), index(10, 64), normal(16, 1, 3, 3), normal(32, 16, 3, 3),
              normal(128, 10), normal(10))  # fmt: skip
    yield from gradient(
        Workload("digits net", digits, shapes, "models", "compute", wrt=(2, 3, 4, 5),
                 flops=2.0 * 64 * (64 * 16 * 9 + 16 * 32 * 16 * 9 + 1280)), "grad", 3.0,
    )  # fmt: skip


def sequences() -> Iterator[Workload]:
    """Attention, a transformer block, a recurrent layer."""
    heads = [normal(8, 256, 64)] * 3
    for name, causal, table in (("attention", False, True), ("causal attention", True, False)):
        yield from both(
            Workload(
                name, lambda k, q, m, v, c=causal: k.attention(q, m, v, causal=c), heads, "models",
                "compute", flops=4.0 * 8 * 256 * 256 * 64, table=table,
            ), factor=2.5,
        )  # fmt: skip
    lstm = (normal(64, 32, 64), normal(64, 512, scale=0.1), normal(128, 512, scale=0.1),
            normal(512, scale=0.1))  # fmt: skip
    yield from both(
        Workload("lstm 64", lambda k, *xs: k.lstm(*xs), lstm, "models", "compute",
                 flops=2.0 * 64 * 32 * (64 + 128) * 512, table=True, without=("inductor",))
    )  # fmt: skip
    squares = [normal(256, 256, scale=0.06)] * 4
    norm = (normal(256), normal(256))
    block = (normal(8, 128, 256), *norm, *squares, *norm, normal(256, 1024, scale=0.06),
             normal(1024, 256, scale=0.03))  # fmt: skip
    flops = 2.0 * 8 * 128 * 256 * (4 * 256 + 2 * 1024 + 2 * 128)
    yield from both(
        Workload("transformer block", transformer, block, "models", "compute", flops=flops)
    )


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from sequences()
    yield from networks()
    mixed = Workload(
        "gmm", mixture, (normal(1000, 10), normal(25), normal(25, 10), normal(25, 10, scale=0.3),
                         normal(25, 10, 10, scale=0.3)), "models", "compute", dtype="float64",
        wrt=(1, 2, 3, 4), flops=2.0 * 1000 * 25 * 10 * 12, table=True,
    )  # fmt: skip
    yield from both(mixed, "grad")
    for single in in_types(mixed, "float32"):
        yield from both(single, "grad")
    scene = (uniform(0.2, 0.8, 49, 11), normal(7776, 3), uniform(0.5, 1.0, 31843),
             normal(31843, 2), index(49, 31843), index(7776, 31843))  # fmt: skip
    yield from both(
        Workload("ba", bundle, scene, "models", dtype="float64", wrt=(0, 1, 2), table=True)
    )
    images = normal(16, 3, 32, 32)
    weights = (normal(32, 3, 3, 3, scale=0.2), normal(64, 32, 3, 3, scale=0.06),
               normal(4096, scale=0.02))  # fmt: skip
    flops = 4 * 2.0 * 16 * (32 * 256 * 27 + 64 * 64 * 288)
    yield from both(
        Workload("wgan-gp", penalised, (images, images, uniform(0, 1, 16), *weights), "models",
                 "compute", flops=flops, wrt=(3, 4, 5), table=True, tolerance=1e-3), "grad",
    )  # fmt: skip
