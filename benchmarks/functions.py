"""Scalar functions: nanoseconds per element against NumPy, torch and JAX on one thread.

    python benchmarks/functions.py [--rounds 7] [--only sin,cos] [--size 4096] [--peers numpy,torch]

Each function maps one array (two for pow and %) of ordinary arguments; results are compared first.
The ratio is ted's time over that of the peer that is fastest, both of one round. Times of JAX hold
what its pool of threads does between calls.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
import torch
from timing import environment, rounds, spread

import ted

Array = np.ndarray[Any, Any]
# Name -> the range of arguments, and the names that NumPy, torch and JAX have for it.
FUNCTIONS: dict[str, tuple[tuple[float, float], str, str, str]] = {
    "sin": ((-100, 100), "sin", "sin", "numpy.sin"),
    "cos": ((-100, 100), "cos", "cos", "numpy.cos"),
    "tan": ((-100, 100), "tan", "tan", "numpy.tan"),
    "exp": ((-20, 20), "exp", "exp", "numpy.exp"),
    "log": ((0.01, 100), "log", "log", "numpy.log"),
    "tanh": ((-5, 5), "tanh", "tanh", "numpy.tanh"),
    "erf": ((-4, 4), "", "erf", "scipy.special.erf"),
    "power": ((0.1, 10), "power", "pow", "numpy.power"),
    "remainder": ((0.1, 10), "remainder", "remainder", "numpy.remainder"),
    "lgamma": ((0.1, 10), "", "lgamma", "scipy.special.gammaln"),
    "sqrt": ((0.1, 10), "sqrt", "sqrt", "numpy.sqrt"),
    "atan": ((-10, 10), "arctan", "atan", "numpy.arctan"),
    "asin": ((-1, 1), "arcsin", "asin", "numpy.arcsin"),
}
BINARY = ("power", "remainder")


def contenders(
    name: str, arrays: Sequence[Array], peers: Sequence[str]
) -> dict[str, Callable[[], Any]]:
    """A call for ted and for each peer that has the function."""
    _, in_numpy, in_torch, in_jax = FUNCTIONS[name]
    inputs = [ted.placeholder(a.shape, a.dtype.name, name=f"x{k}") for k, a in enumerate(arrays)]
    compiled = ted.compile(inputs, getattr(ted, name)(*inputs))
    out = np.empty_like(arrays[0])
    calls: dict[str, Callable[[], Any]] = {"ted": lambda: compiled(*arrays, out=out)}
    if "numpy" in peers and in_numpy:
        room = np.empty_like(arrays[0])
        calls["numpy"] = lambda: getattr(np, in_numpy)(*arrays, out=room)
    if "torch" in peers:
        tensors, place = [torch.from_numpy(a) for a in arrays], torch.empty(arrays[0].shape)
        place = place.to(tensors[0].dtype)
        calls["torch"] = lambda: getattr(torch, in_torch)(*tensors, out=place)
    if "jax" in peers:
        calls["jax"] = _in_jax(in_jax, arrays)
    return calls


def _in_jax(name: str, arrays: Sequence[Array]) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    module, _, attribute = f"jax.{name}".rpartition(".")
    function = getattr(importlib.import_module(module), attribute)
    fast, given = jax.jit(function), [jax.numpy.asarray(a) for a in arrays]
    return lambda: fast(*given).block_until_ready()


def line(name: str, kind: str, size: int, options: argparse.Namespace) -> str:
    """Nanoseconds per element of each, and the ratio to the fastest peer."""
    low, high = FUNCTIONS[name][0]
    generator = np.random.default_rng(0)
    count = 2 if name in BINARY else 1
    arrays = [generator.uniform(low, high, size).astype(kind) for _ in range(count)]
    calls = contenders(name, arrays, options.peers.split(","))
    found = {who: np.asarray(call()) for who, call in calls.items()}
    for who, values in found.items():
        np.testing.assert_allclose(
            found["ted"], values, rtol=1e-4 if kind == "float32" else 1e-9, atol=1e-5, err_msg=who
        )
    # CPU time of the process: JAX works in a thread of its own.
    found_times = rounds(list(calls.values()), options.rounds, 5e-3, time.process_time)
    times = dict(zip(calls, found_times, strict=True))
    mine = times.pop("ted")
    best = min(times, key=lambda who: np.median(times[who]))
    ratios = [a / b for a, b in zip(mine, times[best], strict=True)]
    shown = {"ted": mine, **times}
    cells = "".join(f"  {who} {np.median(t) / size * 1e9:7.3f}" for who, t in shown.items())
    return f"{name:10}{kind:8}{size:9}{cells}  ted / {best} {spread(ratios)}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", default="4096,1000000")
    parser.add_argument("--types", default="float64,float32")
    parser.add_argument("--peers", default="numpy,torch,jax")
    parser.add_argument("--only", default=",".join(FUNCTIONS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("numpy", *filter(lambda p: p != "numpy", options.peers.split(","))))
    print("# ns per element")
    for kind in options.types.split(","):
        for name in options.only.split(","):
            for size in map(int, options.size.split(",")):
                print(line(name, kind, size, options), flush=True)


if __name__ == "__main__":
    main()
