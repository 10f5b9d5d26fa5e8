"""A Wasserstein GAN with gradient penalty draws digits: the critic's loss holds a gradient itself.

The penalty pulls the length of the critic's gradient in its input towards 1, on lines between true
and drawn images; training differentiates it once more.
Source: Gulrajani et al., Improved Training of Wasserstein GANs, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
from digits.data import load
from training import FOLDER, arguments, save_curves, save_images, steps

import ted
from ted import nn, random

NOISE, WEIGHT, CRITIC_STEPS = 8, 10.0, 3


def critic(p: Any, x: Any) -> Any:
    """A score for each of the images (n, 64): the higher, the truer."""
    return perceptron(p, x)[:, 0]


def drawn(p: Any, z: Any) -> Any:
    """Images (n, 64) of numbers z (n, NOISE)."""
    return ted.sigmoid(perceptron(p, z))


def perceptron(layers: Any, x: Any) -> Any:
    """Dense layers with softplus between them, which has a second derivative."""
    for layer in layers[:-1]:
        x = ted.softplus(nn.dense(x, layer["w"], layer["bias"]))
    return nn.dense(x, layers[-1]["w"], layers[-1]["bias"])


def penalty(p: Any, x: Any) -> Any:
    """How far the slope of the critic is from 1 at the images x."""
    slope = ted.grad(lambda x: ted.sum(critic(p, x)))(x)
    length = ted.sqrt(ted.sum(slope * slope, axis=1) + 1e-12)
    return ted.mean((length - 1) ** 2)


def critic_loss(p: Any, maker: Any, key: Any, x: Any) -> Any:
    """The score of drawn images against that of true ones x, and the penalty between them."""
    for_noise, for_places = random.split(key)
    fake = drawn(maker, random.normal(for_noise, (x.shape[0], NOISE), x.dtype))
    part = random.uniform(for_places, (x.shape[0], 1), x.dtype)
    between = part * x + (1 - part) * fake
    return ted.mean(critic(p, fake)) - ted.mean(critic(p, x)) + WEIGHT * penalty(p, between)


def maker_loss(maker: Any, p: Any, key: Any, x: Any) -> Any:
    """Minus the score of drawn images, as many as there are in x."""
    return -ted.mean(critic(p, drawn(maker, random.normal(key, (x.shape[0], NOISE), x.dtype))))


OPTIMIZER = nn.adam(1e-3, b1=0.0, b2=0.9)


@partial(ted.function, subnormals="flush")  # averages of what is zero get that small
def critic_step(p: Any, state: Any, maker: Any, key: Any, x: Any) -> Any:
    """One step of the critic: (loss, parameters, state)."""
    value, gradients = ted.value_and_grad(critic_loss)(p, maker, key, x)
    return value, *OPTIMIZER.update(p, gradients, state)


@partial(ted.function, subnormals="flush")
def maker_step(maker: Any, state: Any, p: Any, key: Any, x: Any) -> Any:
    """One step of what draws: (loss, parameters, state)."""
    value, gradients = ted.value_and_grad(maker_loss)(maker, p, key, x)
    return value, *OPTIMIZER.update(maker, gradients, state)


def initial(widths: tuple[int, ...], dtype: str, seed: int) -> list[dict[str, Any]]:
    """Layers between the widths."""
    rng = np.random.default_rng(seed)
    return [
        {
            "w": (rng.standard_normal((n, m)) * np.sqrt(2 / n)).astype(dtype),
            "bias": np.zeros(m, dtype),
        }
        for n, m in pairwise(widths)
    ]


def rounds(size: int, dtype: str) -> Iterator[tuple[Any, list[np.ndarray]]]:
    """A key for each step of a round, and as many batches of true images."""
    images, rng = load()[0].x.reshape(-1, 64).astype(dtype), np.random.default_rng(0)
    for k in count():
        batches = [images[rng.choice(len(images), size)] for _ in range(CRITIC_STEPS + 1)]
        yield random.split(random.fold_in(random.key(0), k), CRITIC_STEPS + 1), batches


def initial_pair(width: int, dtype: str) -> tuple[Any, Any]:
    """The parameters of critic and maker."""
    widths = (64, width, width, 1), (NOISE, width, width, 64)
    return initial(widths[0], dtype, 0), initial(widths[1], dtype, 1)


def learn(many: int, width: int, size: int, dtype: str) -> tuple[list[float], list[float], Any]:
    """The losses of critic and maker in so many rounds, and the maker after them."""
    p, maker = initial_pair(width, dtype)
    states = [OPTIMIZER.init(p), OPTIMIZER.init(maker)]
    critics, makers = [], []
    for _, (keys, batches) in zip(steps(range(many), "rounds"), rounds(size, dtype), strict=False):
        for key, x in zip(keys[1:], batches[1:], strict=True):
            value, p, states[0] = critic_step(p, states[0], maker, key, x)
            critics.append(float(value))
        value, maker, states[1] = maker_step(maker, states[1], p, keys[0], batches[0])
        makers.append(float(value))
    return critics, makers, maker


def main() -> None:
    """Train, draw digits."""
    options = arguments(__doc__, steps=2000, width=128, dtype="float32")
    critics, _, maker = learn(options.steps, options.width, 64, options.dtype)
    print(f"distance {-critics[CRITIC_STEPS]:.3f} at first, {-critics[-1]:.3f} at last")
    save_curves(FOLDER / "wgan.png", {"critic": critics}, "loss of the critic", mean=50)
    draw = ted.function(lambda maker, key: drawn(maker, random.normal(key, (16, NOISE))))
    images = draw(maker, random.key(1)).reshape(4, 4, 8, 8).swapaxes(1, 2).reshape(32, 32)
    save_images(FOLDER / "wgan_digits.png", {"drawn": images})


if __name__ == "__main__":
    main()
