"""From the sensor of a camera to a picture, by gradients: every stage learns its numbers at once.

A sensor sees one colour in each pixel (Bayer's mosaic), with noise. A bilateral filter removes the
noise, what is missing is interpolated, colours are mixed and bent; the widths of the filter, gains,
matrix and exponent are learned from a photograph.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
from sklearn.datasets import load_sample_image
from training import FOLDER, arguments, save_curves, save_images, step_of, train

import ted
from ted import nn

REACH = 2
MIXED = np.array([[0.7, 0.2, 0.1], [0.25, 0.6, 0.15], [0.05, 0.3, 0.65]])  # what a sensor sees
GAINS, EXPONENT, NOISE = np.array([0.5, 1.0, 0.7]), 2.2, 0.02


def denoised(raw: Any, widths: Any) -> Any:
    """The mean of near pixels of the same colour, weighted by nearness in place and in value."""
    h, w = raw.shape
    size = 2 * REACH + 1

    def weight(i: Any, j: Any, a: Any, b: Any) -> Any:
        p, q = i + 2 * (a - REACH), j + 2 * (b - REACH)
        apart = ted.cast((a - REACH) * (a - REACH) + (b - REACH) * (b - REACH), raw.dtype)
        unlike = (raw[p, q] - raw[i, j]) ** 2
        inside = (p >= 0) & (p < h) & (q >= 0) & (q < w)
        return ted.where(inside, ted.exp(-apart * widths[0] - unlike * widths[1]), 0.0)

    def mixed(i: Any, j: Any) -> Any:
        p, q = i + 2 * (a - REACH), j + 2 * (b - REACH)
        inside = (p >= 0) & (p < h) & (q >= 0) & (q < w)
        return ted.sum(weights[i, j, a, b] * raw[p, q], axis=(a, b), where=inside)

    weights = ted.compute((h, w, size, size), weight, name="weights")
    a, b = ted.reduce_axis(size), ted.reduce_axis(size)
    return ted.compute((h, w), mixed) / ted.sum(weights, axis=(2, 3))


def demosaiced(raw: Any) -> Any:
    """Colours (h, w, 3): each the mean of those pixels around that see it, nearer ones twice.

    Pixel (i, j) sees red, green or blue as i % 2 + j % 2 says.
    """
    h, w = raw.shape
    a, b = ted.reduce_axis((-1, 2)), ted.reduce_axis((-1, 2))

    def total(value: Any) -> Any:
        def element(i: Any, j: Any, c: Any) -> Any:
            p, q = i + a, j + b
            sees = (p >= 0) & (p < h) & (q >= 0) & (q < w) & (p % 2 + q % 2 == c)
            near = ted.cast((2 - a * a) * (2 - b * b), raw.dtype)
            return ted.sum(near * value(p, q), axis=(a, b), where=sees)

        return ted.compute((h, w, 3), element)

    return total(lambda p, q: raw[p, q]) / total(lambda p, q: 1.0)


def picture(p: Any, raw: Any) -> Any:
    """Colours (h, w, 3) of what a sensor saw (h, w)."""
    x = demosaiced(denoised(raw, ted.exp(p["widths"])))
    x = (x * ted.exp(p["gains"])) @ p["matrix"]
    return ted.maximum(x, 1e-3) ** ted.exp(p["exponent"])


def loss(p: Any, raw: Any, wanted: Any) -> Any:
    """The mean square error of the picture."""
    return nn.mse(picture(p, raw), wanted)


def sensed(wanted: np.ndarray, seed: int = 0) -> np.ndarray:
    """What a sensor sees of a picture (h, w, 3): light, mixed, one colour in each pixel, noise."""
    light = (wanted**EXPONENT @ MIXED) * GAINS
    i, j = np.indices(light.shape[:2])
    seen = np.take_along_axis(light, (i % 2 + j % 2)[..., None], 2)[..., 0]
    return seen + NOISE * np.random.default_rng(seed).standard_normal(seen.shape)


def initial(dtype: str) -> dict[str, np.ndarray]:
    """A narrow filter, and colours as they come."""
    values = {"widths": [0.0, 5.0], "gains": np.zeros(3), "matrix": np.eye(3), "exponent": 0.0}
    return {name: np.array(value, dtype) for name, value in values.items()}


def learn(count: int, wanted: np.ndarray) -> tuple[list[float], Any, np.ndarray]:
    """The losses of `count` steps of Adam, the parameters after them, what the sensor saw."""
    dtype = str(wanted.dtype)
    params, optimizer = initial(dtype), nn.adam(2e-2)
    raw = sensed(wanted).astype(dtype)
    step, state = step_of(loss, optimizer), optimizer.init(params)
    return *train(step, params, state, repeat((raw, wanted)), count), raw


def main() -> None:
    """Learn from a part of a photograph, draw it."""
    count = arguments(__doc__, steps=400).steps
    photograph = load_sample_image("flower.jpg")[100:228, 200:328]
    wanted = (photograph / 255).astype(np.float32)
    losses, params, raw = learn(count, wanted)
    print(f"mean square error {losses[0]:.2e} at first, {losses[-1]:.2e} at last")
    found = ted.function(picture)(params, raw)
    save_curves(FOLDER / "image_pipeline.png", {"mean square error": losses}, "pictures")
    images = {"sensor": raw, "found": np.clip(found, 0, 1), "wanted": wanted}
    save_images(FOLDER / "image_pipeline_images.png", images)


if __name__ == "__main__":
    main()
