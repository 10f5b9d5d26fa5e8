"""Numbers are read from strips of handwritten digits, of which nobody says where they are.

Images of digits lie side by side, at random distances. A recurrent layer in both directions goes
along the columns of such a strip; `nn.ctc_loss` compares what it says with the number alone, over
all ways to spread its digits over the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from digits.data import Digits, load
from training import FOLDER, arguments, save_curves, save_images, step_of, train

import ted
from ted import nn

CLASSES = 11  # of which 0 is the blank: digit d is d + 1
Batch = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def strips(digits: Digits, most: int, size: int, rng: np.random.Generator, dtype: str) -> Batch:
    """Strips (size, columns, 8), their numbers (size, most), lengths in columns and in digits."""
    x, y = np.zeros((size, 11 * most + 4, 8), dtype), np.zeros((size, most), np.int64)
    spans, sizes = np.zeros(size, np.int64), rng.integers(1, most + 1, size)
    for n, count in enumerate(sizes):
        for k, pick in enumerate(rng.integers(0, len(digits.y), count)):
            begin = spans[n] + rng.integers(0, 4)
            x[n, begin : begin + 8] = digits.x[pick].reshape(8, 8).T
            y[n, k], spans[n] = digits.y[pick] + 1, begin + 8
        spans[n] += rng.integers(0, 4)
    return x, y, spans, sizes


def batches(most: int, size: int, dtype: str, seed: int = 0) -> Iterator[Batch]:
    """Batches of strips without end."""
    digits, rng = load()[0], np.random.default_rng(seed)
    while True:
        yield strips(digits, most, size, rng, dtype)


def scores(p: Any, x: Any) -> Any:
    """Logarithms of the probabilities of classes, (columns, n, classes), of strips x."""
    states, _ = nn.stacked(nn.gru, ted.swapaxes(x, 0, 1), p["layers"], bidirectional=True)
    return nn.log_softmax(nn.dense(states, p["head"], p["bias"]))


def loss(p: Any, x: Any, y: Any, spans: Any, sizes: Any) -> Any:
    """How unlikely the numbers are."""
    return nn.ctc_loss(scores(p, x), y, spans, sizes)


def initial(width: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Weights of both directions and of what reads both."""
    rng = np.random.default_rng(seed)

    def drawn(n: int, m: int) -> np.ndarray:
        return (rng.standard_normal((n, m)) / np.sqrt(n)).astype(dtype)

    layers = [(drawn(8, 3 * width), drawn(width, 3 * width)) for _ in range(2)]
    head = drawn(2 * width, CLASSES)
    return {"layers": layers, "head": head, "bias": np.zeros(CLASSES, dtype)}


def learn(count: int, width: int, most: int, size: int, dtype: str) -> tuple[list[float], Any]:
    """The losses of `count` steps of Adam, and the parameters after them."""
    params, optimizer = initial(width, dtype), nn.adam(3e-3)
    step = step_of(loss, optimizer)
    return train(step, params, optimizer.init(params), batches(most, size, dtype), count)


def read(found: np.ndarray, spans: np.ndarray) -> list[list[int]]:
    """The classes that are likeliest in each column, without repetitions and blanks."""
    best = np.argmax(found, axis=2).T
    rows = (row[:span] for row, span in zip(best, spans, strict=True))
    return [
        [int(c) for c, before in zip(row, [0, *row[:-1]], strict=True) if c not in (0, before)]
        for row in rows
    ]


def main() -> None:
    """Train, read strips of digits that were not seen, draw one."""
    options = arguments(__doc__, steps=600, width=64, digits=4, dtype="float32")
    losses, params = learn(options.steps, options.width, options.digits, 32, options.dtype)
    rng = np.random.default_rng(1)
    x, y, spans, sizes = strips(load()[1], options.digits, 200, rng, options.dtype)
    numbers = read(np.asarray(ted.function(scores)(params, x)), spans)
    right = [one == list(t[:k]) for one, t, k in zip(numbers, y, sizes, strict=True)]
    print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    print(f"{np.mean(right):.3f} of the numbers of unseen digits are read right")
    save_curves(FOLDER / "ctc.png", {"loss": losses}, "connectionist temporal classification")
    shown = {"".join(str(c - 1) for c in numbers[k]): x[k, : spans[k]].T for k in range(2)}
    save_images(FOLDER / "ctc_strips.png", shown)


if __name__ == "__main__":
    main()
