"""Activations and losses by torch's names: values and gradients of two orders against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from ted import nn
from unit.frontend.tracing import run

RANDOM = np.random.default_rng(2)
X = np.concatenate([RANDOM.standard_normal(8) * 3, [-0.25, 0.25, -8.0, 8.0]]).reshape(3, 4)
T = RANDOM.random((3, 4))
LABELS = np.array([1, 3, 0])
Pair = tuple[Callable[..., Any], Callable[..., Any]]

SAME = ("relu6", "hardtanh", "hardshrink", "softshrink", "tanhshrink",
        "celu", "selu", "mish", "softsign", "logsigmoid", "glu", "normalize")  # fmt: skip
MAPS: dict[str, Pair] = {
    **{n: (lambda x, n=n: getattr(nn, n)(x), lambda x, n=n: getattr(F, n)(x)) for n in SAME},
    "normalize": (lambda x: nn.normalize(x, 3.0), lambda x: F.normalize(x, 3.0, dim=-1)),
    # Torch has no second derivative of these two.
    "hardsigmoid": (nn.hardsigmoid, lambda x: F.relu6(x + 3) / 6),
    "hardswish": (nn.hardswish, lambda x: x * F.relu6(x + 3) / 6),
    "threshold": (lambda x: nn.threshold(x, 0.1, 2.0), lambda x: F.threshold(x, 0.1, 2.0)),
    "prelu": (lambda x: nn.prelu(x, 0.3), lambda x: F.leaky_relu(x, 0.3)),
    "celu of 2": (lambda x: nn.celu(x, alpha=2.0), lambda x: F.celu(x, 2.0)),
    "squareplus": (nn.squareplus, lambda x: (x + torch.sqrt(x * x + 4)) / 2),
    "softmin": (lambda x: nn.softmin(x, dim=0), lambda x: F.softmin(x, dim=0)),
    "cosine": (lambda x: nn.cosine_similarity(x, T),
               lambda x: F.cosine_similarity(x, torch.tensor(T), dim=-1)),
}  # fmt: skip


def _loss(name: str, other: Any = None, **options: Any) -> Pair:
    target = T if other is None else other
    return (
        lambda x: getattr(nn, name)(x, target, **options),
        lambda x: getattr(F, name)(x, torch.tensor(target), **options),
    )


LOSSES: dict[str, Pair] = {
    **{n: _loss(n) for n in ("l1_loss", "huber_loss", "smooth_l1_loss", "poisson_nll_loss",
                             "binary_cross_entropy_with_logits")},
    "huber of 2": _loss("huber_loss", delta=2.0, reduction="sum"),
    "smooth of 0.5": _loss("smooth_l1_loss", beta=0.5, reduction="none"),
    "kl_div": _loss("kl_div", reduction="sum"),
    "soft_margin_loss": _loss("soft_margin_loss", np.sign(T - 0.5)),
    "nll_loss": _loss("nll_loss", LABELS),
    "binary_cross_entropy": (
        lambda x: nn.binary_cross_entropy(ted.sigmoid(x), T),
        lambda x: F.binary_cross_entropy(torch.sigmoid(x), torch.tensor(T)),
    ),
    "gaussian_nll_loss": (
        lambda x: nn.gaussian_nll_loss(x, T, x * x + 0.1),
        lambda x: F.gaussian_nll_loss(x, torch.tensor(T), x * x + 0.1),
    ),
}  # fmt: skip
TABLE = {**MAPS, **LOSSES}


def test_values_are_those_of_torch() -> None:
    found = run(lambda x: [mine(x) for mine, _ in TABLE.values()], X)
    for name, mine in zip(TABLE, found, strict=True):
        other = TABLE[name][1](torch.tensor(X)).numpy()
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14, err_msg=name)


def totals(library: Any, side: int, x: Any, names: list[str]) -> Any:
    """The sum of all results of a table, each element with a weight of its own."""
    total: Any = 0.0
    for k, name in enumerate(names):
        y = TABLE[name][side](x)
        count = int(np.prod(tuple(y.shape)))
        weights = np.cos(k + 1.0 + np.arange(count)).reshape(tuple(y.shape))
        total = total + (y * (torch.tensor(weights) if library is torch else weights)).sum()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("names", [list(MAPS), list(LOSSES)], ids=["maps", "losses"])
def test_gradients_of_two_orders_are_those_of_torch(names: list[str]) -> None:
    t = torch.tensor(X, requires_grad=True)
    (first,) = torch.autograd.grad(totals(torch, 1, t, names), t, create_graph=True)
    (second,) = torch.autograd.grad((first * torch.tensor(T)).sum(), t)
    gradient = ted.grad(lambda x: totals(ted, 0, x, names))
    mine = ted.function(lambda x: (gradient(x), ted.grad(lambda v: (gradient(v) * T).sum())(x)))(X)
    np.testing.assert_allclose(mine[0], first.detach().numpy(), rtol=1e-10)
    np.testing.assert_allclose(mine[1], second.numpy(), rtol=1e-9)


def test_what_has_no_meaning_is_refused() -> None:
    x = ted.placeholder((2, 3), "float64", name="x")
    with pytest.raises(ted.errors.FrontendError, match="glu: the extent along axis -1 must be"):
        nn.glu(x)
    with pytest.raises(ted.errors.FrontendError, match="celu: alpha must not be 0"):
        nn.celu(x, 0.0)
    with pytest.raises(ted.errors.FrontendError, match="nll_loss: labels must be integers"):
        nn.nll_loss(x, x[:, 0])
