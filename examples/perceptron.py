"""A perceptron of two layers learns handwritten digits, with dropout by keys of `ted.random`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from digits.data import load
from training import FOLDER, arguments, save_curves, step_of, train

import ted
from ted import nn, random


def logits(p: Any, x: Any, key: Any = None, rate: float = 0.0) -> Any:
    """Scores of the classes of images (n, 64); with a key, some of what is hidden is left out."""
    hidden = ted.relu(nn.dense(x, p["w1"], p["b1"]))
    if key is not None and rate:
        hidden = random.dropout(key, hidden, rate)
    return nn.dense(hidden, p["w2"], p["b2"])


def initial(width: int, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Weights with the variance 2 / inputs."""
    rng = np.random.default_rng(seed)
    w1, w2 = rng.standard_normal((64, width)) / 32**0.5, rng.standard_normal((width, 10))
    params = {"w1": w1, "b1": np.zeros(width), "w2": w2 * (2 / width) ** 0.5, "b2": np.zeros(10)}
    return {name: value.astype(dtype) for name, value in params.items()}


def batches(size: int, dtype: str, seed: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """Images, labels and a key for each step, without end."""
    digits, rng, key = load()[0], np.random.default_rng(seed), random.key(seed)
    while True:
        for x, y in digits.batches(size, rng):
            used, key = random.split(key)
            yield x.reshape(len(x), 64).astype(dtype), y, used


def learn(count: int, width: int, size: int, rate: float, dtype: str) -> tuple[list[float], Any]:
    """The losses of `count` steps of AdamW, and the parameters after them."""
    params, optimizer = initial(width, dtype), nn.adamw(3e-3)

    def loss(p: Any, x: Any, y: Any, key: Any) -> Any:
        return nn.cross_entropy(logits(p, x, key, rate), y)

    step = step_of(loss, optimizer)
    return train(step, params, optimizer.init(params), batches(size, dtype), count)


def main() -> None:
    """Train, test, draw the losses."""
    count = arguments(__doc__, steps=1500).steps
    losses, params = learn(count, 128, 32, 0.3, "float32")
    test = load()[1]
    found = ted.function(logits)(params, test.x.reshape(-1, 64))
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} at last")
    print(f"test accuracy {np.mean(np.argmax(found, axis=1) == test.y):.4f}")
    save_curves(FOLDER / "perceptron.png", {"cross-entropy": losses}, "digits", mean=40)


if __name__ == "__main__":
    main()
