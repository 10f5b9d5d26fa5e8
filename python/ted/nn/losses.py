"""Losses: scalars to minimise, with the reductions that training loops use."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.activations import log_softmax
from ted.nn.arguments import floating, shaped

logsumexp = ted.logsumexp


def reduced(losses: Tensor, reduction: str, what: str) -> Tensor:
    """The mean of losses, their sum, or themselves.

    Raises: FrontendError for another `reduction`.
    """
    if reduction not in ("mean", "sum", "none"):
        fail(f'{what}: reduction must be "mean", "sum" or "none", got {reduction!r}')
    if reduction == "none":
        return losses
    return ted.mean(losses) if reduction == "mean" else ted.sum(losses)


def cross_entropy(logits: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """The negative log-likelihood of `labels` under softmax(logits), over the last dim.

    Integer labels are compared with the class index, so the gradient is a gather; a label outside
    [0, classes) gives NaN.  Float labels are probabilities of the classes.

    Shapes: logits (..., classes), labels (...) of integers or (..., classes) of floats.
    Raises: FrontendError for shapes that differ.
    """
    logits = floating(logits, "cross_entropy: logits")
    labels = to_tensor(labels, "cross_entropy: labels")
    if logits.ndim == 0:
        fail("cross_entropy: logits need a dim of classes, got rank 0")
    if labels.dtype.is_float:
        shaped(labels, logits.shape, "cross_entropy: labels")
        losses = -ted.sum(labels * log_softmax(logits), axis=-1)
        return reduced(losses, reduction, "cross_entropy")
    if labels.dtype.kind != "int":
        fail(f"cross_entropy: labels must be integers or floats, got {labels.dtype}")
    shaped(labels, logits.shape[:-1], "cross_entropy: labels")
    return reduced(_label_losses(logits, labels), reduction, "cross_entropy")


def _label_losses(logits: Tensor, labels: Tensor) -> Tensor:
    classes = logits.shape[-1]
    c = ted.reduce_axis(classes, "c")

    def loss(*i: Any) -> Any:
        label = labels[i]
        chosen = ted.sum(ted.where(label == c, logits[(*i, c)], 0), axis=c)
        known = (label >= 0) & (label < classes)
        return ted.where(known, ted.logsumexp(logits[(*i, c)], axis=c) - chosen, float("nan"))

    return ted.compute(labels.shape, loss, name="cross_entropy")


def mse(prediction: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The squared difference, averaged.

    Shapes: equal.
    Raises: FrontendError for shapes that differ, a prediction of no float type, an unknown
    `reduction`.
    """
    prediction = floating(prediction, "mse: prediction")
    target = shaped(target, prediction.shape, "mse: target")
    return reduced(ted.square(prediction - target), reduction, "mse")
