"""Losses of distances and angles between vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ted
from ted.frontend.checks import called, flag
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.precision import rounded_once
from ted.frontend.tensors import Tensor
from ted.nn.arguments import above_zero, floating, shaped
from ted.nn.losses import reduced


def cosine_embedding_loss(
    a: Any, b: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cosine of vectors where the target is 1, max(0, cosine - margin) where it is -1.

    Shapes: a and b (..., width), target (...).
    Raises: FrontendError for shapes that differ, or tensors of no float type.
    """
    what = "cosine_embedding_loss"
    a = floating(a, f"{what}: a")
    b = shaped(floating(b, f"{what}: b"), a.shape, f"{what}: b")
    if a.ndim == 0:
        fail(f"{what}: takes vectors, got rank 0")
    target = shaped(target, a.shape[:-1], f"{what}: target")
    tiny = 1e-12  # torch's
    squares = [ted.sum(t * t, -1) + tiny for t in (a, b)]
    cosine = ted.sum(a * b, -1) * ted.rsqrt(squares[0] * squares[1])

    def loss(t: Any, c: Any) -> Any:
        return ted.where(t == 1, 1 - c, ted.maximum(c - margin, 0))

    return reduced(ted.vectorize(loss)(target, cosine), reduction, what)


def margin_ranking_loss(
    first: Any, second: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -target * (first - second) + margin): a target of 1 ranks the first higher.

    Shapes: equal; targets are 1 and -1.
    Raises: FrontendError for shapes that differ, or tensors of no float type.
    """
    what = "margin_ranking_loss"
    first = floating(first, f"{what}: first")
    second = shaped(floating(second, f"{what}: second"), first.shape, f"{what}: second")
    target = shaped(target, first.shape, f"{what}: target")
    return reduced(ted.maximum(margin - target * (first - second), 0), reduction, what)


@rounded_once
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, distance to positive - distance to negative + margin), in the p-norm.

    `eps` is added to differences; with `swap` the negative is also compared with the positive, and
    the lesser distance counts.
    Shapes: equal, vectors along the last dim.
    Raises: FrontendError for shapes that differ, tensors of no float type, a p that is not
    positive.
    """
    what = "triplet_margin_loss"
    p = above_zero(p, f"{what}: p")
    return _triplets(what, (anchor, positive, negative), _norm(p, eps), margin, swap, reduction)


@rounded_once
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with another distance of two tensors of vectors.

    Shapes: equal, vectors along the last dim; a distance of two of them has the dims before it.
    Raises: FrontendError as `triplet_margin_loss`.
    """
    what = "triplet_margin_with_distance_loss"
    distance = _norm(2, 1e-6) if distance_function is None else distance_function
    return _triplets(what, (anchor, positive, negative), distance, margin, swap, reduction)


def _norm(p: float, eps: float) -> Callable[[Tensor, Tensor], Tensor]:
    """The p-norm of what `eps` is added to."""

    def distance(x: Tensor, y: Tensor) -> Tensor:
        d = x - y + eps
        if p == math.inf:
            return ted.max(abs(d), -1)
        return ted.sqrt(ted.sum(d * d, -1)) if p == 2 else ted.sum(abs(d) ** p, -1) ** (1 / p)

    return distance


def _triplets(
    what: str, vectors: tuple[Any, Any, Any], distance: Callable[[Tensor, Tensor], Tensor],
    margin: float, swap: bool, reduction: str,
) -> Tensor:  # fmt: skip
    anchor = floating(vectors[0], f"{what}: anchor")
    if anchor.ndim == 0:
        fail(f"{what}: takes vectors, got shape {anchor.shape}")
    positive = shaped(vectors[1], anchor.shape, f"{what}: positive")
    negative = shaped(vectors[2], anchor.shape, f"{what}: negative")
    rule = f"{what}: distance_function"

    def apart(x: Tensor, y: Tensor) -> Tensor:
        return to_tensor(called(rule, "distance(x, y)", distance, x, y), rule)

    near, far = apart(anchor, positive), apart(anchor, negative)
    if flag(swap, f"{what}: swap"):
        far = ted.minimum(far, apart(positive, negative))
    return reduced(ted.maximum(near - far + margin, 0), reduction, what)
