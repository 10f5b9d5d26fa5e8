"""Causal attention whose products are large: strips of boxes, against torch in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ted
from ted import nn

SIZES = (4, 2, 132, 150, 16)  # heads, those of keys, queries, keys, width


@pytest.mark.slow
def test_values_and_gradients_of_two_orders_are_those_of_torch_on_any_number_of_threads():
    heads, shared, n, m, width = SIZES
    shapes = [(heads, n, width), (shared, m, width), (shared, m, width)]
    inputs = [ted.placeholder(s, name=x) for s, x in zip(shapes, "qkv", strict=True)]
    result = nn.attention(*inputs, causal=True)
    head = ted.placeholder(result.shape, name="head")
    first = ted.differentiate(result, inputs, head=head)
    dq, dk, dv = first
    second = ted.differentiate(ted.sum(dq * dq) + ted.sum(dk * dk) + ted.sum(dv * dv), inputs)
    f = ted.compile([*inputs, head], [result, *first, *second])
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(t.shape).astype("f4") for t in (*inputs, head)]
    found = []
    before = ted.set_num_threads(1)
    try:
        for threads in (1, 2, 3):
            ted.set_num_threads(threads)
            found.append(f(*arrays))
    finally:
        ted.set_num_threads(before)
    for got, *others, want in zip(*found, _in_torch(arrays, m - n), strict=True):
        assert all(np.array_equal(got, other) for other in others)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


def _in_torch(arrays: list[np.ndarray], shift: int) -> list[np.ndarray]:
    """What was computed, in float64."""
    q, k, v, head = (torch.tensor(a.astype("f8"), requires_grad=True) for a in arrays)
    keys, values = (t.repeat_interleave(len(q) // len(t), 0) for t in (k, v))
    sees = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(shift)
    scores = (q @ keys.mT / q.shape[2] ** 0.5).masked_fill(~sees, -np.inf)
    result = scores.softmax(-1) @ values
    first = torch.autograd.grad(result, [q, k, v], head, create_graph=True)
    second = torch.autograd.grad([(g * g).sum() for g in first], [q, k, v])
    return [t.detach().numpy() for t in (result, *first, *second)]
