"""The LSTM and the transformer on characters learn as torch's do, step by step."""

from __future__ import annotations

import characters
import numpy as np
import pytest

import ted

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

from programs.torch_training import leaves, train  # noqa: E402

WIDTH, SIZE = 8, 4


def lstm(p, ids):
    x = p["table"][ids]
    h = torch.zeros(len(ids), WIDTH, dtype=x.dtype)
    c, found = h, []
    for t in range(ids.shape[1]):
        i, f, g, o = (x[:, t] @ p["w_x"] + h @ p["w_h"] + p["bias"]).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        found.append(h @ p["head"])
    return torch.stack(found, 1)


def transformer(p, ids):
    def normal(x):
        return functional.layer_norm(x, x.shape[-1:])

    x = p["table"][ids] + p["places"][: ids.shape[1]]
    for block in p["blocks"]:
        split = (normal(x) @ block["qkv"]).unflatten(2, (3, characters.HEADS, -1)).transpose(1, 3)
        q, k, v = split.unbind(2)
        found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + found.transpose(1, 2).flatten(2) @ block["out"]
        x = x + functional.gelu(normal(x) @ block["up"]) @ block["down"]
    return normal(x) @ p["head"]


def torch_loss(model: str):
    logits = {"lstm": lstm, "transformer": transformer}[model]

    def loss(p, ids):
        return functional.cross_entropy(logits(p, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    return loss


def test_the_loss_of_the_lstm_equals_that_of_torch() -> None:
    initial, logits = characters.MODELS["lstm"]
    params, (ids,) = initial(WIDTH, "float64"), next(characters.batches(SIZE))
    value = ted.function(characters.loss_of(logits))(params, ids)
    expected = torch_loss("lstm")(leaves(params), torch.from_numpy(ids)).item()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "dtype", "count", "error"),
    [("lstm", "float64", 100, 1e-8), ("transformer", "float64", 100, 1e-8),
     ("lstm", "float32", 5, 1e-5)],
)  # fmt: skip
def test_losses_equal_those_of_torch(model: str, dtype: str, count: int, error: float) -> None:
    losses = characters.learn(model, count, WIDTH, SIZE, dtype)
    params, batches = characters.MODELS[model][0](WIDTH, dtype), characters.batches(SIZE)
    expected, _ = train(torch_loss(model), params, batches, count, lr=3e-3)
    np.testing.assert_allclose(losses, expected, rtol=error)
