"""What subnormal numbers cost, and what `subnormals="flush"` saves.

    python benchmarks/subnormals.py [--rounds 9]

Medians of the process's CPU time over rounds in which the contenders take turns: the gradient of
an LSTM that is written with `1 / (1 + exp(-z))`, of a loss so small that all its gradients are
subnormal; maps of numbers that meet some, and of others. JAX flushes, torch does where it is told.
Then a call that computes nothing in each mode: nanoseconds, the least of the rounds.
"""

from __future__ import annotations

import argparse
import logging
import time
from statistics import median
from typing import Any

import jax
import numpy as np
import torch
from jax import numpy as jnp
from timing import Call, environment, rounds

import ted

STEPS, ROWS, WIDTH = 64, 32, 128
LOSS = 1e-41  # for a sum of squares of 1
MODES = ("keep", "flush")
COUNT = 1 << 16


def lstm(np_like: Any, scan: Any, x: Any, wx: Any, wh: Any) -> Any:
    """A small loss of the last state, in ted or JAX."""

    def sigmoid(z: Any) -> Any:
        return 1 / (1 + np_like.exp(-z))

    def step(state: Any, row: Any) -> Any:
        h, c = state
        gates = row + h @ wh
        i, f, g, o = (gates[:, k * WIDTH : (k + 1) * WIDTH] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np_like.tanh(g)
        h = sigmoid(o) * np_like.tanh(c)
        return (h, c), h

    start = np_like.zeros((ROWS, WIDTH), dtype="float32")
    (h, _), _ = scan(step, (start, start), x @ wx)
    return LOSS * np_like.sum(h * h)


def networks() -> dict[str, Call]:
    """The gradient of the LSTM by both of its weights."""
    rng = np.random.default_rng(0)
    arrays = [
        (scale * rng.normal(size=shape)).astype("f4")
        for scale, shape in ((1, (STEPS, ROWS, WIDTH)), *[(0.1, (WIDTH, 4 * WIDTH))] * 2)
    ]
    found: dict[str, Call] = {}
    for mode in MODES:
        f = ted.grad(lambda *a: lstm(ted, ted.scan, *a), (1, 2), subnormals=mode)
        found[mode] = lambda f=f: f(*arrays)
    slopes = jax.jit(jax.grad(lambda *a: lstm(jnp, jax.lax.scan, *a), (1, 2)))
    found["jax"] = lambda: jax.block_until_ready(slopes(*map(jnp.asarray, arrays)))
    return found


def maps(value: float) -> dict[str, Call]:
    """`exp(x / 2) * x` of one number, in ted and torch."""
    x = np.full(COUNT, value, "f4")
    shared = torch.from_numpy(x)
    found: dict[str, Call] = {}
    for mode in MODES:
        f = ted.function(lambda x: ted.exp(x / 2) * x, subnormals=mode)
        found[mode] = lambda f=f: f(x)
    return found | {"torch": lambda: torch.exp(shared / 2) * shared}


def quotients(value: float) -> dict[str, Call]:
    """`1 / (1 + exp(-z))` of one number."""
    z = np.full(COUNT, value, "f4")
    found: dict[str, Call] = {}
    for mode in MODES:
        f = ted.function(lambda z: 1 / (1 + ted.exp(-z)), subnormals=mode)
        found[mode] = lambda f=f: f(z)
    return found


def calls() -> dict[str, Call]:
    """A call of next to nothing."""
    x = np.ones((3, 4), "f4")
    given = ted.placeholder((3, 4), name="x")
    made = {m: ted.compile([given], given + given, subnormals=m) for m in (*MODES, "caller")}
    return {mode: lambda f=f: f(x) for mode, f in made.items()}


def main() -> None:
    """Print a line per row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    logging.getLogger("ted.subnormals").disabled = True
    torch.set_num_threads(1)
    print(environment("numpy", "torch", "jax"))
    tables = {
        "gradient of an LSTM": networks(),
        **{f"exp(x / 2) * x of {value:g}": maps(value) for value in (1e-30, 1e-41)},
        **{f"1 / (1 + exp(-z)) of {value:g}": quotients(value) for value in (1, 95)},
    }
    for name, row in tables.items():
        times = rounds([*row.values()], options.rounds, clock=time.process_time)
        shown = [f"{who} {median(t) * 1e3:8.3f} ms" for who, t in zip(row, times, strict=True)]
        print(f"{name:28} {'  '.join(shown)}")
    row = calls()
    times = rounds([*row.values()], 3 * options.rounds)
    shown = [f"{who} {min(t) * 1e9:.0f} ns" for who, t in zip(row, times, strict=True)]
    print(f"{'a call of 3 x 4 numbers':28} {'  '.join(shown)}")


if __name__ == "__main__":
    main()
