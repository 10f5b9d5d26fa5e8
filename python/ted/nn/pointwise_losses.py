"""Losses of elements, averaged, under torch's names."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend.checks import broadcast, broadcast_to, flag, number
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import above_zero, floating, one_of, shaped
from ted.nn.losses import REDUCTIONS, reduced, weighted


def _pair(prediction: Any, target: Any, what: str) -> tuple[Tensor, Tensor]:
    prediction = floating(prediction, f"{what}: prediction")
    return prediction, shaped(target, prediction.shape, f"{what}: target")


def _stretched(prediction: Any, target: Any, what: str) -> tuple[Tensor, Tensor]:
    """A prediction and a target that broadcast."""
    p, t = floating(prediction, f"{what}: prediction"), to_tensor(target, f"{what}: target")
    shape = broadcast([p.shape, t.shape], what)
    return ted.broadcast_to(p, shape), ted.broadcast_to(t, shape)


def l1_loss(prediction: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The magnitude of the difference, averaged; with weights, by these.

    Raises: FrontendError for shapes that differ, no float type, an unknown `reduction`.
    """
    p, t = _pair(prediction, target, "l1_loss")
    return weighted(ted.absolute(p - t), weight, reduction, "l1_loss")


def huber_loss(
    prediction: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Tensor:
    """Half the squared difference up to `delta`, from there on linear; times weights.

    The mean is that of the products, as in torch.
    Raises: FrontendError as `l1_loss`, and for a delta that is not positive.
    """
    p, t = _pair(prediction, target, "huber_loss")
    delta = above_zero(delta, "huber_loss: delta")
    d = p - t
    size = ted.absolute(d)
    losses = ted.where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta))
    if weight is not None:
        losses = losses * shaped(weight, losses.shape, "huber_loss: weight")
    return reduced(losses, reduction, "huber_loss")


def smooth_l1_loss(
    prediction: Any, target: Any, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """`huber_loss` of delta = beta, divided by it; the magnitude for 0.

    Raises: FrontendError as `l1_loss`.
    """
    if not number(beta, "smooth_l1_loss: beta"):
        return l1_loss(prediction, target, reduction)
    return huber_loss(prediction, target, reduction, beta) / beta


def binary_cross_entropy(
    probability: Any, target: Any, reduction: str = "mean", weight: Any = None
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) * weight, logarithms not below -100, without a slope there.

    Nor has the logarithm of a p so near 0 that its slope overflows.
    Shapes: equal; a weight broadcasts to them.
    Raises: FrontendError as `l1_loss`, and for a weight that does not broadcast.
    """
    what = "binary_cross_entropy"

    def loss(p: Any, t: Any) -> Any:  # at 0, and where 1 / p overflows, log has no finite slope
        log = ted.maximum(ted.log(p), -100.0)
        on = ted.where(p <= least, ted.stop_gradient(log), log)
        off = ted.where(p == 1, -100.0, ted.maximum(ted.log1p(-p), -100.0))
        return -(t * on + (1.0 - t) * off)

    p, t = _pair(probability, target, what)
    least = 1 / ted.finfo(p.dtype).max
    losses = ted.vectorize(loss)(p, t)
    if weight is not None:
        weight = to_tensor(weight, f"{what}: weight")
        broadcast_to(weight.shape, p.shape, f"{what}: weight")
        losses = losses * weight
    return reduced(losses, reduction, what)


def binary_cross_entropy_with_logits(
    logits: Any, target: Any, reduction: str = "mean", weight: Any = None, pos_weight: Any = None
) -> Tensor:
    """-target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x)), without overflow.

    `pos_weight` multiplies the first term, `weight` both.
    Shapes: logits and target equal; weights broadcast to them.
    Raises: FrontendError as `l1_loss`, and for weights that do not broadcast.
    """
    what = "binary_cross_entropy_with_logits"
    x = floating(logits, f"{what}: logits")
    target = shaped(target, x.shape, f"{what}: target")
    tensors = [x, target]
    for name, given in (("weight", weight), ("pos_weight", pos_weight)):
        value = 1.0 if given is None else to_tensor(given, f"{what}: {name}")
        if isinstance(value, Tensor):
            broadcast_to(value.shape, x.shape, f"{what}: {name}")
        tensors.append(value)

    def loss(x: Any, t: Any, w: Any, positive: Any) -> Any:
        return w * ((1 - t) * x + (1 + (positive - 1) * t) * ted.softplus(-x))

    return reduced(ted.vectorize(loss)(*tensors), reduction, what)


def kl_div(
    log_probability: Any, target: Any, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log(target) - log_probability), 0 where the target is; "batchmean" sums a sample.

    With `log_target` the target is given as its logarithm, too.
    Shapes: broadcast.
    Raises: FrontendError for shapes that do not broadcast, and as `l1_loss`.
    """
    reduction = one_of(reduction, (*REDUCTIONS, "batchmean"), "kl_div: reduction")

    def loss(x: Any, t: Any) -> Any:
        return ted.where(t > 0, t * (ted.log(t) - x), 0)

    def of_logarithms(x: Any, t: Any) -> Any:
        return ted.exp(t) * (t - x)

    x, t = _stretched(log_probability, target, "kl_div")
    chosen = of_logarithms if flag(log_target, "kl_div: log_target") else loss
    losses = ted.vectorize(chosen)(x, t)
    if reduction != "batchmean":
        return reduced(losses, reduction, "kl_div")
    if losses.ndim == 0:
        fail("kl_div: batchmean needs a batch, got rank 0")
    return ted.mean(ted.sum(losses, axis=tuple(range(1, losses.ndim))))


def poisson_nll_loss(
    log_rate: Any, target: Any, reduction: str = "mean", log_input: bool = True,
    full: bool = False, eps: float = 1e-8,
) -> Tensor:  # fmt: skip
    """exp(log_rate) - target * log_rate; without `log_input` rate - target * log(rate + eps).

    With `full` also Stirling's approximation of log(target!), for targets above 1.
    Shapes: broadcast.
    Raises: FrontendError for shapes that do not broadcast, and as `l1_loss`.
    """
    what = "poisson_nll_loss"
    x, t = _stretched(log_rate, target, what)
    is_log = flag(log_input, f"{what}: log_input")
    losses = ted.exp(x) - t * x if is_log else x - t * ted.log(x + number(eps, f"{what}: eps"))
    if flag(full, f"{what}: full"):
        stirling = t * ted.log(t) - t + 0.5 * ted.log(2 * math.pi * t)
        losses = losses + ted.where(t > 1, stirling, 0.0)
    return reduced(losses, reduction, what)


def gaussian_nll_loss(
    prediction: Any, target: Any, variance: Any, reduction: str = "mean", eps: float = 1e-6,
    full: bool = False,
) -> Tensor:  # fmt: skip
    """(log(variance) + (prediction - target) ** 2 / variance) / 2, of a variance not below `eps`.

    The bound has no slope. With `full` also log(2 pi) / 2.
    Shapes: broadcast; a variance without the last dim is one for all along it.
    Raises: FrontendError for shapes that do not broadcast, and as `l1_loss`.
    """
    what = "gaussian_nll_loss"
    own = floating(prediction, f"{what}: prediction").shape
    p, t = _stretched(prediction, target, what)
    given = ted.full_like(p, variance) if isinstance(variance, (int, float)) else variance
    v = floating(given, f"{what}: variance")
    if v.shape != own and own and v.shape == own[:-1]:
        v = ted.expand_dims(v, -1)
    shape = broadcast([p.shape, v.shape], what)
    p, v, eps = ted.broadcast_to(p, shape), ted.broadcast_to(v, shape), number(eps, f"{what}: eps")
    bounded = v + ted.stop_gradient(ted.maximum(v, eps) - v)
    losses = 0.5 * (ted.log(bounded) + ted.square(p - t) / bounded)
    if flag(full, "gaussian_nll_loss: full"):
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction, "gaussian_nll_loss")


def soft_margin_loss(prediction: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * prediction)), for targets -1 and 1.

    Shapes: broadcast.
    Raises: FrontendError for shapes that do not broadcast, and as `l1_loss`.
    """
    p, t = _stretched(prediction, target, "soft_margin_loss")
    return reduced(ted.softplus(-t * p), reduction, "soft_margin_loss")


def hinge_embedding_loss(
    x: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1.

    Shapes: broadcast.
    Raises: FrontendError for shapes that do not broadcast, and as `l1_loss`.
    """

    def loss(x: Any, t: Any) -> Any:
        return ted.where(t == 1, x, ted.maximum(margin - x, 0))

    what = "hinge_embedding_loss"
    return reduced(ted.vectorize(loss)(*_stretched(x, target, what)), reduction, what)


def multilabel_soft_margin_loss(
    prediction: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of the cross entropies of each with its target, 0 or 1.

    Shapes: prediction and target (..., classes), weight broadcasts to them.
    Raises: FrontendError as `l1_loss`, and for rank 0.
    """
    what = "multilabel_soft_margin_loss"
    p, _ = _pair(prediction, target, what)
    if p.ndim == 0:
        fail(f"{what}: takes a dim of classes, got rank 0")
    losses = binary_cross_entropy_with_logits(p, target, "none", weight)
    return reduced(ted.mean(losses, -1), reduction, what)
