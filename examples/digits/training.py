"""The training loop: batches in, the compiled step, loss and accuracy of every epoch out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from training import steps

from digits import model
from digits.data import Digits

BATCH = 32


@dataclass(frozen=True)
class Epoch:
    """The loss of every step of an epoch, and the accuracy on the test images after it."""

    losses: tuple[float, ...]
    accuracy: float
    params: model.Parameters


def train(train_set: Digits, test_set: Digits, epochs: int, seed: int = 0) -> Iterator[Epoch]:
    """Train from the initial parameters, one epoch at a time."""
    rng = np.random.default_rng(seed)
    params = model.initial(seed)
    state = model.OPTIMIZER.init(params)
    count = len(train_set.y) // BATCH
    for epoch in range(epochs):
        losses = []
        batches = train_set.batches(BATCH, rng)
        for x, y in steps(batches, f"epoch {epoch + 1:2}/{epochs}", count):
            loss, params, state = model.step(params, state, x, y)
            losses.append(float(loss))
        yield Epoch(tuple(losses), accuracy(params, test_set), params)


def accuracy(params: model.Parameters, digits: Digits) -> float:
    """The share of images that are classified right."""
    return int(model.correct(params, digits.x, digits.y)) / len(digits.y)
