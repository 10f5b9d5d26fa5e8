"""Temporary memory is what is alive at once, not the sum of all that was ever needed."""

from __future__ import annotations

import numpy as np

import ted
from ted import nn


def peak_of_layers(depth: int) -> float:
    """Peak bytes of `depth` convolutions in a row, in sizes of one activation."""
    x = ted.placeholder((2, 48, 48, 8), name="x")  # nothing of it is on the stack
    weights = [ted.placeholder((3, 3, 8, 8), name=f"w{k}") for k in range(depth)]
    value = x
    for weight in weights:
        value = nn.relu(nn.conv2d(value, weight, padding=1))
    f = ted.compile([x, *weights], value)
    f(*(np.zeros(t.shape, "f4") for t in (x, *weights)))
    return f.peak_bytes / (4 * x.size)


def test_a_chain_of_layers_needs_no_more_memory_when_it_is_longer() -> None:
    assert peak_of_layers(8) <= peak_of_layers(3) + 1


def test_buffers_of_consecutive_layers_are_returned() -> None:
    assert peak_of_layers(6) < 3.2  # the result, what a layer makes, and that before with zeros
