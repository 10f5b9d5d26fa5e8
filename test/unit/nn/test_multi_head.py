"""`multi_head_attention_forward` against torch: results, weights and gradients of two orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import ted
from ted import nn
from ted.errors import FrontendError

RNG = np.random.default_rng(5)
N, M, BATCH, WIDTH, HEADS = 2, 3, 2, 4, 2
SEEN_LATE = RNG.random((N, M)) < 0.3
PADDED = np.array([[False, False, True], [False, True, True]])
ADDED = RNG.normal(size=(BATCH * HEADS, N, M))
PLAIN = {"in_proj_weight": (3 * WIDTH, WIDTH), "in_proj_bias": (3 * WIDTH,)}
PARTS = {"q_proj_weight": (WIDTH, WIDTH), "k_proj_weight": (WIDTH, 5), "v_proj_weight": (WIDTH, 3)}
ROWS = {"bias_k": (1, 1, WIDTH), "bias_v": (1, 1, WIDTH)}

# Parameters, options, and whether there is a batch.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "weights": (PLAIN, {"attn_mask": SEEN_LATE, "average_attn_weights": False}, True),
    "none": (PARTS, {"use_separate_proj_weight": True, "need_weights": False}, True),
    "rows": (PLAIN | ROWS, {"add_zero_attn": True, "key_padding_mask": PADDED}, True),
    "heads": (PLAIN, {"attn_mask": ADDED, "need_weights": False}, True),
    "one": (PLAIN, {"key_padding_mask": PADDED[1]}, False),
}


def called(lib: Any, names: Any, options: Any, as_array: Any, *arrays: Any) -> Any:
    q, k, v, out, *parameters = arrays
    given = dict.fromkeys(("in_proj_weight", "in_proj_bias", "bias_k", "bias_v"))
    given |= dict(zip(names, parameters, strict=True))
    given |= {"add_zero_attn": False, "dropout_p": 0.0, "out_proj_bias": None}
    given |= {n: as_array(x) if isinstance(x, np.ndarray) else x for n, x in options.items()}
    y, seen = lib.multi_head_attention_forward(
        q, k, v, WIDTH, HEADS, out_proj_weight=out, **given
    )  # fmt: skip
    return (y, y * 0) if seen is None else (y, seen)


def checked(name: str, orders: int) -> None:
    shapes, options, is_batched = CASES[name]
    widths = (WIDTH, 5, 3) if shapes is PARTS else (WIDTH,) * 3
    batch = (BATCH,) if is_batched else ()
    operands = [(n, *batch, w) for n, w in zip((N, M, M), widths, strict=True)]
    arrays = [RNG.normal(size=s) for s in (*operands, (WIDTH, WIDTH), *shapes.values())]

    def mine(*args: Any) -> Any:
        return called(nn, shapes, options, lambda x: x, *args)

    given = [torch.tensor(a, requires_grad=True) for a in arrays]
    with sdpa_kernel(SDPBackend.MATH):
        results = called(F, shapes, options, torch.tensor, *given)
        value = sum((y * y).sum() for y in results)
    for found, wanted in zip(ted.function(mine)(*arrays), results, strict=True):
        np.testing.assert_allclose(found, wanted.detach(), atol=1e-13)
    places = tuple(range(len(arrays)))

    def loss(*args: Any) -> Any:
        return sum(ted.sum(y * y) for y in mine(*args))

    for order in range(1, orders + 1):
        slopes = torch.autograd.grad(value, given, create_graph=True, materialize_grads=True)
        value, earlier = sum((g * g).sum() for g in slopes), loss
        found = ted.grad(earlier, places)(*arrays)
        for mine_, other in zip(found, slopes, strict=True):
            size = max(1.0, float(other.detach().abs().max()))  # some slopes of keys' bias are 0
            np.testing.assert_allclose(mine_, other.detach(), rtol=1e-9, atol=1e-12 * size)
        if order < orders:

            def loss(*args: Any, earlier: Any = earlier) -> Any:
                return sum(ted.sum(g * g) for g in ted.grad(earlier, places)(*args))


@pytest.mark.parametrize("name", ["rows", "one"])
def test_heads_give_what_torch_gives(name: str) -> None:
    checked(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_heads_have_the_gradients_of_torch(name: str) -> None:
    checked(name, 2)


@pytest.mark.parametrize(
    ("heads", "rate", "text"),
    [(3, 0.0, "a multiple of num_heads, got 4, 4 and 3"), (2, 0.1, "takes dropout_key=")],
)
def test_what_heads_cannot_take_is_refused(heads: int, rate: float, text: str) -> None:
    x, w = np.ones((2, 1, 4)), np.ones((12, 4))
    with pytest.raises(FrontendError, match=text):
        nn.multi_head_attention_forward(
            *map(ted.constant, (x, x, x)), 4, heads, w, None, None, None, False, rate, w[:4], None
        )
