"""A batch of any size by programs of few rows, against the program compiled for each size.

    python benchmarks/batch.py [--rounds 15] [--rows 1,7,64,100,1000] [--ratio 4]

Results are compared first. Below 1 the programs of few rows are faster.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from timing import compared, environment

import ted
from ted import nn
from ted.api import row_functions
from ted.domain.sizes import Size

Program = tuple[list[Any], list[Any]]
N = ted.size("n")


def _inputs(*shapes: tuple[Any, ...]) -> list[Any]:
    return [ted.placeholder(shape, name=f"x{k}") for k, shape in enumerate(shapes)]


def _dense(d: int) -> Program:
    x, w, b = inputs = _inputs((N, d), (d, d), (d,))
    return inputs, [nn.relu(x @ w + b)]


def _perceptron(d: int, h: int) -> Program:
    x, w1, b1, w2, b2, t = inputs = _inputs((N, d), (d, h), (h,), (h, 10), (10,), (N, 10))
    value = nn.mse(nn.relu(x @ w1 + b1) @ w2 + b2, t)
    return inputs, [value, *ted.differentiate(value, [w1, b1, w2, b2])]


def _convolution() -> Program:
    x, w = inputs = _inputs((N, 16, 16, 16), (3, 3, 16, 32))
    return inputs, [nn.relu(nn.conv2d(x, w, padding=1))]


def _convolution_gradient() -> Program:
    x, w = inputs = _inputs((N, 16, 16, 16), (3, 3, 16, 32))
    value = ted.mean(nn.relu(nn.conv2d(x, w, padding=1)) ** 2)
    return inputs, [value, *ted.differentiate(value, [w])]


def _softmax() -> Program:
    inputs = _inputs((N, 1000))
    return inputs, [nn.softmax(inputs[0])]


def _batch_norm() -> Program:
    x, g, b = inputs = _inputs((N, 256), (256,), (256,))
    centred = x - ted.mean(x, axis=0)
    scale = ted.rsqrt(ted.mean(centred * centred, axis=0) + 1e-5)
    value = ted.sum(ted.tanh(centred * scale * g + b))
    return inputs, [value, *ted.differentiate(value, [x, g, b])]


PROGRAMS: dict[str, Callable[[], Program]] = {
    "dense 64": lambda: _dense(64),
    "dense 1024": lambda: _dense(1024),
    "MLP 64-64-10 + gradient": lambda: _perceptron(64, 64),
    "MLP 784-512-10 + gradient": lambda: _perceptron(784, 512),
    "conv 3x3 16x16x16": _convolution,
    "conv 3x3 + gradient": _convolution_gradient,
    "softmax 1000": _softmax,
    "batch norm 256 + gradient": _batch_norm,
}


def measure(name: str, rows: Sequence[int], count: int) -> Iterator[str]:
    """The strips, and a line for each number of rows."""
    inputs, outputs = PROGRAMS[name]()
    f = ted.compile(inputs, outputs)
    yield f"{name}: {f.explain().splitlines()[0]}"
    for n in rows:
        rng = np.random.default_rng(0)
        shapes = [tuple(n if isinstance(e, Size) else e for e in t.shape) for t in inputs]
        arrays = [(rng.standard_normal(s) / 8).astype("f4") for s in shapes]
        known = f.specialise(n=n)
        out = list(known(*arrays))
        for ours, theirs in zip(f(*arrays), out, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4 * (np.abs(theirs).max() + 1e-6))
        calls = [partial(g, *arrays, out=out) for g in (f, known)]
        yield compared(f"  n = {n}", *calls, count, "specialised")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", default="1,7,64,100,1000")
    parser.add_argument("--ratio", type=int, default=row_functions.RATIO)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    row_functions.RATIO = options.ratio
    print(environment("numpy"))
    for name in PROGRAMS:
        if options.only in name:
            for line in measure(name, [int(n) for n in options.rows.split(",")], options.rounds):
                print(line)


if __name__ == "__main__":
    main()
