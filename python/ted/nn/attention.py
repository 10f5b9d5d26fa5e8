"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import ted
from ted.domain.sizes import Extent
from ted.frontend.checks import flag
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import floating


def attention(
    query: Any, key: Any, value: Any, causal: bool = False, scale: float | None = None
) -> Tensor:
    """softmax(query @ key.T * scale) @ value; the scale is 1 / sqrt(width) by default.

    With `causal` position i sees the keys up to i (counted from the end when there are more keys
    than queries), and only that triangle is computed.

    Shapes: query (..., n, d), key (..., m, d), value (..., m, e), result (..., n, e).
    Raises: FrontendError for shapes that do not fit together.
    Source: Vaswani et al., Attention Is All You Need, section 3.2.1.
    """
    q, k, v = (floating(t, f"attention: {n}") for n, t in _named(query, key, value))
    _check(q, k, v)
    causal = flag(causal, "attention: causal")
    n, m, width = q.shape[-2], k.shape[-2], q.shape[-1]
    factor = _factor(width) if scale is None else scale
    r, s = ted.reduce_axis(width, "r"), ted.reduce_axis(m, "s")

    def sees(i: Any, j: Any) -> Any:
        return j <= i + (m - n) if causal else None

    def score(*at: Any) -> Any:
        *b, i, j = at
        return ted.sum(q[(*b, i, r)] * k[(*b, j, r)], axis=r, where=sees(i, j)) * factor

    scores = ted.compute((*q.shape[:-1], m), score, name="scores")
    top = ted.compute(
        q.shape[:-1],
        lambda *at: ted.max(scores[(*at, s)], axis=s, where=sees(at[-1], s)),
        name="top",
    )

    def weight(*at: Any) -> Any:
        exponential = ted.exp(scores[at] - ted.stop_gradient(top[at[:-1]]))
        return ted.where(sees(at[-2], at[-1]), exponential, 0) if causal else exponential

    weights = ted.compute(scores.shape, weight, name="weights")

    def mixed(*at: Any) -> Any:
        *b, i, e = at
        seen = sees(i, s)
        total = ted.sum(weights[(*b, i, s)], axis=s, where=seen)
        return ted.sum(weights[(*b, i, s)] * v[(*b, s, e)], axis=s, where=seen) / total

    return ted.compute((*q.shape[:-1], v.shape[-1]), mixed, name="attention")


def _named(query: Any, key: Any, value: Any) -> list[tuple[str, Any]]:
    return [("query", query), ("key", key), ("value", value)]


def _factor(width: Extent) -> Any:
    """1 / sqrt(width)."""
    if isinstance(width, int):
        return 1 / math.sqrt(width) if width else 1.0
    return ted.rsqrt(ted.cast(width, "float64"))


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    fits = min(q.ndim, k.ndim, v.ndim) >= 2 and (
        q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
        and q.shape[-1] == k.shape[-1]
        and k.shape[-2] == v.shape[-2]
    )
    if not fits:
        fail(
            "attention: takes query (..., n, d), key (..., m, d) and value (..., m, e), "
            f"got {q.shape}, {k.shape} and {v.shape}"
        )
