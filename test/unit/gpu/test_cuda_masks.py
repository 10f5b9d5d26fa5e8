"""Equations over parts of boxes: causal attention and its like, in kernels over whole boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ted
from sweeps import swept
from ted import nn
from unit.gpu.test_cuda_fused_row_loops import checked, with_gradients

pytestmark = pytest.mark.slow  # emulated kernels take long

N = 37
r = ted.reduce_axis(N, "r")


def attention(
    *shapes: tuple[int, ...], dtype: str = "float32"
) -> tuple[list[ted.Tensor], ted.Tensor]:
    inputs = [ted.placeholder(s, dtype, name=n) for s, n in zip(shapes, "qkv", strict=True)]
    q, k, v = inputs
    return inputs, nn.attention(q, k, v, causal=True)


ATTENTIONS = [(dtype, batch) for dtype in ("float32", "bfloat16") for batch in (1, 2)]


@swept(("dtype", "batch"), ATTENTIONS, fast=[("float32", 2), ("bfloat16", 1)])
def test_causal_attention_takes_few_kernels(dtype: str, batch: int) -> None:
    inputs, y = attention(*[(batch, 2, 33, 16)] * 3, dtype=dtype)
    assert len(checked(inputs, [y], 33).kernels) == 4
    assert len(checked(*with_gradients(inputs, y), 66).kernels) <= 14


@pytest.mark.parametrize(("queries", "keys"), [(20, 33), (33, 20)])
def test_queries_and_keys_of_two_lengths(queries: int, keys: int) -> None:
    inputs, y = attention((2, queries, 8), (2, keys, 8), (2, keys, 8))
    checked(*with_gradients(inputs, y), 66)


FORMS: dict[str, Callable[[ted.Tensor, ted.Tensor], ted.Tensor]] = {
    "total": lambda x, _: ted.compute((N,), lambda i: ted.sum(x[i, r], axis=r, where=r <= i)),
    "greatest": lambda x, _: ted.compute(
        (N,), lambda i: ted.max(x[r, i], axis=r, where=r <= i + 3)
    ),
    "product": lambda x, _: ted.compute((N,), lambda i: ted.prod(x[i, r], axis=r, where=r > i)),
    "matrices": lambda x, y: ted.compute(
        (N, N), lambda i, j: ted.sum(x[i, r] * y[r, j], axis=r, where=r <= i)
    ),
    "band": lambda x, y: ted.compute(
        (N, N), lambda i, j: ted.sum(x[i, r] * y[r, j], axis=r, where=(i - 5 <= r) & (r <= i + 20))
    ),
    "triangle": lambda x, y: ted.compute(
        (N, N), lambda i, j: ted.sum(x[i, r] * y[j, r], axis=r, where=i <= j)
    ),
    "choice": lambda x, y: ted.compute((N, N), lambda i, j: ted.where(j <= i, x[i, j], y[j, i])),
}


@pytest.mark.parametrize("form", FORMS)
def test_parts_of_boxes_and_their_gradients(form: str) -> None:
    x, y = ted.placeholder((N, N), name="x"), ted.placeholder((N, N), name="y")
    z = FORMS[form](x, y)
    head = ted.placeholder(z.shape, name="head")
    checked([x, y, head], [z, *ted.differentiate(z, [x], head)], N)


def test_what_a_mask_hides_of_a_result_may_be_anything() -> None:
    """Scores of keys that no query sees are left out, not multiplied by zero."""
    from support.ptx_programs import run_manifest
    from unit.gpu.cuda_programs import manifest_of

    x, y = ted.placeholder((N, 4), name="x"), ted.placeholder((N, 4), name="y")
    s = ted.reduce_axis(4, "s")
    z = ted.compute((N, N), lambda i, j: ted.sum(x[i, s] * y[j, s], axis=s, where=j <= i))
    a, b = np.ones((N, 4), np.float32), np.ones((N, 4), np.float32)
    b[-1] = np.inf
    (found,) = run_manifest(manifest_of([x, y], [z]), [a, b])
    np.testing.assert_array_equal(found[:-1], 4 * np.tri(N, dtype=np.float32)[:-1])
