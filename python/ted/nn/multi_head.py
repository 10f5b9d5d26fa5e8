"""Attention of several heads with its projections, by torch's name and arguments."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.checks import flag, integer, number
from ted.frontend.elementwise import to_tensor
from ted.frontend.joining import padded
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.activations import softmax
from ted.nn.arguments import ranked, shaped
from ted.nn.attention import attention
from ted.nn.layers import linear

_WHAT = "multi_head_attention_forward"


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool,
    dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True,
    key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None,
    average_attn_weights: bool = True, is_causal: bool = False, dropout_key: Any = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Heads of attention between projections: the result, and the weights or None.

    Arguments are torch's: a mask of bools is true where a key is *not* seen, one of floats is added
    to the scores, and `is_causal` hides later keys also without a mask.  In training a `dropout_p`
    above 0 takes `dropout_key`, a key of random numbers.  Without `need_weights` it is
    `nn.attention`, which keeps no matrix of scores where that one keeps none.

    Shapes: query (n, batch, e), key (m, batch, ek), value (m, batch, ev), or without a batch; the
    result is like query; weights (batch, n, m), or (batch, heads, n, m) unless averaged.
    Raises: FrontendError for shapes that do not fit, heads that do not divide the width, dropout
    without a key.
    Source: Vaswani et al., Attention Is All You Need, section 3.2.2.
    """
    q, k, v, is_batched = _batched(query, key, value)
    n, batch, width = q.shape
    heads = integer(num_heads, f"{_WHAT}: num_heads")
    embed_dim_to_check = integer(embed_dim_to_check, f"{_WHAT}: embed_dim_to_check")
    if width != embed_dim_to_check or heads < 1 or width % heads:
        fail(f"{_WHAT}: the width of queries is embed_dim_to_check and a multiple of num_heads, "
             f"got {width}, {embed_dim_to_check} and {heads}")  # fmt: skip
    weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    if not flag(use_separate_proj_weight, f"{_WHAT}: use_separate_proj_weight"):
        weights = _thirds(in_proj_weight, (width, width), "in_proj_weight")
    biases = _thirds(in_proj_bias, (width,), "in_proj_bias")
    q, k, v = (linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True))
    k, v = (_and_row(x, row) for x, row in ((k, bias_k), (v, bias_v)))
    q, k, v = (_heads(x, heads) for x in (q, k, v))
    zero = flag(add_zero_attn, f"{_WHAT}: add_zero_attn")
    k, v = (_all_rows(x, given, zero) for x, given in ((k, static_k), (v, static_v)))
    hidden = _hidden(attn_mask, key_padding_mask, (batch, heads, n, k.shape[2]), is_causal)
    rate = _rate(dropout_p, training, dropout_key)
    if not (flag(need_weights, f"{_WHAT}: need_weights") or rate):
        mixed, seen = attention(q, k, v, mask=hidden), None
    else:
        mixed, seen = _mixed(q, k, v, hidden, rate, dropout_key)
    found = _projected(mixed, out_proj_weight, out_proj_bias)
    if not need_weights or seen is None:
        return found if is_batched else found[:, 0], None
    if flag(average_attn_weights, f"{_WHAT}: average_attn_weights"):
        seen = ted.mean(seen, 1)
    return (found, seen) if is_batched else (found[:, 0], seen[0])


def _rate(dropout_p: Any, training: Any, key: Any) -> float:
    """The share of weights that is left out, which in training needs a key."""
    rate = number(dropout_p, f"{_WHAT}: dropout_p") if flag(training, f"{_WHAT}: training") else 0.0
    if rate and key is None:
        fail(f"{_WHAT}: dropout in training takes dropout_key=, got dropout_p={dropout_p!r}")
    return rate


def _batched(*operands: Any) -> tuple[Any, Any, Any, bool]:
    """Queries, keys and values with a batch, and whether they had one."""
    tensors = [to_tensor(x, f"{_WHAT}: {n}")
               for x, n in zip(operands, ("query", "key", "value"), strict=True)]  # fmt: skip
    is_batched = tensors[0].ndim == 3
    q, k, v = (ranked(x if is_batched else ted.expand_dims(ranked(x, 2, _WHAT), 1), 3, _WHAT)
               for x in tensors)  # fmt: skip
    if k.shape[:2] != v.shape[:2] or q.shape[1] != k.shape[1]:
        fail(f"{_WHAT}: takes query (n, batch, e), key (m, batch, ek) and value (m, batch, ev), "
             f"got {q.shape}, {k.shape} and {v.shape}")  # fmt: skip
    return q, k, v, is_batched


def _thirds(joined: Any, shape: tuple[Any, ...], word: str) -> list[Any]:
    """The parameters of queries, keys and values, which lie one behind the other."""
    if joined is None:
        return [None] * 3
    width, *rest = shape
    joined = shaped(joined, (3 * width, *rest), f"{_WHAT}: {word}")
    return [joined[at * width : (at + 1) * width] for at in range(3)]


def _and_row(x: Tensor, row: Any) -> Tensor:
    """Keys or values, and one more that is a parameter."""
    if row is None:
        return x
    row = to_tensor(row, f"{_WHAT}: bias_k, bias_v").reshape((1, 1, x.shape[2]))
    return ted.concatenate([x, ted.broadcast_to(row, (1, *x.shape[1:]))])


def _heads(x: Tensor, heads: int) -> Tensor:
    """(m, batch, width) as (batch, heads, m, width of one)."""
    m, batch, width = x.shape
    return x.reshape((m, batch, heads, width // heads)).transpose((1, 2, 0, 3))


def _all_rows(x: Tensor, given: Any, zero: bool) -> Tensor:
    """Keys or values of the heads, or those that are given, and one more of zeros."""
    batch, heads, _, width = x.shape
    x = x if given is None else to_tensor(given, _WHAT).reshape((batch, heads, -1, width))
    return padded(x, ((0, 0), (0, 0), (0, 1), (0, 0))) if zero else x


def _hidden(mask: Any, padding: Any, shape: tuple[Any, ...], is_causal: bool) -> Tensor | None:
    """What is added to scores, or true where they count, of torch's masks; keys behind are seen."""
    batch, heads, n, m = shape
    masks = []
    if mask is not None:
        mask = to_tensor(mask, f"{_WHAT}: attn_mask")
        if not 2 <= mask.ndim <= 4:
            fail(f"{_WHAT}: attn_mask has 2 or 3 dims, got shape {mask.shape} ({mask.name})")
        rows = mask.reshape((batch, heads, *mask.shape[1:])) if mask.ndim == 3 else mask
        masks.append(_to_width(rows, m))
    if padding is not None:
        padding = to_tensor(padding, f"{_WHAT}: key_padding_mask")
        if padding.ndim not in (1, 2):
            fail(f"{_WHAT}: key_padding_mask has 1 or 2 dims, got shape {padding.shape}")
        masks.append(_to_width(padding.reshape((-1, 1, 1, padding.shape[-1])), m))
    if flag(is_causal, f"{_WHAT}: is_causal"):
        masks.append(ted.compute((n, m), lambda i, j: j > i))
    bools = [~t for t in masks if t.dtype == ted.bool]
    floats = [t for t in masks if t.dtype != ted.bool]
    seen = None
    for t in bools:
        seen = t if seen is None else seen & t
    added = sum(floats[1:], floats[0]) if floats else None
    if added is None or seen is None:
        return seen if added is None else added
    return ted.where(seen, added, -ted.inf)


def _to_width(mask: Tensor, m: Any) -> Tensor:
    """A mask of fewer keys: those that were added to the end are seen."""
    missing = m - mask.shape[-1]
    return padded(mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)]) if missing else mask


def _projected(mixed: Tensor, weight: Any, bias: Any) -> Tensor:
    """What heads give, side by side, through the last layer."""
    batch, heads, n, width = mixed.shape
    joined = mixed.transpose((2, 0, 1, 3)).reshape((n, batch, heads * width))
    return linear(joined, weight, bias)


def _mixed(
    q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, rate: float, dropout_key: Any
) -> tuple[Tensor, Tensor]:
    """Values by the softmax of scores, and that."""
    scores = q @ ted.swapaxes(k, -1, -2) / float(q.shape[-1]) ** 0.5
    if hidden is not None:
        is_bool = hidden.dtype == ted.bool
        scores = ted.where(hidden, scores, -ted.inf) if is_bool else scores + hidden
    seen = softmax(scores, -1)
    if rate:
        seen = ted.random.dropout(dropout_key, seen, rate)
    return seen @ v, seen
