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
MANY = np.array([[1, 3, -1, 0], [2, -1, 1, 1], [0, 0, 2, 3]])  # none, one, and all of their classes
WEIGHT = np.cos(np.arange(16.0)).reshape(2, 4, 2)
Pair = tuple[Callable[..., Any], Callable[..., Any]]

SAME = ("relu6", "hardtanh", "hardshrink", "softshrink", "tanhshrink",
        "celu", "selu", "mish", "softsign", "logsigmoid", "glu", "normalize")  # fmt: skip
MAPS: dict[str, Pair] = {
    **{n: (lambda x, n=n: getattr(nn, n)(x), lambda x, n=n: getattr(F, n)(x)) for n in SAME},
    "normalize": (lambda x: nn.normalize(x, 3.0), lambda x: F.normalize(x, 3.0, dim=-1)),
    "by maxima": (lambda x: nn.normalize(x + T, np.inf),
                  lambda x: F.normalize(x + torch.tensor(T), np.inf, -1)),
    # Torch has no second derivative of these two.
    "hardsigmoid": (nn.hardsigmoid, lambda x: F.relu6(x + 3) / 6),
    "hardswish": (nn.hardswish, lambda x: x * F.relu6(x + 3) / 6),
    "threshold": (lambda x: nn.threshold(x, 0.1, 2.0), lambda x: F.threshold(x, 0.1, 2.0)),
    "prelu": (lambda x: nn.prelu(x, 0.3), lambda x: F.leaky_relu(x, 0.3)),
    "elu of 2": (lambda x: nn.elu(x, alpha=2.0), lambda x: F.elu(x, 2.0)),
    "celu of 2": (lambda x: nn.celu(x, alpha=2.0), lambda x: F.celu(x, 2.0)),
    "layer_norm": (lambda x: nn.layer_norm(x.reshape((2, 3, 2)), [3, 2], T[:, :2], T[:, 2:], 1e-3),
                   lambda x: F.layer_norm(x.reshape(2, 3, 2), [3, 2], torch.tensor(T[:, :2]),
                                          torch.tensor(T[:, 2:]), 1e-3)),
    "rms_norm": (lambda x: nn.rms_norm(x, (4,), weight=T[0]),
                 lambda x: F.rms_norm(x, (4,), torch.tensor(T[0]))),
    "squareplus": (nn.squareplus, lambda x: (x + torch.sqrt(x * x + 4)) / 2),
    "softmin": (lambda x: nn.softmin(x, dim=0), lambda x: F.softmin(x, dim=0)),
    "bilinear": (lambda x: nn.bilinear(x, T[:, :2], WEIGHT, T[0, :2]),
                 lambda x: F.bilinear(x, torch.tensor(T[:, :2]), torch.tensor(WEIGHT),
                                      torch.tensor(T[0, :2]))),
    "affine_grid": (lambda x: nn.affine_grid(x.reshape((2, 2, 3)), (3, 5)),
                    lambda x: F.affine_grid(x.reshape(2, 2, 3), [2, 1, 3, 5], False)),
    "affine_grid by corners": (
        lambda x: nn.affine_grid(x.reshape((1, 3, 4)), (3, 4, 2), align_corners=True),
        lambda x: F.affine_grid(x.reshape(1, 3, 4), [1, 1, 3, 4, 2], True)),
    "channel_shuffle": (lambda x: nn.channel_shuffle(x.reshape((1, 6, 2, 1)), 3, layout="NCHW"),
                        lambda x: F.channel_shuffle(x.reshape(1, 6, 2, 1), 3)),
    "channel_shuffle of NHWC": (
        lambda x: nn.channel_shuffle(x.reshape((1, 2, 1, 6)), 2),
        lambda x: F.channel_shuffle(x.reshape(1, 2, 1, 6).permute(0, 3, 1, 2), 2)
                   .permute(0, 2, 3, 1)),
    "cosine": (lambda x: nn.cosine_similarity(x, T),
               lambda x: F.cosine_similarity(x, torch.tensor(T), dim=-1)),
}  # fmt: skip


def _loss(name: str, other: Any = None, **options: Any) -> Pair:
    target = T if other is None else other
    return (
        lambda x: getattr(nn, name)(x, target, **options),
        lambda x: getattr(F, name)(x, torch.tensor(target), **options),
    )


def many_margins(x: Any) -> Any:
    """Torch's `multilabel_margin_loss`, of which it has no second derivative."""
    total = 0
    for row, labels in zip(x, MANY.tolist(), strict=True):
        known = labels[: labels.index(-1)] if -1 in labels else labels
        others = [c for c in range(4) if c not in known]
        total = total + sum((1 - row[y] + row[c]).clamp(min=0) for y in known for c in others)
    return total / 12


def _triplets(name: str, **options: Any) -> Pair:
    return (
        lambda x: getattr(nn, name)(x, T, T * T, **options),
        lambda x: getattr(F, name)(x, torch.tensor(T), torch.tensor(T * T), **options),
    )


LOSSES: dict[str, Pair] = {
    **{n: _loss(n) for n in ("l1_loss", "huber_loss", "smooth_l1_loss", "poisson_nll_loss",
                             "binary_cross_entropy_with_logits")},
    "huber of 2": _loss("huber_loss", delta=2.0, reduction="sum"),
    "smooth of 0.5": _loss("smooth_l1_loss", beta=0.5, reduction="none"),
    "poisson of rates": (
        lambda x: nn.poisson_nll_loss(x * x, 3 * T, "mean", log_input=False, full=True),
        lambda x: F.poisson_nll_loss(x * x, torch.tensor(3 * T), log_input=False, full=True),
    ),
    "kl_div": _loss("kl_div", reduction="sum"),
    "soft_margin_loss": _loss("soft_margin_loss", np.sign(T - 0.5)),
    "nll_loss": _loss("nll_loss", LABELS),
    "multilabel_margin_loss": (lambda x: nn.multilabel_margin_loss(x, MANY), many_margins),
    "multilabel_soft_margin_loss": _loss("multilabel_soft_margin_loss", np.round(T)),
    "weighted multilabel": (
        lambda x: nn.multilabel_soft_margin_loss(x, np.round(T), T[0], "none"),
        lambda x: F.multilabel_soft_margin_loss(
            x, torch.tensor(np.round(T)), torch.tensor(T[0]), reduction="none"
        ),
    ),
    "margin_ranking_loss": (
        lambda x: nn.margin_ranking_loss(x, T, np.sign(T - 0.5), 0.3),
        lambda x: F.margin_ranking_loss(x, torch.tensor(T), torch.tensor(np.sign(T - 0.5)), 0.3),
    ),
    "triplet_margin_loss": _triplets("triplet_margin_loss", p=3.0),
    "triplets by maxima": _triplets("triplet_margin_loss", p=np.inf),
    "triplet_margin_with_distance_loss": _triplets("triplet_margin_with_distance_loss", swap=True),
    "triplets by another distance": (
        lambda x: nn.triplet_margin_with_distance_loss(x, T, T * T, lambda a, b: (a * b).sum(-1)),
        lambda x: F.triplet_margin_with_distance_loss(
            x, torch.tensor(T), torch.tensor(T * T), distance_function=lambda a, b: (a * b).sum(-1)
        ),
    ),
    "binary_cross_entropy": (
        lambda x: nn.binary_cross_entropy(input=ted.sigmoid(x), target=T, weight=T[0]),
        lambda x: F.binary_cross_entropy(torch.sigmoid(x), torch.tensor(T), torch.tensor(T[0])),
    ),
    "gaussian_nll_loss": (
        lambda x: nn.gaussian_nll_loss(x, T, x * x + 0.1, full=True),
        lambda x: F.gaussian_nll_loss(x, torch.tensor(T), x * x + 0.1, full=True),
    ),
}  # fmt: skip
TABLE = {**MAPS, **LOSSES}


def test_values_are_those_of_torch() -> None:
    found = run(lambda x: [mine(x) for mine, _ in TABLE.values()], X)
    for name, mine in zip(TABLE, found, strict=True):
        other = TABLE[name][1](torch.tensor(X)).numpy()
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14, err_msg=name)


def test_a_class_may_be_a_label_twice_and_one_below_0_ends_them() -> None:
    wanted = F.multilabel_margin_loss(torch.tensor(X), torch.tensor(MANY))
    np.testing.assert_allclose(many_margins(torch.tensor(X)), wanted)


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
    np.testing.assert_allclose(mine[1], second.numpy(), rtol=1e-9, atol=1e-10)


def test_a_probability_of_0_or_1_has_no_slope_where_its_logarithm_is_cut_off() -> None:
    x, target = np.array([40.0, -800.0, 2.0, 800.0, -800.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    t = torch.tensor(x, requires_grad=True)
    F.binary_cross_entropy(torch.sigmoid(t), torch.tensor(target)).backward()
    mine = ted.grad(lambda x: nn.binary_cross_entropy(ted.sigmoid(x), target))(x)
    assert t.grad is not None
    np.testing.assert_allclose(mine, t.grad.numpy(), rtol=1e-12, atol=1e-16)


def test_a_probability_whose_reciprocal_overflows_has_no_slope() -> None:
    x = np.array([-100.0, -90.0, -87.0], np.float32)  # of the first two 1 / p is infinite
    loss = ted.function(lambda x: nn.binary_cross_entropy(ted.sigmoid(x), np.ones(3, "f4"), "sum"))
    np.testing.assert_allclose(ted.grad(loss)(x), [0.0, 0.0, -1.0], rtol=1e-5)
    np.testing.assert_allclose(loss(x), 277.0, rtol=1e-4)


def test_what_has_no_meaning_is_refused() -> None:
    x = ted.placeholder((2, 3), "float64", name="x")
    with pytest.raises(ted.errors.FrontendError, match="glu: the extent along axis -1 must be"):
        nn.glu(x)
    with pytest.raises(ted.errors.FrontendError, match="celu: alpha must not be 0"):
        nn.celu(x, 0.0)
    with pytest.raises(
        ted.errors.FrontendError, match=r"norm: normalized_shape has .*, got \(2,\)"
    ):
        nn.layer_norm(x, (2,), x[:, 0])
    with pytest.raises(ted.errors.FrontendError, match="nll_loss: labels must be integers"):
        nn.nll_loss(x, x[:, 0])
