"""A soft rasteriser: triangles find their corners and colours by the gradient of an image.

How much of a pixel belongs to a triangle is a smooth function of its distances to the three sides,
so that corners have gradients where an image has edges.
Source: Liu et al., Soft Rasterizer, sections 3.2 and 3.3; in the plane, without depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, save_images, step_of, train

import ted
from ted import nn

BACKGROUND = 1e-2


def image(p: Any, size: int, softness: float) -> Any:
    """Colours (size, size, 3) of triangles with corners (t, 3, 2) in [0, 1], counterclockwise."""
    corners, colours = p["corners"], ted.sigmoid(p["colours"])
    at = (ted.arange(size, dtype=corners.dtype) + 0.5) / size

    def side(i: Any, j: Any, t: Any, k: Any) -> Any:
        """How far the centre of pixel (i, j) is inside of side k of triangle t."""
        x0, y0 = corners[t, k, 0], corners[t, k, 1]
        dx, dy = corners[t, (k + 1) % 3, 0] - x0, corners[t, (k + 1) % 3, 1] - y0
        return (dx * (at[i] - y0) - dy * (at[j] - x0)) / ted.sqrt(dx * dx + dy * dy + 1e-12)

    inside = ted.compute((size, size, corners.shape[0], 3), side)
    shares = ted.prod(ted.sigmoid(inside / softness), axis=3)
    total = ted.sum(shares, axis=2, keepdims=True) + BACKGROUND
    return shares @ colours / total


def loss(p: Any, wanted: Any, softness: float) -> Any:
    """The mean square error of the image."""
    return nn.mse(image(p, wanted.shape[0], softness), wanted)


def triangles(count: int, seed: int) -> dict[str, np.ndarray]:
    """Random triangles, counterclockwise around centres in the middle of the image."""
    rng = np.random.default_rng(seed)
    turns = 2 * np.pi * (np.arange(3) / 3 + rng.uniform(0, 1, (count, 1)))
    around = np.stack([np.cos(turns), np.sin(turns)], -1)
    corners = rng.uniform(0.3, 0.7, (count, 1, 2)) + rng.uniform(0.15, 0.3, (count, 3, 1)) * around
    return {"corners": corners, "colours": rng.standard_normal((count, 3))}


def learn(
    count: int, many: int, size: int, softness: float = 0.02
) -> tuple[list[float], Any, np.ndarray]:
    """The losses of `count` steps from triangles of another seed, what is found, and the target."""
    draw = ted.function(lambda p: image(p, size, softness))
    wanted = draw(triangles(many, 0))
    batches: Iterator[tuple[Any, ...]] = repeat((wanted,))
    params, optimizer = triangles(many, 1), nn.adam(1e-2)
    step = step_of(lambda p, wanted: loss(p, wanted, softness), optimizer)
    losses, params = train(step, params, optimizer.init(params), batches, count)
    return losses, draw(params), wanted


def main() -> None:
    """Find the triangles, draw them."""
    options = arguments(__doc__, steps=500, size=64)
    losses, found, wanted = learn(options.steps, 4, options.size)
    print(f"mean square error {losses[0]:.2e} at first, {losses[-1]:.2e} at last")
    save_curves(FOLDER / "rasteriser.png", {"mean square error": losses}, "triangles")
    save_images(FOLDER / "rasteriser_images.png", {"wanted": wanted, "found": np.asarray(found)})


if __name__ == "__main__":
    main()
