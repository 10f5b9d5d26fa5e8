"""A user's own operator in 15 lines: how alike the pixels of two images are, near each other.

Networks for optical flow match each pixel of one image with all pixels near it in the other; in
other systems that is a kernel for GPUs with a second one for its gradient. Here it is one equation.
It is trained at once: features are learned by which a moved image finds back how it was moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, step_of, train

import ted
from ted import nn
from ted.testing import check_grads

REACH = 2


def correlation(x: Any, y: Any, reach: int = REACH) -> Any:
    """Products of x[n, i, j] with y[n, i + a, j + b] over channels, for all |a|, |b| <= reach.

    Shapes: x and y (n, h, w, c), result (n, h, w, (2 reach + 1)^2).
    """
    n, h, w, c = x.shape
    size, r = 2 * reach + 1, ted.reduce_axis(c, "r")

    def element(m: Any, i: Any, j: Any, k: Any) -> Any:
        p, q = i + k // size - reach, j + k % size - reach
        inside = (p >= 0) & (p < h) & (q >= 0) & (q < w)
        return ted.sum(x[m, i, j, r] * y[m, p, q, r], axis=r, where=inside)

    return ted.compute((n, h, w, size * size), element, name="correlation")


def loss(params: Any, x: Any, y: Any, moves: Any) -> Any:
    """The cross-entropy of how each of the images y (n, h, w, 1) is moved against that of x."""
    x, y = (nn.conv2d(t, params["w"], params["b"], padding="same") for t in (x, y))
    alike = ted.mean(correlation(ted.tanh(x), ted.tanh(y)), axis=(1, 2))
    return nn.cross_entropy(alike * ted.exp(params["scale"]), moves)


def batches(size: int, seed: int = 0) -> Iterator[tuple[np.ndarray, ...]]:
    """Random images, the same moved by up to `REACH` pixels with noise, and which move it was."""
    rng = np.random.default_rng(seed)
    while True:
        wide = rng.standard_normal((size, 12, 12, 1))
        moves = rng.integers(0, (2 * REACH + 1) ** 2, size)
        y = [
            w[4 - m // 5 : 12 - m // 5, 4 - m % 5 : 12 - m % 5]
            for w, m in zip(wide, moves, strict=True)
        ]
        noise = 0.5 * rng.standard_normal((size, 8, 8, 1))
        yield wide[:, REACH:-REACH, REACH:-REACH], np.stack(y) + noise, moves


def learn(count: int) -> list[float]:
    """The losses of so many steps."""
    w = 0.3 * np.random.default_rng(1).standard_normal((3, 3, 1, 8))
    params = {"w": w, "b": np.zeros(8), "scale": np.zeros(())}
    optimizer = nn.adam(2e-2)
    step = step_of(loss, optimizer)
    return train(step, params, optimizer.init(params), batches(32), count)[0]


def main() -> None:
    """Print the gradient of the operator, check it at order 2, train."""
    count = arguments(__doc__, steps=300).steps
    x, y = (ted.placeholder((1, 4, 4, 2), "float64", name=name) for name in "xy")
    found = correlation(x, y, 1)
    head = ted.placeholder(found.shape, "float64", name="head")
    print(ted.differentiate(found, [x, y], head))
    check_grads((found, [x, y]), [np.random.default_rng(0).random(x.shape) for _ in "xy"], order=2)
    print("orders 1 and 2 equal differences")
    losses = learn(count)
    print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    save_curves(FOLDER / "own_operator.png", {"cross-entropy": losses}, "finding moves", mean=20)


if __name__ == "__main__":
    main()
