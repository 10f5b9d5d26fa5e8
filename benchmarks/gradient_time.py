"""Milliseconds to derive both gradients of a convolution, from the expression to gather form.

    python benchmarks/gradient_time.py [--rounds 7]

Nearly all of it is integer arithmetic on index sets; the aim is 150 ms for one convolution. Solved
index maps are remembered by a process, so they are forgotten before each measurement.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial

from timing import environment, rounds

import ted
from ted.domain import fibres

# name, x, weight, options of ted.nn.conv2d
CONVOLUTIONS = (
    ("3x3", (8, 56, 56, 64), (3, 3, 64, 64), {}),
    ("3x3 same", (8, 56, 56, 64), (3, 3, 64, 64), {"padding": "same"}),
    ("3x3 stride 2 padded", (8, 56, 56, 64), (3, 3, 64, 128), {"stride": 2, "padding": 1}),
    ("7x7 stride 2 padded", (8, 224, 224, 3), (7, 7, 3, 64), {"stride": 2, "padding": 3}),
    ("3x3 dilation 2", (8, 56, 56, 64), (3, 3, 64, 64), {"dilation": 2, "padding": 2}),
    ("3x3 stride 3 dilation 2", (8, 57, 57, 8), (3, 3, 8, 8), {"stride": 3, "dilation": 2}),
    ("1x1 stride 2", (8, 56, 56, 64), (1, 1, 64, 128), {"stride": 2}),
    ("3x3, 4 groups", (8, 28, 28, 64), (3, 3, 16, 64), {"groups": 4, "padding": 1}),
    ("3x3 NCHW stride 2", (8, 64, 56, 56), (64, 64, 3, 3), {"stride": 2, "layout": "NCHW"}),
)


def forget() -> None:
    """Empty the caches of solved index maps."""
    fibres._solve.cache_clear()
    fibres._solve_index_factor.cache_clear()


def derive(y: ted.Tensor, inputs: list[ted.Tensor], head: ted.Tensor) -> None:
    """Both gradients from nothing."""
    forget()
    ted.differentiate(y, inputs, head)


def main() -> None:
    """Print milliseconds for each convolution."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(environment("islpy"))
    a = ted.placeholder((3,))
    ted.differentiate(ted.sum(a * a), [a])  # what is imported on first use
    for name, shape, kernel, keywords in CONVOLUTIONS:
        x, w = ted.placeholder(shape, name="x"), ted.placeholder(kernel, name="w")
        y = ted.nn.conv2d(x, w, **keywords)
        head = ted.placeholder(y.shape, name="dy")
        call = partial(derive, y, [x, w], head)
        (times,) = rounds([call], options.rounds)
        low, middle, high = (f(times) * 1e3 for f in (min, statistics.median, max))
        print(f"{name:26} {middle:6.1f} ms [{low:.1f}, {high:.1f}]")


if __name__ == "__main__":
    main()
