"""Characters, one after another: an LSTM and a transformer of two blocks learn to add.

The text is lines such as `37+25=62`, made at random; what can be learned is the sum behind `=`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, step_of, train

import ted
from ted import nn

ALPHABET = "0123456789+=\n"
HEADS = 2


def lines(rng: np.random.Generator, size: int) -> np.ndarray:
    """Characters (size, 12) of random sums, as places in the alphabet; lines are filled up."""
    pairs = rng.integers(0, 100, (size, 2))
    texts = [f"{a}+{b}={a + b}".ljust(12, "\n") for a, b in pairs]
    return np.array([[ALPHABET.index(c) for c in text] for text in texts])


def batches(size: int, seed: int = 0) -> Iterator[tuple[np.ndarray]]:
    """Batches of lines without end."""
    rng = np.random.default_rng(seed)
    while True:
        yield (lines(rng, size),)


def lstm_logits(p: Any, ids: Any) -> Any:
    """Scores (n, time, characters) of the characters behind each of ids (n, time)."""
    x = ted.swapaxes(nn.embedding(p["table"], ids), 0, 1)
    h, _ = nn.lstm(x, p["w_x"], p["w_h"], p["bias"])
    return ted.swapaxes(nn.dense(h, p["head"]), 0, 1)


def transformer_logits(p: Any, ids: Any) -> Any:
    """The same by blocks of attention and a perceptron, each on what is normalised."""
    x = nn.embedding(p["table"], ids) + p["places"][: ids.shape[1]]
    for block in p["blocks"]:
        x = x + attention(block, nn.layer_norm(x))
        x = x + nn.dense(nn.gelu(nn.dense(nn.layer_norm(x), block["up"])), block["down"])
    return nn.dense(nn.layer_norm(x), p["head"])


def attention(block: Any, x: Any) -> Any:
    """Heads side by side, each of which sees what was before."""
    n, time, width = x.shape
    split = nn.dense(x, block["qkv"]).reshape((n, time, 3, HEADS, width // HEADS))
    q, k, v = (ted.swapaxes(split[:, :, part], 1, 2) for part in range(3))
    found = ted.swapaxes(nn.attention(q, k, v, causal=True), 1, 2)
    return nn.dense(found.reshape(x.shape), block["out"])


def lstm(width: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Parameters of the LSTM."""
    drawn, count = _drawing(dtype, seed), len(ALPHABET)
    bias = np.zeros(4 * width, dtype)
    return {
        "table": drawn(count, width), "head": drawn(width, count), "bias": bias,
        "w_x": drawn(width, 4 * width), "w_h": drawn(width, 4 * width),
    }  # fmt: skip


def transformer(width: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Parameters of the transformer."""
    drawn, count = _drawing(dtype, seed), len(ALPHABET)
    blocks = [
        {
            "qkv": drawn(width, 3 * width), "out": drawn(width, width),
            "up": drawn(width, 4 * width), "down": drawn(4 * width, width),
        }
        for _ in range(2)
    ]  # fmt: skip
    places, head = drawn(12, width), drawn(width, count)
    return {"table": drawn(count, width), "places": places, "blocks": blocks, "head": head}


def _drawing(dtype: str, seed: int) -> Callable[[int, int], np.ndarray]:
    rng = np.random.default_rng(seed)
    return lambda n, m: (rng.standard_normal((n, m)) / np.sqrt(n)).astype(dtype)


MODELS = {"lstm": (lstm, lstm_logits), "transformer": (transformer, transformer_logits)}


def loss_of(logits: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The mean cross-entropy of each character of ids (n, time) but the first."""
    return lambda params, ids: nn.cross_entropy(logits(params, ids[:, :-1]), ids[:, 1:])


def learn(model: str, count: int, width: int, size: int, dtype: str) -> list[float]:
    """The losses of `count` steps of Adam."""
    initial, logits = MODELS[model]
    params, optimizer = initial(width, dtype), nn.adam(3e-3)
    step = step_of(loss_of(logits), optimizer)
    return train(step, params, optimizer.init(params), batches(size), count)[0]


def main() -> None:
    """Train both, draw their losses."""
    options = arguments(__doc__, steps=1000, width=64, dtype="float32")
    curves = {m: learn(m, options.steps, options.width, 64, options.dtype) for m in MODELS}
    for model, losses in curves.items():
        print(f"{model}: loss {losses[0]:.4f} at first, {losses[-1]:.4f} at last")
    save_curves(FOLDER / "characters.png", curves, "cross-entropy of the next character", mean=20)


if __name__ == "__main__":
    main()
