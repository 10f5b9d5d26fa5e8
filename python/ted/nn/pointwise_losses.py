"""Losses of elements, averaged, under torch's names."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, shaped
from ted.nn.losses import reduced


def _pair(prediction: Any, target: Any, what: str) -> tuple[Tensor, Tensor]:
    prediction = floating(prediction, f"{what}: prediction")
    return prediction, shaped(target, prediction.shape, f"{what}: target")


def l1_loss(prediction: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The magnitude of the difference, averaged.

    Raises: FrontendError for shapes that differ, no float type, an unknown `reduction`.
    """
    p, t = _pair(prediction, target, "l1_loss")
    return reduced(ted.absolute(p - t), reduction, "l1_loss")


def huber_loss(prediction: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Half the squared difference up to `delta`, from there on linear.

    Raises: FrontendError as `l1_loss`.
    """
    p, t = _pair(prediction, target, "huber_loss")
    d = p - t
    size = ted.absolute(d)
    losses = ted.where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta))
    return reduced(losses, reduction, "huber_loss")


def smooth_l1_loss(
    prediction: Any, target: Any, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """`huber_loss` of delta = beta, divided by it; the magnitude for 0.

    Raises: FrontendError as `l1_loss`.
    """
    if not beta:
        return l1_loss(prediction, target, reduction)
    return huber_loss(prediction, target, reduction, beta) / beta


def binary_cross_entropy(probability: Any, target: Any, reduction: str = "mean") -> Tensor:
    """-(t log p + (1 - t) log(1 - p)), logarithms not below -100.

    Raises: FrontendError as `l1_loss`.
    """
    p, t = _pair(probability, target, "binary_cross_entropy")
    on, off = ted.maximum(ted.log(p), -100.0), ted.maximum(ted.log1p(-p), -100.0)
    return reduced(-(t * on + (1.0 - t) * off), reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(logits: Any, target: Any, reduction: str = "mean") -> Tensor:
    """`binary_cross_entropy` of sigmoid(logits), without overflow.

    Raises: FrontendError as `l1_loss`.
    """
    x, t = _pair(logits, target, "binary_cross_entropy_with_logits")
    return reduced(ted.softplus(x) - t * x, reduction, "binary_cross_entropy_with_logits")


def kl_div(log_probability: Any, target: Any, reduction: str = "mean") -> Tensor:
    """target * (log(target) - log_probability), 0 where the target is 0.

    Raises: FrontendError as `l1_loss`.
    """
    x, t = _pair(log_probability, target, "kl_div")
    return reduced(ted.where(t > 0, t * (ted.log(t) - x), 0.0), reduction, "kl_div")


def poisson_nll_loss(log_rate: Any, target: Any, reduction: str = "mean") -> Tensor:
    """exp(log_rate) - target * log_rate.

    Raises: FrontendError as `l1_loss`.
    """
    x, t = _pair(log_rate, target, "poisson_nll_loss")
    return reduced(ted.exp(x) - t * x, reduction, "poisson_nll_loss")


def gaussian_nll_loss(
    prediction: Any, target: Any, variance: Any, reduction: str = "mean", eps: float = 1e-6
) -> Tensor:
    """(log(variance) + (prediction - target) ** 2 / variance) / 2, of a variance not below `eps`.

    The bound has no slope.
    Raises: FrontendError as `l1_loss`.
    """
    p, t = _pair(prediction, target, "gaussian_nll_loss")
    v = floating(variance, "gaussian_nll_loss: variance")
    bounded = v + ted.stop_gradient(ted.maximum(v, eps) - v)
    losses = 0.5 * (ted.log(bounded) + ted.square(p - t) / bounded)
    return reduced(losses, reduction, "gaussian_nll_loss")


def soft_margin_loss(prediction: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * prediction)), for targets -1 and 1.

    Raises: FrontendError as `l1_loss`.
    """
    p, t = _pair(prediction, target, "soft_margin_loss")
    return reduced(ted.softplus(-t * p), reduction, "soft_margin_loss")


def nll_loss(log_probabilities: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """The negative of the log-probability of each label, over the last dim.

    Shapes: log_probabilities (..., classes), labels (...) of integers.
    Raises: FrontendError for shapes that do not fit, labels that are no integers.
    """
    x = floating(log_probabilities, "nll_loss: log_probabilities")
    labels = to_tensor(labels, "nll_loss: labels")
    if labels.dtype.kind != "int":
        fail(f"nll_loss: labels must be integers, got {labels.dtype}")
    shaped(labels, x.shape[:-1], "nll_loss: labels")
    c = ted.reduce_axis(x.shape[-1], "c")
    chosen = ted.compute(
        labels.shape,
        lambda *i: -ted.sum(ted.where(labels[i] == c, x[(*i, c)], 0), axis=c),
        name="nll_loss",
    )
    return reduced(chosen, reduction, "nll_loss")
