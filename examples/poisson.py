"""Poisson's equation on the unit square, solved by a small perceptron of tanh.

-laplacian(u) = f, and u = 0 along the border. The perceptron is multiplied with a function that is
0 there; what is left to learn is the equation, at points drawn anew for each step. `ted.laplacian`
gives its second derivatives without a Hessian, and `ted.grad` goes through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from training import FOLDER, arguments, save_curves, save_images, step_of, train

import ted
from ted import nn


def solution(params: Any, x: Any) -> Any:
    """The value of what is learned at one point x of two coordinates."""
    h = x
    for w, b in params[:-1]:
        h = ted.tanh(nn.dense(h, w, b))
    return ted.sum(h * params[-1]) * ted.prod(x * (1 - x))


def residual(params: Any, points: Any, forces: Any) -> Any:
    """The mean square of what the equation is short of at points (n, 2)."""
    curvature = ted.vmap(ted.laplacian(solution, 1), (None, 0))(params, points)
    return ted.mean((curvature + forces) ** 2)


def truth(x: np.ndarray) -> np.ndarray:
    """The solution that the forces are made for."""
    return np.prod(np.sin(np.pi * x), axis=-1)


def batches(size: int, dtype: str, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points of the square, and the force at each, without end."""
    rng = np.random.default_rng(seed)
    while True:
        points = rng.random((size, 2))
        yield points.astype(dtype), (2 * np.pi**2 * truth(points)).astype(dtype)


def perceptron(width: int, dtype: str, seed: int = 0) -> list[Any]:
    """Parameters of two hidden layers, and of the sum of what comes out of them."""
    rng = np.random.default_rng(seed)
    shapes = (2, width), (width, width)
    layers = [(rng.standard_normal(s) / np.sqrt(s[0]), rng.standard_normal(s[1])) for s in shapes]
    last = rng.standard_normal(width) / np.sqrt(width)
    return [*((w.astype(dtype), b.astype(dtype)) for w, b in layers), last.astype(dtype)]


def learn(count: int, width: int, size: int, dtype: str) -> tuple[list[float], Any]:
    """The losses of `count` steps of Adam, and what has been learned."""
    params = perceptron(width, dtype)
    optimizer = nn.adam(nn.cosine_schedule(3e-3, count))
    step = step_of(residual, optimizer)
    return train(step, params, optimizer.init(params), batches(size, dtype), count)


def main() -> None:
    """Solve it, draw the solution and its error."""
    options = arguments(__doc__, steps=3000, width=32, points=256, dtype="float32")
    losses, params = learn(options.steps, options.width, options.points, options.dtype)
    lines = np.linspace(0, 1, 65, dtype=options.dtype)
    grid = np.stack(np.meshgrid(lines, lines, indexing="ij"), axis=-1)
    found = np.asarray(ted.vmap(ted.vmap(solution, (None, 0)), (None, 0))(params, grid))
    error = np.abs(found - truth(grid))
    print(f"residual {losses[0]:.3e} at first, {losses[-1]:.3e} at last")
    print(f"largest error {error.max():.1e} of values up to 1")
    save_curves(FOLDER / "poisson.png", {"log10 of the residual": list(np.log10(losses))}, "loss")
    save_images(FOLDER / "poisson_solution.png", {"found": found, "error": error}, "viridis")


if __name__ == "__main__":
    main()
