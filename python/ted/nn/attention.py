"""Scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import ted
from ted.domain.sizes import Extent
from ted.frontend.checks import broadcast_to, flag
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.frontend.updates import stretched
from ted.ir.dtypes import DType, accumulator, promote
from ted.nn.arguments import floating
from ted.nn.windows import conjunction


def attention(
    query: Any, key: Any, value: Any, causal: bool = False, scale: float | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """softmax(query @ key.T * scale) @ value; `causal`: query i sees keys up to i + (m - n).

    So the last of n queries sees all m keys, and only what is seen is computed.  The scale is
    1 / sqrt(width) by default.  A `mask` of bools says which keys a query sees, one of floats is
    added to the scores; a query that sees nothing by a mask of bools gives 0.  Keys and values may
    have fewer heads, in dim -3, than queries: as many neighbouring heads of queries share one.
    On CPUs scores of up to 2^20 products are kept for a row at a time, in gradients too, causal
    ones of more in four strips, none of them between value and gradient.  Of half types scores are
    float32, and what multiplies the values is rounded.

    Shapes: query (..., n, d), key (..., m, d), value (..., m, e), result (..., n, e); a mask
    broadcasts to (..., n, m).
    Raises: FrontendError for shapes that do not fit together, or a mask of integers.
    Source: Vaswani et al., Attention Is All You Need, section 3.2.1.
    """
    q, k, v = (floating(t, f"attention: {n}") for n, t in _named(query, key, value))
    share = _check(q, k, v)
    causal = flag(causal, "attention: causal")
    n, m, width = q.shape[-2], k.shape[-2], q.shape[-1]
    added, allowed = _mask(mask, (*q.shape[:-1], m))
    factor = _factor(width) if scale is None else scale
    r, dtype = ted.reduce_axis(width, "r"), reduce(promote, (t.dtype for t in (q, k, v)))

    def sees(*at: Any) -> Any:
        near = [at[-1] <= at[-2] + (m - n)] if causal else []
        return conjunction([*near, *([] if allowed is None else [stretched(allowed, at)])])

    def shared(b: Any) -> Any:
        return (*b[:-1], b[-1] // share) if share != 1 else b

    def score(*at: Any) -> Any:
        *b, i, j = at
        product = q[(*b, i, r)] * k[(*shared(b), j, r)]
        found = ted.sum(product, axis=r, where=sees(*at), dtype=accumulator(dtype)) * factor
        return found if added is None else found + stretched(added, at)

    scores = ted.compute((*q.shape[:-1], m), score, name="scores")
    mixed = _mixed(scores, sees, lambda b, j, e: v[(*shared(b), j, e)], allowed is not None, dtype)
    shape = (*q.shape[:-1], v.shape[-1])
    return ted.compute(shape, lambda *at: ted.cast(mixed(*at), dtype), name="attention")


def _mixed(
    scores: Tensor, sees: Callable[..., Any], value: Callable[..., Any], may_be_blind: bool,
    dtype: DType,
) -> Callable[..., Any]:  # fmt: skip
    """The mean of the values that a query sees, weighted by the softmax of its scores."""
    s = ted.reduce_axis(scores.shape[-1], "s")
    top = ted.compute(
        scores.shape[:-1],
        lambda *at: ted.max(scores[(*at, s)], axis=s, where=sees(*at, s)),
        name="top",
    )

    def weight(*at: Any) -> Any:
        exponential = ted.exp(scores[at] - ted.stop_gradient(top[at[:-1]])).astype(dtype)
        seen = sees(*at)
        return exponential if seen is None else ted.where(seen, exponential, 0)

    weights = ted.compute(scores.shape, weight, name="weights")

    def mixed(*at: Any) -> Any:
        *b, i, e = at
        seen = sees(*b, i, s)
        total = ted.sum(weights[(*b, i, s)], axis=s, where=seen)
        sum_ = ted.sum(weights[(*b, i, s)] * value(b, s, e), axis=s, where=seen)
        return ted.where(total > 0, sum_ / total, 0) if may_be_blind else sum_ / total

    return mixed


def _mask(mask: Any, shape: tuple[Extent, ...]) -> tuple[Tensor | None, Tensor | None]:
    """What is added to scores, and where they count."""
    if mask is None:
        return None, None
    mask = to_tensor(mask, "attention: mask")
    broadcast_to(mask.shape, shape, "attention: mask")
    if mask.dtype.kind == "bool":
        return None, mask
    return floating(mask, "attention: mask"), None


def _named(query: Any, key: Any, value: Any) -> list[tuple[str, Any]]:
    return [("query", query), ("key", key), ("value", value)]


def _factor(width: Extent) -> Any:
    """1 / sqrt(width)."""
    if isinstance(width, int):
        return 1 / math.sqrt(width) if width else 1.0
    return ted.rsqrt(ted.cast(width, "float64"))


def _check(q: Tensor, k: Tensor, v: Tensor) -> int:
    """How many heads of queries share one of keys and values."""
    fits = min(q.ndim, k.ndim, v.ndim) >= 2 and (
        q.ndim == k.ndim
        and q.shape[:-3] == k.shape[:-3]
        and k.shape[:-2] == v.shape[:-2]
        and q.shape[-1] == k.shape[-1]
        and k.shape[-2] == v.shape[-2]
    )
    if not fits:
        fail(
            "attention: takes query (..., n, d), key (..., m, d) and value (..., m, e), "
            f"got {q.shape}, {k.shape} and {v.shape}"
        )
    heads, kept = (t.shape[-3] if t.ndim > 2 else 1 for t in (q, k))
    if heads == kept:
        return 1
    if not (isinstance(heads, int) and isinstance(kept, int) and kept and heads % kept == 0):
        fail(
            "attention: heads of keys and values must divide those of queries, got "
            f"{kept} and {heads} in shapes {k.shape} and {q.shape}"
        )
    return heads // kept
