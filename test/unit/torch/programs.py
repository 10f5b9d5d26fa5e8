"""Functions in ted and in torch, and how far results are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

import ted
import ted.torch


class Call(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        """What the function gives."""
        return self.function(*args)


def layer(x: Any, w: Any) -> Any:
    """A layer, in ted."""
    return ted.tanh(x @ w)


def torch_layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """The same in torch."""
    return torch.tanh(x @ w)


operator = ted.torch.op(layer)


def arguments(requires_grad: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Arguments of a layer, always the same."""
    generator = torch.Generator().manual_seed(5)
    made = (torch.randn(s, generator=generator, dtype=torch.float64) for s in ((3, 4), (4, 2)))
    x, w = (t.requires_grad_(requires_grad) for t in made)
    return x, w


def assert_equal(found: Any, expected: Any) -> None:
    """Compare nests of tensors of f64 that were computed in another order."""
    pairs = zip(_pytree.tree_leaves(found), _pytree.tree_leaves(expected), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def energy(f: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A scalar of a function of two arguments."""
    return lambda x, w: (f(x, w) ** 2).sum()


def force_loss(f: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A loss of derivatives, as those who match forces have: of order 2 to the weights."""

    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        (force,) = torch.autograd.grad(energy(f)(x, w), x, create_graph=True)
        return (force**2).sum()

    return loss
