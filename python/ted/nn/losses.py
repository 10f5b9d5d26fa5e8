"""Losses: scalars to minimise, with the reductions that training loops use."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.checks import axis_of, integer, number
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.activations import log_softmax
from ted.nn.arguments import above_zero, floating, one_of, shaped, within
from ted.records import dataclass

logsumexp = ted.logsumexp
REDUCTIONS = ("mean", "sum", "none")


def reduced(losses: Tensor, reduction: str, what: str) -> Tensor:
    """The mean or the sum of losses, or all of them.

    Raises: FrontendError for another reduction.
    """
    if one_of(reduction, REDUCTIONS, f"{what}: reduction") == "none":
        return losses
    return ted.mean(losses) if reduction == "mean" else ted.sum(losses)


# ------------------------------------------------------------------ of classes


def cross_entropy(
    logits: Any, labels: Any, reduction: str = "mean", weight: Any = None,
    ignore_index: int | None = None, label_smoothing: float = 0.0, axis: int = -1,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of `labels` under softmax(logits) over `axis`.

    Integer labels are compared with the class index, so the gradient is a gather; a label outside
    [0, classes) is an error when the program runs, `ignore_index` (which may be anything) counts
    nothing.  Float labels are probabilities of the classes, of which a negative `ignore_index`
    leaves out none.  The mean is weighted by the weights of the labels; smoothing mixes a part of
    the uniform distribution into the labels.

    Shapes: logits (..., classes), labels (...) of integers or (..., classes) of floats, weight
    (classes).
    Raises: FrontendError for shapes that differ, labels of bools, a smoothing outside [0, 1].
    """
    what = "cross_entropy"
    classes = _Classes.of(what, logits, axis, weight)
    labels = to_tensor(labels, f"{what}: labels")
    label_smoothing = number(
        label_smoothing, f"{what}: label_smoothing", "must be in [0, 1]", lambda s: 0 <= s <= 1
    )
    if not labels.dtype.is_float:
        return classes.of_labels(labels, reduction, ignore_index, True, label_smoothing)
    if ignore_index is not None and integer(ignore_index, f"{what}: ignore_index") >= 0:
        fail(
            f"{what}: ignore_index is one of integer labels, got {ignore_index} and {labels!r}; "
            "probabilities that count nothing are 0"
        )
    if labels.ndim < classes.x.ndim:
        fail(
            f"{what}: labels of floats are probabilities of shape {classes.x.shape}, got "
            f'{labels.shape} ({labels.name}); write labels.astype("int64") for numbers of classes'
        )
    shaped(labels, classes.x.shape, f"{what}: labels")
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + label_smoothing / classes.count
    if classes.weight is not None:
        extents = [1] * classes.x.ndim
        extents[classes.axis] = classes.count
        labels = labels * classes.weight.reshape(tuple(extents))
    losses = -ted.sum(labels * log_softmax(classes.x, classes.axis), axis=classes.axis)
    return reduced(losses, reduction, what)


def nll_loss(
    log_probabilities: Any, labels: Any, reduction: str = "mean", weight: Any = None,
    ignore_index: int | None = None, axis: int = -1,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of integer labels, whose classes lie along `axis`.

    Options and errors as in `cross_entropy`.
    Shapes: log_probabilities (..., classes), labels (...), weight (classes).
    Raises: FrontendError for shapes that differ, or labels that are no integers.
    """
    classes = _Classes.of("nll_loss", log_probabilities, axis, weight, "log_probabilities")
    labels = to_tensor(labels, "nll_loss: labels")
    return classes.of_labels(labels, reduction, ignore_index, False)


def multi_margin_loss(
    x: Any, labels: Any, p: float = 1, margin: float = 1.0, weight: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over other classes c of max(0, margin - x[label] + x[c]) ** p: the hinge loss.

    Shapes: x (..., classes), labels (...) of integers, weight (classes).
    Raises: FrontendError for shapes that differ, labels that are no integers.
    """
    what = "multi_margin_loss"
    p, margin = above_zero(p, f"{what}: p"), number(margin, f"{what}: margin")
    classes = _Classes.of(what, x, -1, weight, "x")
    labels, count = classes.checked(to_tensor(labels, f"{what}: labels")), classes.count
    chosen = ted.compute(labels.shape, lambda *i: classes.chosen(labels, i)[0], name=what)
    c = ted.reduce_axis(count, "c")

    def loss(*i: Any) -> Any:
        gap = ted.maximum(margin - chosen[i] + classes.x[(*i, c)], 0)
        found = ted.sum(gap if p == 1 else gap**p, axis=c, where=labels[i] != c) / count
        return found if weight is None else found * classes.weight_of(labels, i)

    return reduced(ted.compute(labels.shape, loss, name=what), reduction, what)


def multilabel_margin_loss(x: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """The mean over classes of max(0, 1 - x[label] + x[c]), for all labels and other classes c.

    The labels of a place come first in its row; one below 0 ends them, and the rest is not read.
    Shapes: x (..., classes), labels alike, of integers.
    Raises: FrontendError for shapes that differ, labels that are no integers.
    """
    what = "multilabel_margin_loss"
    classes = _Classes.of(what, x, -1, None, "x")
    labels = to_tensor(labels, f"{what}: labels")
    if labels.dtype.kind != "int":
        fail(f"{what}: labels must be integers, got {labels.dtype} ({labels.name})")
    labels, count = shaped(labels, classes.x.shape, f"{what}: labels"), classes.count
    ended = ted.cumsum(ted.cast(labels < 0, "int32"), -1)
    known = within(ted.where(ended == 0, labels, 0), count - 1, what)
    k, c, d = (ted.reduce_axis(count, name) for name in "kcd")
    times = ted.compute(  # how often a class is among the labels
        labels.shape,
        lambda *i: ted.sum(
            ted.where((ended[(*i[:-1], k)] == 0) & (known[(*i[:-1], k)] == i[-1]), 1, 0), axis=k
        ),
        name="times",
    )

    def loss(*i: Any) -> Any:
        gap = ted.maximum(1 - classes.x[(*i, c)] + classes.x[(*i, d)], 0)
        return ted.sum(times[(*i, c)] * gap, axis=(c, d), where=times[(*i, d)] == 0) / count

    return reduced(ted.compute(labels.shape[:-1], loss, name=what), reduction, what)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Scores of classes along a dim, and the weights of these."""

    what: str
    x: Tensor
    axis: int
    weight: Tensor | None

    @staticmethod
    def of(what: str, x: Any, axis: Any, weight: Any, name: str = "logits") -> _Classes:
        x = floating(x, f"{what}: {name}")
        if x.ndim == 0:
            fail(f"{what}: {name} need a dim of classes, got rank 0")
        axis = axis_of(axis, x.ndim, what)
        if weight is not None:
            weight = shaped(
                floating(weight, f"{what}: weight"), (x.shape[axis],), f"{what}: weight"
            )
        return _Classes(what, x, axis, weight)

    @property
    def count(self) -> Any:
        return self.x.shape[self.axis]

    def checked(self, labels: Tensor) -> Tensor:
        """Labels of integers, one for each place."""
        if labels.dtype.kind != "int":
            either = "integers or floats" if self.what == "cross_entropy" else "integers"
            fail(f"{self.what}: labels must be {either}, got {labels.dtype}")
        shape = (*self.x.shape[: self.axis], *self.x.shape[self.axis + 1 :])
        return shaped(labels, shape, f"{self.what}: labels")

    def at(self, i: tuple[Any, ...], c: Any) -> Any:
        """The score of class `c` at a place."""
        return self.x[(*i[: self.axis], c, *i[self.axis :])]

    def chosen(self, labels: Tensor, i: tuple[Any, ...]) -> tuple[Any, Any]:
        """The score of the label at a place, and a factor that is 1, or the error of a label.

        A label that is no class is read, so that the program ends with its place and value.
        """
        c, label = ted.reduce_axis(self.count, "c"), labels[i]
        score = ted.sum(ted.where(label == c, self.at(i, c), 0), axis=c)
        known = (label >= 0) & (label < self.count)
        return score, ted.where(known, 1, ted.stop_gradient(self.at(i, label)))

    def weight_of(self, labels: Tensor, i: tuple[Any, ...]) -> Any:
        """The weight of the label at a place, 1 without weights."""
        if self.weight is None:
            return 1
        c = ted.reduce_axis(self.count, "c")
        return ted.sum(ted.where(labels[i] == c, self.weight[c], 0), axis=c)

    def of_labels(
        self, labels: Tensor, reduction: str, ignored: int | None, normal: bool,
        smoothing: float = 0.0,
    ) -> Tensor:  # fmt: skip
        """Losses of integer labels; `normal`: the scores are to be normalised."""
        labels = self.checked(labels)
        one_of(reduction, REDUCTIONS, f"{self.what}: reduction")
        if ignored is not None:
            ignored = integer(ignored, f"{self.what}: ignore_index")

        def counts(i: tuple[Any, ...], value: Any) -> Any:
            return value if ignored is None else ted.where(labels[i] != ignored, value, 0)

        def loss(*i: Any) -> Any:
            c = ted.reduce_axis(self.count, "c")
            score, known = self.chosen(labels, i)
            top = ted.logsumexp(self.at(i, c), axis=c) if normal else 0
            found = (top - score) * self.weight_of(labels, i)
            if smoothing:
                share = 1 if self.weight is None else self.weight[c]
                rest = ted.sum((top - self.at(i, c)) * share, axis=c)
                found = found * (1 - smoothing) + rest * (smoothing / self.count)
            return counts(i, found * known)

        losses = ted.compute(labels.shape, loss, name=self.what)
        if reduction != "mean" or (self.weight is None and ignored is None):
            return reduced(losses, reduction, self.what)
        one = ted.ones((), self.x.dtype)
        weights = ted.compute(
            labels.shape, lambda *i: counts(i, self.weight_of(labels, i) * one[()]), name="weights"
        )
        return ted.sum(losses) / ted.sum(weights)


def mse(prediction: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared difference, averaged; with weights, by these.

    Shapes: equal.
    Raises: FrontendError for shapes that differ, a prediction of no float type, an unknown
    `reduction`.
    """
    prediction = floating(prediction, "mse: prediction")
    target = shaped(target, prediction.shape, "mse: target")
    return weighted(ted.square(prediction - target), weight, reduction, "mse")


def weighted(losses: Tensor, weight: Any, reduction: str, what: str) -> Tensor:
    """Losses times weights of their shape, reduced; the mean is divided by the sum of weights.

    Raises: FrontendError for another shape, and as `reduced`.
    """
    if weight is None:
        return reduced(losses, reduction, what)
    one_of(reduction, REDUCTIONS, f"{what}: reduction")
    weights = shaped(weight, losses.shape, f"{what}: weight")
    if reduction == "mean":
        return ted.sum(losses * weights) / ted.sum(weights)
    return reduced(losses * weights, reduction, what)
