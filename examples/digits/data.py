"""The handwritten digits that come with scikit-learn: 1797 images of 8 x 8 pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

TEST_IMAGES = 360


@dataclass(frozen=True)
class Digits:
    """Images x (n, 8, 8, 1) with values in [0, 1] and labels y (n)."""

    x: np.ndarray
    y: np.ndarray

    def batches(
        self, size: int, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Shuffled batches of equal size, each image moved by up to a pixel each way.

        The remainder of an epoch is left out.
        """
        order = rng.permutation(len(self.y))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield _moved(self.x[chosen], rng), self.y[chosen]


def _moved(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each image moved by -1, 0 or 1 pixel in each direction; what moves in is background."""
    windows = sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), x.shape[1:3], (1, 2))
    down, right = rng.integers(0, 3, (2, len(x)))
    return np.ascontiguousarray(windows[np.arange(len(x)), down, right].transpose(0, 2, 3, 1))


def load() -> tuple[Digits, Digits]:
    """The training and the test images: a fixed split, every digit in its share."""
    images, labels = load_digits(return_X_y=True)
    x = (images / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    y = labels.astype(np.int64)
    x_train, x_test, y_train, y_test = train_test_split(
        x, y, test_size=TEST_IMAGES, stratify=y, random_state=0
    )
    return Digits(x_train, y_train), Digits(x_test, y_test)
