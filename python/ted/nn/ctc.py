"""Connectionist temporal classification: the likelihood of a labelling over all its alignments.

Source: Graves, Fernandez, Gomez and Schmidhuber, Connectionist Temporal Classification, 2006,
equations 6 to 8, with logarithms.
"""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.frontend import checks
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating, one_of, ranked, shaped, within
from ted.records import dataclass


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """-log of the probability of the targets, over all ways to spread them over time with blanks.

    The loss of targets for which there is no time is infinite, with a gradient of 0, and with
    `zero_infinity` it is 0.  The mean is that of losses divided by the lengths of their targets, as
    in torch.  What is in targets behind their lengths counts nothing.  A label that is no class and
    a length beyond its tensor are errors when the program runs.

    Shapes: log_probs (time, n, classes), logarithms of probabilities; targets (n, labels) of
    integers, or one behind the other (sum of target_lengths); input_lengths and target_lengths (n)
    of integers, arrays or lists; the result of reduction "none" (n).
    Units: lengths count steps of time and labels.
    Raises: FrontendError for shapes that differ, targets or lengths that are no integers, a blank
    that is no class, or another reduction.
    """
    what = "ctc_loss"
    scores = ranked(floating(log_probs, f"{what}: log_probs"), 3, f"{what}: log_probs")
    one_of(reduction, ("mean", "sum", "none"), f"{what}: reduction")
    zero_infinity = checks.flag(zero_infinity, f"{what}: zero_infinity")
    time, count, classes = (checks.integer(n, f"{what}: extent") for n in scores.shape)
    symbol = checks.integer(blank, f"{what}: blank")
    if not 0 <= symbol < classes:
        fail(f"{what}: blank must be one of {classes} classes, got {blank}")
    if time < 1:
        fail(f"{what}: at least one step of time is needed, got shape {scores.shape}")
    labels, spans, sizes = _sequences(what, time, count, targets, input_lengths, target_lengths)
    losses = _Alignments(scores, labels, spans, sizes, symbol).losses()
    if zero_infinity:
        losses = ted.where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        return ted.mean(losses / ted.cast(ted.maximum(sizes, 1), scores.dtype))
    return losses if reduction == "none" else ted.sum(losses)


def _sequences(
    what: str, time: int, count: int, targets: Any, input_lengths: Any, target_lengths: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """A row of labels for each of so many sequences, and its lengths, as arguments say them."""
    labels = _integers(targets, f"{what}: targets")
    if labels.ndim not in (1, 2) or (labels.ndim == 2 and labels.shape[0] != count):
        fail(
            f"{what}: targets must have a row for each of {count} sequences, or one dim, got "
            f"{labels.shape}"
        )
    spans, sizes = (
        shaped(_integers(v, f"{what}: {name}"), (count,), f"{what}: {name}")
        for v, name in ((input_lengths, "input_lengths"), (target_lengths, "target_lengths"))
    )
    most = checks.integer(labels.shape[-1], f"{what}: extent")
    given = sizes.node.constant
    longest = min(most, time) if given is None or not count else max(given.range[1], 0)
    spans = within(spans, time, f"{what}: input_lengths")
    sizes = within(sizes, most, f"{what}: target_lengths")
    return labels if labels.ndim == 2 else _rows(labels, sizes, longest), spans, sizes


def _rows(labels: Tensor, sizes: Tensor, width: int) -> Tensor:
    """A row of `width` labels for each sequence, of labels one behind the other."""
    left = ted.reshape(labels.shape[0] - ted.sum(sizes), (1,))  # 0, or an error
    left = within(left, 0, "ctc_loss: labels behind all target_lengths")
    begins = ted.cumsum(sizes, 0) - sizes + left[0]

    def element(n: Any, k: Any) -> Any:
        return ted.where(k < sizes[n], labels[begins[n] + k], 0)

    return ted.compute((sizes.shape[0], width), element, name="targets")


@dataclass(frozen=True, eq=False)
class _Alignments:
    """Labels with a blank before, between and behind them: position s is a label where s is odd."""

    scores: Tensor
    labels: Tensor
    spans: Tensor
    sizes: Tensor
    blank: int

    @property
    def positions(self) -> int:
        return 2 * int(self.labels.shape[1]) + 1

    def losses(self) -> Tensor:
        """The loss of each sequence."""
        end, s = self._forward(), ted.reduce_axis(self.positions, "s")
        time, count = self.scores.shape[:2]

        def loss(n: Any) -> Any:
            last = 2 * self.sizes[n]
            ends = (s == last) | (s == last - 1)
            top = ted.stop_gradient(ted.max(end[time - 1, n, s], axis=s, where=ends))
            some = top > -math.inf
            terms = ted.exp(end[time - 1, n, s] - ted.where(some, top, 0.0))
            total = ted.sum(terms, axis=s, where=ends)
            found = top + ted.log(ted.where(some, total, 1.0))
            return -ted.where(some, found, -math.inf)

        return ted.compute((count,), loss, name="ctc_loss")

    def _forward(self) -> Tensor:
        """Logarithms of the probabilities of what begins a labelling and ends at s, by time."""
        emitted, skips = self._emitted(), self._skips()

        def element(h: Any, t: Any, n: Any, s: Any) -> Any:
            first = ted.where((s == 0) | ((s == 1) & (self.spans[n] > 0)), emitted[t, n, s],
                              -math.inf)  # fmt: skip
            first = ted.where((s == 0) & (self.spans[n] <= 0), 0.0, first)
            stay = h[t - 1, n, s]
            step = ted.where(s >= 1, h[t - 1, n, s - 1], -math.inf)
            jump = ted.where(s >= 2, ted.where(skips[n, s], h[t - 1, n, s - 2], -math.inf),
                             -math.inf)  # fmt: skip
            moved = _log_sum(stay, step, jump) + emitted[t, n, s]
            return ted.where(t == 0, first, ted.where(t < self.spans[n], moved, stay))

        shape = (*self.scores.shape[:2], self.positions)
        return ted.recurrence(shape, element, self.scores.dtype, name="ctc_forward")

    def _emitted(self) -> Tensor:
        """The score of what stands at each position."""

        def element(t: Any, n: Any, s: Any) -> Any:
            inside = s // 2 < self.sizes[n]
            label = ted.where(s % 2 == 1, ted.where(inside, self.labels[n, s // 2], 0), 0)
            score = ted.where(inside, self.scores[t, n, label], -math.inf)
            return ted.where(s % 2 == 1, score, self.scores[t, n, self.blank])

        return ted.compute((*self.scores.shape[:2], self.positions), element, name="ctc_emitted")

    def _skips(self) -> Tensor:
        """Whether the blank before a label may be left out: not between equal ones."""

        def element(n: Any, s: Any) -> Any:
            here = ted.where(s % 2 == 1, self.labels[n, s // 2], 0)
            before = ted.where((s % 2 == 1) & (s >= 3), self.labels[n, s // 2 - 1], here)
            return here != before

        return ted.compute((self.scores.shape[1], self.positions), element, name="ctc_skips")


def _log_sum(*terms: Any) -> Any:
    """The logarithm of a sum of exponentials, -infinity of nothing, without a slope."""
    top = terms[0]
    for term in terms[1:]:
        top = ted.maximum(top, term)
    top = ted.stop_gradient(top)
    some = top > -math.inf
    level = ted.where(some, top, 0.0)
    total: Any = 0.0
    for term in terms:
        total = total + ted.exp(term - level)
    return ted.where(some, level + ted.log(ted.where(some, total, 1.0)), -math.inf)


def _integers(x: Any, what: str) -> Tensor:
    tensor = to_tensor(x, what)
    if tensor.dtype.kind != "int":
        fail(f"{what} must be integers, got {tensor.dtype} ({tensor.name})")
    return tensor
