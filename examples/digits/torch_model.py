"""The same network and training step in torch: what the tests and benchmarks compare with.

Weights of convolutions are moved into torch's layout once, when the network is made.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.nn import functional

from digits import model


class Digits:
    """Parameters as torch keeps them, and the step on them."""

    def __init__(self, params: model.Parameters) -> None:
        self.params = {name: _to_torch(name, value) for name, value in params.items()}
        self.optimizer = torch.optim.Adam(self.params.values(), model.LEARNING_RATE)
        self.t = 0

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes for images (n, 1, 8, 8)."""
        p = self.params
        x = functional.relu(functional.conv2d(x, p["conv1"], p["bias1"], padding=1))
        x = functional.max_pool2d(x, 2)
        x = functional.relu(functional.conv2d(x, p["conv2"], p["bias2"], padding=1))
        # Flattened in the order height, width, channel, in which the weights of `dense` are.
        return x.permute(0, 2, 3, 1).flatten(1) @ p["dense"] + p["bias3"]

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of a batch."""
        return functional.cross_entropy(self.logits(x), y)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """One step of Adam; the loss before it."""
        rate = model.LEARNING_RATE * math.exp2(-self.t / model.HALVED_AFTER)
        self.t += 1
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.zero_grad()
        value = self.loss(x, y)
        value.backward()
        self.optimizer.step()
        return value.detach()

    def gradients(self, x: torch.Tensor, y: torch.Tensor) -> tuple[float, model.Parameters]:
        """The loss and its gradients in the layouts of `model`."""
        self.optimizer.zero_grad()
        value = self.loss(x, y)
        value.backward()
        return value.item(), {name: _to_numpy(name, p.grad) for name, p in self.params.items()}


def images(x: np.ndarray) -> torch.Tensor:
    """Images (n, 8, 8, 1) as torch wants them, (n, 1, 8, 8)."""
    return torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))


def _to_torch(name: str, value: np.ndarray) -> torch.Tensor:
    moved = value.transpose(3, 2, 0, 1) if name.startswith("conv") else value
    return torch.tensor(np.ascontiguousarray(moved), requires_grad=True)


def _to_numpy(name: str, tensor: torch.Tensor) -> np.ndarray:
    value = tensor.numpy()
    return value.transpose(2, 3, 1, 0) if name.startswith("conv") else value
