"""Stencils and differences, among them those of NPBench, and recurrences along a dim of a grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Workload, both, gradient, in_types, normal, uniform


def five_points(k: Any, x: Any) -> Any:
    """Inner points of a grid, each with its four neighbours."""
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return 0.5 * x[1:-1, 1:-1] + 0.125 * around


def seven_points(k: Any, x: Any) -> Any:
    """The same in three dims."""
    inner = x[1:-1, 1:-1, 1:-1]
    around = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1]
    around = around + x[1:-1, 2:, 1:-1] + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    return 0.4 * inner + 0.1 * around


def hdiff(k: Any, x: Any, c: Any) -> Any:
    """NPBench's horizontal diffusion: limited differences of the Laplacian."""
    lap = 4.0 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    across = lap[1:, 1:-1] - lap[:-1, 1:-1]
    across = k.where(across * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0.0 * across, across)
    along = lap[1:-1, 1:] - lap[1:-1, :-1]
    along = k.where(along * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0.0 * along, along)
    return x[2:-2, 2:-2] - c * (across[1:] - across[:-1] + along[:, 1:] - along[:, :-1])


def vadv(k: Any, wind: Any, u: Any, position: Any, tendency: Any) -> Any:
    """NPBench's vertical advection: a tridiagonal system for each column; height is dim 0.

    `wind` lies between levels, and is averaged over two neighbouring columns.
    """
    beta, dt = 0.9, 3.0 / 20.0
    mean = 0.25 * (wind[:, 1:] + wind[:, :-1])
    still = k.zeros((1, *mean.shape[1:]), mean)
    below, above = -1.0 * k.concatenate((still, mean)), k.concatenate((mean, still))
    around = k.edge(u, 0)
    explicit = below * (u - around[:-2]) - above * (around[2:] - u)
    a, c = below * beta, above * beta
    b = dt - a - c
    d = dt * position + tendency + (1.0 - beta) * explicit

    def forward(state: Any, row: Any) -> Any:
        (upper, right), (a, b, c, d) = state, row
        factor = 1.0 / (b - upper * a)
        state = (c * factor, (d - right * a) * factor)
        return state, state

    def backward(found: Any, row: Any) -> Any:
        found = row[1] - row[0] * found
        return found, found

    start = k.zeros(u.shape[1:], u)
    _, swept = k.scan(forward, (start, start), (a, b, c, d))
    _, solved = k.scan(backward, start, swept, reverse=True)
    return dt * (solved - position)


def deriche(k: Any, image: Any) -> Any:
    """NPBench's edge detector: recursive filters along rows and columns, forth and back."""
    alpha, root = 0.25, 2.718281828459045**-0.25
    gain = (1 - root) ** 2 / (1 + 2 * alpha * root - root**2)
    pairs = ((gain, gain * root * (alpha - 1)), (gain * root * (alpha + 1), -gain * root**2))
    one, two = 2**-alpha, -(2.718281828459045 ** (-2 * alpha))

    def filtered(x: Any) -> Any:
        zero = k.zeros(x.shape[1:], x)

        def forth(state: Any, row: Any) -> Any:
            before, y1, y2 = state
            y = pairs[0][0] * row + pairs[0][1] * before + one * y1 + two * y2
            return (row, y, y1), y

        def back(state: Any, row: Any) -> Any:
            x1, x2, y1, y2 = state
            y = pairs[1][0] * x1 + pairs[1][1] * x2 + one * y1 + two * y2
            return (row, x1, y, y1), y

        _, first = k.scan(forth, (zero, zero, zero), x)
        _, second = k.scan(back, (zero, zero, zero, zero), x, reverse=True)
        return first + second

    return k.transpose(filtered(k.transpose(filtered(image), (1, 0))), (1, 0))


def neighbours(k: Any, x: Any) -> Any:
    """Differences along dim 0."""
    return x[1:] - x[:-1]


def stencil(name: str, program: Any, *inputs: Any, **more: Any) -> Workload:
    """A workload of this file."""
    return Workload(name, program, inputs, "stencils", **more)


def workloads() -> Iterator[Workload]:
    """The rows."""
    grid = normal(2048, 2048)
    yield from both(stencil("stencil 2048", five_points, grid, table=True))
    yield from both(stencil("stencil 2048 f64", five_points, grid, dtype="float64", table=True))
    yield from both(stencil("stencil 160^3", seven_points, normal(160, 160, 160)))
    yield from gradient(stencil("x[1:] - x[:-1] 4096x1024", neighbours, normal(4096, 1024)))
    yield from gradient(stencil("x[1:] - x[:-1] 2^22", neighbours, normal(1 << 22)))
    for made in in_types(
        stencil("hdiff", hdiff, normal(132, 132, 80), normal(128, 128, 80)), "float64", "float32"
    ):
        yield from both(made)
    columns = (uniform(-0.1, 0.1, 39, 61, 60), *[normal(40, 60, 60, scale=0.1)] * 3)
    yield from both(stencil("vadv", vadv, *columns, dtype="float64"))
    yield from both(stencil("deriche", deriche, uniform(0, 1, 720, 480)))
