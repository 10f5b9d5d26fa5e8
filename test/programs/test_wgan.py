"""The GAN with gradient penalty learns as torch's does, with the same random numbers."""

from __future__ import annotations

import numpy as np
import pytest
import wgan

import ted
from ted import random, tree

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from programs.torch_training import leaves  # noqa: E402

WIDTH, SIZE = 4, 6


def numbers(key, x):
    """The random numbers that a step of the critic and one of the maker draw."""
    a, b = random.split(key)
    shape = (SIZE, wgan.NOISE)
    return random.normal(a, shape, x.dtype), random.uniform(b, (SIZE, 1), x.dtype), random.normal(
        key, shape, x.dtype
    )  # fmt: skip


DRAW = ted.function(numbers)


def perceptron(layers, x):
    for layer in layers[:-1]:
        x = functional.softplus(x @ layer["w"] + layer["bias"], threshold=1e3)
    return x @ layers[-1]["w"] + layers[-1]["bias"]


def critic_loss(p, maker, key, x):
    z, part, _ = map(torch.from_numpy, DRAW(key, x))
    x, fake = torch.from_numpy(x), torch.sigmoid(perceptron(maker, z)).detach()
    between = (part * x + (1 - part) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(perceptron(p, between).sum(), between, create_graph=True)
    penalty = (((slope**2).sum(1) + 1e-12).sqrt() - 1) ** 2
    return perceptron(p, fake).mean() - perceptron(p, x).mean() + wgan.WEIGHT * penalty.mean()


def maker_loss(maker, p, key, x):
    z = torch.from_numpy(DRAW(key, x)[2])
    return -perceptron(p, torch.sigmoid(perceptron(maker, z))).mean()


def test_the_loss_of_the_critic_equals_that_of_torch() -> None:
    pair = wgan.initial_pair(WIDTH, "float64")
    keys, batches = next(wgan.rounds(SIZE, "float64"))
    value = ted.function(wgan.critic_loss)(*pair, keys[0], batches[0])
    expected = critic_loss(*map(leaves, pair), keys[0], batches[0]).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_losses_equal_those_of_torch() -> None:
    critics, makers, _ = wgan.learn(10, WIDTH, SIZE, "float64")
    p, maker = map(leaves, wgan.initial_pair(WIDTH, "float64"))
    moving = [torch.optim.Adam(tree.leaves(t), 1e-3, (0.0, 0.9)) for t in (p, maker)]
    expected: tuple[list[float], list[float]] = ([], [])

    def step(player, value):
        moving[player].zero_grad()
        value.backward()
        moving[player].step()
        expected[player].append(value.item())

    for _, (keys, batches) in zip(range(10), wgan.rounds(SIZE, "float64"), strict=False):
        for key, x in zip(keys[1:], batches[1:], strict=True):
            step(0, critic_loss(p, maker, key, x))
        step(1, maker_loss(maker, p, keys[0], batches[0]))
    np.testing.assert_allclose(critics, expected[0], rtol=1e-8)
    np.testing.assert_allclose(makers, expected[1], rtol=1e-8)
