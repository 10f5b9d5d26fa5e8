"""ResNet-18 with batch norm learns the digits of scikit-learn.

Four stages of two residual blocks each, of 1, 2, 4 and 8 times `width` channels; `--width 64` is
the network of the paper, with the stem that is usual for small images (3 x 3, no pool).
Source: He et al., Deep Residual Learning for Image Recognition, section 3.3 and table 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from digits.data import load
from training import FOLDER, arguments, save_curves, steps

import ted
from ted import nn

STAGES, BLOCKS = 4, 2
PARTS = ("first", "second", "across")


@dataclass
class Norms:
    """Means and variances of earlier batches, norm by norm, and those moved towards this batch."""

    running: list[Any]
    training: bool
    moved: list[Any]

    def __call__(self, p: Any, x: Any) -> Any:
        """The next batch norm of the network."""
        earlier = self.running[len(self.moved)]
        found = nn.batch_norm(x, p["scale"], p["shift"], running=earlier, training=self.training)
        result, *moved = found if self.training else (found, *earlier)
        self.moved.append(tuple(moved))
        return result


def residual(p: Any, x: Any, stride: int, norm: Norms) -> Any:
    """Two convolutions around which x passes, by a convolution of 1 x 1 where its shape changes."""
    y = ted.relu(norm(p["first"], nn.conv2d(x, p["first"]["w"], stride=stride, padding=1)))
    y = norm(p["second"], nn.conv2d(y, p["second"]["w"], padding=1))
    if "across" in p:
        x = norm(p["across"], nn.conv2d(x, p["across"]["w"], stride=stride))
    return ted.relu(x + y)


def logits(p: Any, running: Any, x: Any, training: bool) -> tuple[Any, Any]:
    """Scores of the classes of images (n, h, w, c), and the moments of all norms, moved."""
    norm = Norms(running, training, [])
    x = ted.relu(norm(p["stem"], nn.conv2d(x, p["stem"]["w"], padding=1)))
    for stage, blocks in enumerate(p["stages"]):
        for position, block in enumerate(blocks):
            x = residual(block, x, 2 if stage > 0 and position == 0 else 1, norm)
    return nn.dense(ted.mean(x, axis=(1, 2)), p["head"]["w"], p["head"]["bias"]), norm.moved


def loss(p: Any, running: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The mean cross-entropy, and the moved moments."""
    scores, running = logits(p, running, x, training=True)
    return nn.cross_entropy(scores, y), running


OPTIMIZER = nn.sgd(0.05, momentum=0.9, weight_decay=5e-4)


@ted.function
def step(p: Any, state: Any, running: Any, x: Any, y: Any) -> Any:
    """One step of SGD: (loss, parameters, state, moments)."""
    (value, running), gradients = ted.value_and_grad(loss, has_aux=True)(p, running, x, y)
    return value, *OPTIMIZER.update(p, gradients, state), running


@ted.function
def correct(p: Any, running: Any, x: Any, y: Any) -> Any:
    """How many images are classified right."""
    return ted.count_nonzero(ted.argmax(logits(p, running, x, training=False)[0], axis=1) == y)


def initial(width: int, channels: int, classes: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Weights with the variance 2 / inputs, scales of 1."""
    rng = np.random.default_rng(seed)

    def layer(size: int, inputs: int, outputs: int) -> dict[str, Any]:
        w = rng.standard_normal((size, size, inputs, outputs)) * np.sqrt(2 / (size**2 * inputs))
        one, zero = np.ones(outputs, dtype), np.zeros(outputs, dtype)
        return {"w": w.astype(dtype), "scale": one, "shift": zero}

    def block(inputs: int, outputs: int) -> dict[str, Any]:
        found = {"first": layer(3, inputs, outputs), "second": layer(3, outputs, outputs)}
        return found if inputs == outputs else {**found, "across": layer(1, inputs, outputs)}

    widths = [width * 2**stage for stage in range(STAGES)]
    stages = [
        [block(inputs if k == 0 else outputs, outputs) for k in range(BLOCKS)]
        for inputs, outputs in zip([width, *widths], widths, strict=False)
    ]
    head = (rng.standard_normal((widths[-1], classes)) / np.sqrt(widths[-1])).astype(dtype)
    dense = {"w": head, "bias": np.zeros(classes, dtype)}
    return {"stem": layer(3, channels, width), "stages": stages, "head": dense}


def first_moments(p: Any) -> list[Any]:
    """A mean of 0 and a variance of 1 for each norm, in the order in which they are met."""
    blocks = [block for stage in p["stages"] for block in stage]
    layers = [p["stem"], *(b[part] for b in blocks for part in PARTS if part in b)]
    return [(0 * layer["scale"], layer["scale"]) for layer in layers]


def batches(size: int, dtype: str, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Digits without end."""
    digits, rng = load()[0], np.random.default_rng(seed)
    while True:
        for x, y in digits.batches(size, rng):
            yield x.astype(dtype), y


def learn(count: int, width: int, size: int, dtype: str) -> tuple[list[float], Any, Any]:
    """The losses of `count` steps, parameters and moments after them."""
    p, losses = initial(width, 1, 10, dtype), []
    state, running = OPTIMIZER.init(p), first_moments(p)
    for _, (x, y) in zip(steps(range(count), "steps"), batches(size, dtype), strict=False):
        value, p, state, running = step(p, state, running, x, y)
        losses.append(float(value))
    return losses, p, running


def main() -> None:
    """Train, test, draw the losses."""
    options = arguments(__doc__, steps=200, width=16, dtype="float32")
    losses, p, running = learn(options.steps, options.width, 32, options.dtype)
    test = load()[1]
    share = int(correct(p, running, test.x.astype(options.dtype), test.y)) / len(test.y)
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} at last, test accuracy {share:.4f}")
    save_curves(FOLDER / "resnet.png", {"cross-entropy": losses}, "ResNet-18 on digits", mean=20)


if __name__ == "__main__":
    main()
