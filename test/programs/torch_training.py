"""Training in torch on the parameters, batches and steps of a program: what its losses must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from ted import tree


def leaves(params: Any) -> Any:
    """The same nest of tensors that want a gradient."""
    return tree.map(lambda a: torch.tensor(np.asarray(a), requires_grad=True), params)


def train(
    loss: Callable[..., Any],
    params: Any,
    batches: Iterable[Any],
    count: int,
    optimizer: Callable[..., Any] = torch.optim.Adam,
    rates: Any = None,
    **options: Any,
) -> tuple[list[float], Any]:
    """The losses of `count` steps, with the rates if they are given, and the parameters."""
    params = leaves(params)
    moving = optimizer(tree.leaves(params), **options)
    losses = []
    for k, batch in zip(range(count), batches, strict=False):
        if rates is not None:
            moving.param_groups[0]["lr"] = rates[k]
        moving.zero_grad()
        value = loss(params, *map(torch.from_numpy, batch))
        value.backward()
        moving.step()
        losses.append(value.item())
    return losses, params
