"""The perceptron on digits learns as torch's does, and what dropout leaves out is what it says."""

from __future__ import annotations

import numpy as np
import perceptron
import pytest

import ted

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from programs.torch_training import train  # noqa: E402


def loss(p, x, y, _):
    hidden = functional.relu(x @ p["w1"] + p["b1"])
    return functional.cross_entropy(hidden @ p["w2"] + p["b2"], y)


def test_losses_equal_those_of_torch_over_100_steps() -> None:
    losses, _ = perceptron.learn(100, 16, 32, 0.0, "float64")
    first, batches = perceptron.initial(16, "float64"), perceptron.batches(32, "float64")
    expected, _ = train(loss, first, batches, 100, torch.optim.AdamW, lr=3e-3, weight_decay=1e-2)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)


def test_dropout_is_on_with_a_key_alone() -> None:
    params = perceptron.initial(8, "float64")
    x, _, key = next(perceptron.batches(4, "float64"))
    plain, same, dropped = ted.function(
        lambda p, x, key: (
            perceptron.logits(p, x),
            perceptron.logits(p, x, None, 0.5),
            perceptron.logits(p, x, key, 0.5),
        )
    )(params, x, key)
    np.testing.assert_array_equal(plain, same)
    assert np.abs(plain - dropped).max() > 0.1
