"""ResNet-18 learns as torch's does: losses, parameters and running moments."""

from __future__ import annotations

import numpy as np
import pytest
import resnet

from ted import tree

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from programs.torch_training import train  # noqa: E402

WIDTH, SIZE, RATE = 2, 8, {"lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4}


def torch_loss(running):
    """The loss in torch, which moves `running`."""

    def conv(p, x, stride=1, padding=1):
        return functional.conv2d(x, p["w"].permute(3, 2, 0, 1), stride=stride, padding=padding)

    def loss(p, x, y):
        places = iter(running)

        def norm(p, x):
            return functional.batch_norm(x, *next(places), p["scale"], p["shift"], training=True)

        x = functional.relu(norm(p["stem"], conv(p["stem"], x.movedim(-1, 1))))
        for stage, blocks in enumerate(p["stages"]):
            for k, block in enumerate(blocks):
                stride = 2 if stage and not k else 1
                found = functional.relu(norm(block["first"], conv(block["first"], x, stride)))
                found = norm(block["second"], conv(block["second"], found))
                if "across" in block:
                    x = norm(block["across"], conv(block["across"], x, stride, 0))
                x = functional.relu(x + found)
        return functional.cross_entropy(x.mean((2, 3)) @ p["head"]["w"] + p["head"]["bias"], y)

    return loss


def moments(p):
    """Running moments before the first step, for torch to move."""
    return tree.map(torch.tensor, resnet.first_moments(p))


@pytest.mark.slow
def test_losses_equal_those_of_torch_over_100_steps() -> None:
    losses, p, running = resnet.learn(100, WIDTH, SIZE, "float64")
    first = resnet.initial(WIDTH, 1, 10, "float64")
    moved, batches = moments(first), resnet.batches(SIZE, "float64")
    expected, last = train(torch_loss(moved), first, batches, 100, torch.optim.SGD, **RATE)
    np.testing.assert_allclose(losses, expected, rtol=1e-8)
    pairs = zip(tree.leaves((p, running)), tree.leaves((last, moved)), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.detach(), rtol=1e-6, atol=1e-8)
