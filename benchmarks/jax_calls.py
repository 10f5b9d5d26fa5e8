"""What an operator of ted costs inside and outside of `jax.jit`, beside one of JAX's own.

    python benchmarks/jax_calls.py

Microseconds for 16 numbers, medians over rounds in which the candidates take turns: a call of a
compiled function, and one more operator in it, from a chain of 100 (JAX's own with a barrier, so
that XLA does not fuse them).
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import jax
from jax import numpy as jnp

import ted
import ted.jax

ROUNDS, CALLS, CHAIN = 15, 300, 100


def chain(step: Callable[[Any], Any], length: int) -> Callable[[Any], Any]:
    """A compiled function of so many steps."""

    def steps(x: Any) -> Any:
        for _ in range(length):
            x = step(x)
        return x

    return jax.jit(steps)


def microseconds(function: Callable[[Any], Any], x: Any) -> float:
    """Of one call."""
    start = perf_counter()
    for _ in range(CALLS):
        function(x).block_until_ready()
    return (perf_counter() - start) / CALLS * 1e6


def main() -> None:
    """Print the times."""
    own = ted.jax.op(lambda x: x + 1)
    steps = {"ted": own, "jax": lambda x: jax.lax.optimization_barrier(x + 1)}
    x = jnp.ones(16)
    kinds = [(name, length) for name in steps for length in (1, CHAIN)]
    functions = {kind: chain(steps[kind[0]], kind[1]) for kind in kinds}
    functions["ted", 0] = own
    for function in functions.values():
        function(x).block_until_ready()
    times: dict[tuple[str, int], list[float]] = {kind: [] for kind in functions}
    for _ in range(ROUNDS):
        for kind, function in functions.items():
            times[kind].append(microseconds(function, x))
    found = {kind: median(values) for kind, values in times.items()}
    print(f"jax {jax.__version__}, us")
    for name in steps:
        more = (found[name, CHAIN] - found[name, 1]) / (CHAIN - 1)
        print(f"{name}: a compiled function {found[name, 1]:.1f}, one more operator {more:.2f}")
    print(f"ted, not compiled by jax: {found['ted', 0]:.1f}")


if __name__ == "__main__":
    main()
