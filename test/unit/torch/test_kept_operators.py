"""Recurrent layers of `torch.export` stay recurrences: values, gradients of both orders, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import ted
import ted.torch
from ted.frontend.trees import flatten
from ted.ir.equations import topological

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


class _Coder(nn.Module):
    """An encoder in both directions, whose states begin a decoder of two layers, without biases."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(3, 2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRU(4, 2, bias=False, num_layers=2)

    def forward(self, x: torch.Tensor) -> Any:
        y, (h, c) = self.encoder(x)
        z, last = self.decoder(y.transpose(0, 1), h)
        return {"z": z, "last": last, "c": c}


class _Writer(nn.Module):
    """One that writes in place, so that torch takes the program apart first."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.RNN(3, 2, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x.clone().mul_(2))[0]


class _Projected(nn.Module):
    """A layer with projections, which ted has not, behind one that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(3, 3)
        self.second = nn.LSTM(3, 3, proj_size=2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(self.first(x)[0])[0]


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def imported(model: nn.Module, x: torch.Tensor) -> Any:
    return ted.torch.from_exported(torch.export.export(model, (x,)))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], bool]] = {
    "an encoder and a decoder": (_Coder, (2, 3, 3), False),
    "a layer that reads what was written": (_Writer, (3, 2, 3), True),
    "a layer without a batch": (lambda: nn.GRU(3, 2), (4, 3), True),
    "projections": (_Projected, (2, 2, 3), False),
}


SLOW = ("an encoder and a decoder", "projections")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MODELS]


@pytest.mark.parametrize("name", NAMES)
def test_recurrent_models_agree_with_torch(name: str) -> None:
    make, shape, second = MODELS[name]
    torch.manual_seed(0)
    model, x = make().double(), draw(*shape)
    f = imported(model, x)
    parameters = list(model.parameters())
    y = x.clone().requires_grad_()
    leaves = tree_leaves(model(y))
    total = sum((v * v.cos()).sum() for v in leaves)
    slope, *wanted = torch.autograd.grad(total, [y, *parameters], create_graph=second)
    if second:
        wanted = torch.autograd.grad((slope**3).sum(), parameters)

    def loss(params: Any, x: Any) -> Any:
        return sum(ted.sum(v * ted.cos(v)) for _, v in flatten(f(params, x))[0])

    def curved(params: Any, x: Any) -> Any:
        return ted.sum(ted.grad(loss, 1)(params, x) ** 3)

    values, found, slopes = ted.function(
        lambda p, x: (f(p, x), ted.grad(loss, 1)(p, x), ted.grad(curved if second else loss)(p, x))
    )(f.params, x.numpy())
    named = dict(flatten(slopes)[0])
    results = [v for _, v in flatten(values)[0]] + [found]
    results += [named[name] for name, _ in model.named_parameters()]
    for one, other in zip(results, [*leaves, slope, *wanted], strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "model",
    [
        nn.LSTM(3, 2),
        nn.GRU(3, 2),
        nn.RNN(3, 2),
        _Writer(),
        nn.GRU(3, 2, 2, False, bidirectional=True),
    ],
)
def test_programs_do_not_grow_with_time(model: nn.Module) -> None:
    def size(steps: int) -> int:
        f = imported(model.double(), draw(steps, 2, 3))
        return len(topological(f._raised.system.outputs))

    assert size(3) == size(9)
