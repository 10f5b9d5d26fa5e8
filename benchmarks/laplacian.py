"""The Laplacian of a perceptron of tanh: `ted.laplacian` against Hessians.

    python benchmarks/laplacian.py [--rounds 9] [--points 64] [--dims 10,25,50]

Each at a batch of points, and the gradient of its mean square by the weights: beside
`ted.laplacian` the trace of `ted.hessian`, and the sum of `ted.hvp` along each direction. Results
are compared first. Below 1 `ted.laplacian` is faster, or holds less.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from timing import environment, rounds, spread

import ted

HIDDEN = 64


def network(weights: list[Any], x: Any) -> Any:
    """A scalar of one point, by three hidden layers."""
    *inner, last = weights
    for w in inner:
        x = ted.tanh(x @ w)
    return ted.sum(x * last)


def by_hessian(weights: list[Any], x: Any) -> Any:
    """The trace of all second derivatives."""
    return ted.trace(ted.hessian(network, 1)(weights, x))


def by_products(weights: list[Any], x: Any) -> Any:
    """The sum of products with the Hessian, one for each direction."""

    def second(v: Any) -> Any:
        return ted.sum(v * ted.hvp(lambda x: network(weights, x), (x,), (v,))[0])

    return ted.sum(ted.vmap(second)(ted.eye(x.shape[0])))


WAYS: dict[str, Callable[..., Any]] = {
    "laplacian": ted.laplacian(network, 1), "hessian": by_hessian, "hvp": by_products,
}  # fmt: skip


def programs(lap: Callable[..., Any]) -> tuple[ted.Function, ted.Function]:
    """The Laplacians at many points, and the gradient of their mean square by the weights."""
    at_points = ted.vmap(lap, in_axes=(None, 0))
    return ted.function(at_points), ted.grad(lambda w, x: ted.mean(at_points(w, x) ** 2))


def measure(dim: int, points: int, count: int) -> Iterator[str]:
    """Lines of the table for one number of inputs."""
    rng = np.random.default_rng(0)
    sizes = (dim, HIDDEN, HIDDEN, HIDDEN)
    pairs = itertools.pairwise(sizes)
    weights = [(rng.standard_normal(s) / s[0] ** 0.5).astype("f4") for s in (*pairs, (HIDDEN,))]
    x = rng.standard_normal((points, dim)).astype("f4")
    made = [programs(lap) for lap in WAYS.values()]
    for what, functions in zip(("value", "gradient"), zip(*made, strict=True), strict=True):
        results = [f(weights, x) for f in functions]
        for other in results[1:]:
            for a, b in zip(ted.tree.leaves(results[0]), ted.tree.leaves(other), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-3 * np.abs(b).max())
        times = rounds([lambda f=f: f(weights, x) for f in functions], count)
        bytes_held = [f.compiled(weights, x).peak_bytes for f in functions]
        for name, mine, held in zip(WAYS, times, bytes_held, strict=True):
            ratios = [a / b for a, b in zip(times[0], mine, strict=True)]
            yield (
                f"d = {dim:2} {what:8} {name:9} {np.median(mine) * 1e3:8.2f} ms "
                f"{held / 2**20:7.2f} MiB  laplacian / {name}: time {spread(ratios)}, "
                f"memory {bytes_held[0] / held:.2f}"
            )


def main() -> None:
    """Print a line for each way, number of inputs and order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--dims", default="10,25,50", help="numbers of inputs")
    options = parser.parse_args()
    print(environment("numpy"))
    for dim in map(int, options.dims.split(",")):
        for line in measure(dim, options.points, options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
