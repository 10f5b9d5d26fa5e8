"""Operators that libraries of kernels seldom differentiate twice, each in at most 15 lines.

A kernel brings its gradient as a second kernel, and seldom the gradient of that one. Here an
operator says what each of its elements is, and gradients of every order follow: this program
checks the first and the second of each against differences, and says what scatters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted import nn
from ted.testing import check_grads


def bilinear(pixel: Any, y: Any, x: Any, height: int, width: int) -> Any:
    """The mean of the four pixels around (y, x), weighted by nearness; those outside are zero."""
    top, left = ted.floor(y), ted.floor(x)

    def corner(down: int, right: int) -> Any:
        i, j = ted.cast(top, "int64") + down, ted.cast(left, "int64") + right
        weight = (1 - ted.abs(y - top - down)) * (1 - ted.abs(x - left - right))
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        return ted.where(inside, weight * pixel(i, j), 0.0)

    return corner(0, 0) + corner(0, 1) + corner(1, 0) + corner(1, 1)


def grid_sample(image: Any, grid: Any) -> Any:
    """Images (n, h, w, c) at places (n, p, q, 2) from -1 to 1, x before y, as in torch."""
    n, h, w, c = image.shape

    def element(m: Any, p: Any, q: Any, s: Any) -> Any:
        x = ((grid[m, p, q, 0] + 1) * w - 1) / 2
        y = ((grid[m, p, q, 1] + 1) * h - 1) / 2
        return bilinear(lambda i, j: image[m, i, j, s], y, x, h, w)

    return ted.compute((n, *grid.shape[1:3], c), element)


def deformable_conv(image: Any, offset: Any, weight: Any) -> Any:
    """A 3 x 3 convolution whose taps are moved by offset (n, h, w, 3, 3, 2), y before x."""
    n, h, w, c = image.shape

    def tap(m: Any, i: Any, j: Any, a: Any, b: Any, s: Any) -> Any:
        y = ted.cast(i + a - 1, offset.dtype) + offset[m, i, j, a, b, 0]
        x = ted.cast(j + b - 1, offset.dtype) + offset[m, i, j, a, b, 1]
        return bilinear(lambda i, j: image[m, i, j, s], y, x, h, w)

    return ted.einsum("mijabs,abso->mijo", ted.compute((n, h, w, 3, 3, c), tap), weight)


def neighbourhood_attention(query: Any, key: Any, value: Any, size: int = 3) -> Any:
    """Attention of each pixel (n, h, w, d) to the size x size ones nearest to it, all inside."""
    n, h, w, d = query.shape

    def near(t: Any) -> Any:
        def element(m: Any, i: Any, j: Any, k: Any, s: Any) -> Any:
            top, left = ted.clip(i - size // 2, 0, h - size), ted.clip(j - size // 2, 0, w - size)
            return t[m, top + k // size, left + k % size, s]

        return ted.compute((n, h, w, size * size, d), element)

    p = nn.softmax(ted.einsum("mijs,mijks->mijk", query, near(key)) / d**0.5)
    return ted.einsum("mijk,mijks->mijs", p, near(value))


def resize(image: Any, height: int, width: int) -> Any:
    """Images (n, h, w, c) of another size, linear between the centres of pixels."""

    def along(i: Any, size: int, wanted: int) -> tuple[Any, Any, Any]:
        at = ted.clip((2 * i + 1) * size - wanted, 0, 2 * wanted * (size - 1))  # in 2 wanted parts
        first, part = at // (2 * wanted), ted.cast(at % (2 * wanted), image.dtype) / (2 * wanted)
        return first, ted.clip(first + 1, 0, size - 1), part

    def element(m: Any, i: Any, j: Any, s: Any) -> Any:
        (t, b, y), (f, g, x) = along(i, image.shape[1], height), along(j, image.shape[2], width)
        upper = image[m, t, f, s] * (1 - x) + image[m, t, g, s] * x
        return upper * (1 - y) + (image[m, b, f, s] * (1 - x) + image[m, b, g, s] * x) * y

    return ted.compute((image.shape[0], height, width, image.shape[3]), element)


def cases() -> dict[str, tuple[Any, list[np.ndarray]]]:
    """Each operator as a function of arrays, and small arrays; places lie off the pixels."""
    rng = np.random.default_rng(0)
    image = rng.standard_normal((1, 3, 3, 2))
    moved = rng.uniform(0.1, 0.4, (1, 3, 3, 3, 3, 2)) * rng.choice([-1, 1], (1, 3, 3, 3, 3, 2))
    places = (2 * rng.integers(0, 2, (1, 2, 2, 2)) + rng.uniform(0.2, 1.8, (1, 2, 2, 2))) / 3 - 1
    return {
        "grid_sample": (grid_sample, [image, places]),
        "deformable_conv": (deformable_conv, [image, moved, rng.standard_normal((3, 3, 2, 1))]),
        "neighbourhood_attention": (
            neighbourhood_attention,
            list(rng.standard_normal((3, 1, 3, 4, 2))),
        ),
        "resize": (lambda image: resize(image, 5, 3), [image]),
    }


def main() -> None:
    """Check each operator at order 2 and say how its gradients are made."""
    for name, (operator, arrays) in cases().items():
        check_grads(operator, arrays, order=2)
        inputs = [ted.placeholder(a.shape, "float64", name=f"x{k}") for k, a in enumerate(arrays)]
        gradients = ted.differentiate(ted.sum(operator(*inputs) ** 2), inputs)
        scattered = sum("scatter)" in line for line in str(gradients).splitlines())
        print(f"{name}: orders 1 and 2 equal differences; equations that scatter: {scattered}")


if __name__ == "__main__":
    main()
