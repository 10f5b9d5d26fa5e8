"""Whether it matters where arrays lie: each kernel with results at 64 distances from its input.

    python benchmarks/offsets.py [--rounds 15] [--only cumsum]

A processor takes a load for one of what a store wrote before when the two are equal in their last
twelve bits. Rows of 4096 bytes are the worst case: all begin at one place of a page. A line has
the shortest, the median and the longest time of the 64, and that with a fresh result.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
from timing import environment, rounds

import ted
from ted import nn

SHAPE = (2048, 1024)
PAGE = 4096
# Others' large arrays begin at 16 or 64; the results of each are tried at all distances.
PLACES = [(first, (first + step) % PAGE) for first in (16, 64)
          for step in (*range(0, 128, 8), *range(128, PAGE, 256))]  # fmt: skip

KERNELS: dict[str, Callable[[ted.Tensor], ted.Tensor]] = {
    "add": lambda x: x + 1,
    "tanh": ted.tanh,
    "cumsum of rows": lambda x: ted.cumsum(x, 1),
    "cumsum of columns": lambda x: ted.cumsum(x, 0),
    "gradient of cumsum": ted.grad(lambda x: ted.sum(ted.cumsum(x, 1) ** 2)),
    "softmax": nn.softmax,
    "sum of rows": lambda x: ted.sum(x, 1),
    "sum of columns": lambda x: ted.sum(x, 0),
    "transpose": ted.transpose,
    "flip": lambda x: ted.flip(x, 1),
    "stencil": lambda x: x[:, 2:] - 2 * x[:, 1:-1] + x[:, :-2],
    "product": lambda x: x[:256] @ ted.transpose(x[:256]),
}


def array(shape: tuple[int, ...], place: int) -> np.ndarray:
    """Ones that begin at a place of a page."""
    count = int(np.prod(shape))
    memory = np.zeros(4 * count + 2 * PAGE, np.uint8)
    first = (place - memory.ctypes.data) % PAGE
    found = memory[first : first + 4 * count].view(np.float32).reshape(shape)
    found.fill(1)
    return found


def line(name: str, count: int) -> str:
    """What a kernel takes, in milliseconds."""
    x = ted.placeholder(SHAPE, name="x")
    y = KERNELS[name](x)
    f = ted.compile([x], [y])
    shape = tuple(map(int, y.shape))
    calls = [partial(f, array(SHAPE, a), out=[array(shape, b)]) for a, b in PLACES]
    fresh = partial(f, array(SHAPE, PLACES[0][0]))
    *times, mine = (1e3 * min(row) for row in rounds([*calls, fresh], count))
    middle = statistics.median(times)
    return (
        f"{name:20} least {min(times):6.3f}  median {middle:6.3f}  most {max(times):6.3f}"
        f" = {max(times) / middle:5.2f} of the median;  fresh {mine / middle:5.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=KERNELS)
    options = parser.parse_args()
    print(environment("numpy"))
    for name in KERNELS:
        if options.only in (None, name):
            print(line(name, options.rounds), flush=True)


if __name__ == "__main__":
    main()
