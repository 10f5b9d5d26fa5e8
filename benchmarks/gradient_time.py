"""Milliseconds to derive the gradients of one operator of a residual network, and of all of it.

    python benchmarks/gradient_time.py [--rounds 15] [--only NAME] [--no-network]

For each operator: the integer sets (all that happens below `ted.domain`, nearly all of it in isl),
the whole pipeline from the expression to simplified gathers, and their ratio. Solved index maps are
remembered by a process, so they are forgotten before each measurement. The network has 50 layers;
its operators are repeated, so there the memory is part of what is measured, once.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import time
from collections.abc import Callable
from types import FrameType

from timing import environment

import ted
from ted import nn
from ted.domain import fibres

SETS = ("/ted/domain/", "/islpy/")
SAMPLE = 0.0005  # seconds of CPU time between two looks at where the program is


def convolution(
    shape: tuple[int, ...], kernel: tuple[int, ...], **options: object
) -> Callable[[], ted.Tensor]:
    """A convolution with its weight as a second input."""
    return lambda: nn.conv2d(p("x", *shape), p("w", *kernel), **options)


def p(name: str, *shape: int) -> ted.Tensor:
    """A float32 placeholder."""
    return ted.placeholder(shape, name=name)


OPERATORS: dict[str, Callable[[], ted.Tensor]] = {
    "3x3": convolution((8, 56, 56, 64), (3, 3, 64, 64)),
    "3x3 same": convolution((8, 56, 56, 64), (3, 3, 64, 64), padding="same"),
    "3x3 stride 2 padded": convolution((8, 56, 56, 64), (3, 3, 64, 128), stride=2, padding=1),
    "7x7 stride 2 padded": convolution((8, 224, 224, 3), (7, 7, 3, 64), stride=2, padding=3),
    "3x3 dilation 2": convolution((8, 56, 56, 64), (3, 3, 64, 64), dilation=2, padding=2),
    "3x3 stride 3 dilation 2": convolution((8, 57, 57, 8), (3, 3, 8, 8), stride=3, dilation=2),
    "1x1 stride 2": convolution((8, 56, 56, 64), (1, 1, 64, 128), stride=2),
    "3x3, 4 groups": convolution((8, 28, 28, 64), (3, 3, 16, 64), groups=4, padding=1),
    "3x3 NCHW stride 2": convolution((8, 64, 56, 56), (64, 64, 3, 3), stride=2, layout="NCHW"),
    "max pool 3x3 stride 2": lambda: nn.max_pool2d(p("x", 8, 112, 112, 64), 3, 2, 1),
    "average pool": lambda: nn.global_avg_pool2d(p("x", 8, 7, 7, 2048)),
    "batch norm": lambda: nn.batch_norm(p("x", 8, 56, 56, 64), p("g", 64), p("b", 64)),
    "add, relu": lambda: ted.relu(p("x", 8, 56, 56, 256) + p("y", 8, 56, 56, 256)),
    "dense": lambda: p("x", 8, 2048) @ p("w", 2048, 1000) + p("b", 1000),
    "cross entropy": lambda: nn.cross_entropy(
        p("x", 8, 1000), ted.placeholder((8,), "int64", name="labels")
    ),
}


class Sampler:
    """How much CPU time of a block is spent below the integer sets, by looking now and then."""

    def __init__(self) -> None:
        self.looks = self.inside = 0

    def look(self, _: int, frame: FrameType | None) -> None:
        """One look: is any of the calling functions part of the integer sets?"""
        self.looks += 1
        while frame is not None:
            if any(part in frame.f_code.co_filename for part in SETS):
                self.inside += 1
                return
            frame = frame.f_back

    def __enter__(self) -> Sampler:
        signal.signal(signal.SIGPROF, self.look)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE, SAMPLE)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    @property
    def share(self) -> float:
        """The share of the looks that found the integer sets."""
        return self.inside / max(self.looks, 1)


def forget() -> None:
    """Empty the caches of solved index maps."""
    for cache in (fibres._solve, fibres._solve_index_factor, fibres._guarded):
        cache.cache_clear()


def derive(make: Callable[[], ted.Tensor], sampler: Sampler) -> float:
    """Seconds of CPU time for all gradients from nothing."""
    y = make()
    head = None if y.shape == () else p("dy", *y.shape)
    forget()
    with sampler:
        began = time.process_time()
        ted.differentiate(y, head=head)
        return time.process_time() - began


def report(name: str, make: Callable[[], ted.Tensor], count: int) -> None:
    """A line of the table."""
    derive(make, Sampler())
    sampler = Sampler()
    times = [derive(make, sampler) for _ in range(count)]
    whole = statistics.median(times) * 1e3
    sets = whole * sampler.share
    print(
        f"{name:26} sets {sets:6.1f} ms  whole {whole:6.1f} ms [{min(times) * 1e3:.1f}, "
        f"{max(times) * 1e3:.1f}]  ratio {whole / max(sets, 1e-9):.1f}",
        flush=True,
    )


def residual_network(blocks: tuple[int, ...] = (3, 4, 6, 3)) -> tuple[ted.Tensor, int]:
    """The loss of a network of 50 layers of weights, and how many tensors of weights it has."""
    weights: list[ted.Tensor] = []

    def weight(*shape: int) -> ted.Tensor:
        weights.append(p(f"w{len(weights)}", *shape))
        return weights[-1]

    def layer(x: ted.Tensor, size: int, channels: int, stride: int = 1) -> ted.Tensor:
        kernel = weight(size, size, x.shape[-1], channels)
        y = nn.conv2d(x, kernel, stride=stride, padding=size // 2)
        return nn.batch_norm(y, weight(channels), weight(channels))

    x = ted.relu(layer(p("image", 8, 224, 224, 3), 7, 64, 2))
    x = nn.max_pool2d(x, 3, 2, 1)
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride, width = 2 if stage and not block else 1, 64 << stage
            y = ted.relu(layer(x, 1, width))
            y = ted.relu(layer(y, 3, width, stride))
            y = layer(y, 1, 4 * width)
            x = ted.relu(y + (x if block else layer(x, 1, 4 * width, stride)))
    x = nn.global_avg_pool2d(x)
    logits = x @ weight(x.shape[-1], 1000) + weight(1000)
    return nn.cross_entropy(logits, ted.placeholder((8,), "int64", name="labels")), len(weights)


def main() -> None:
    """Print a line for each operator, and one for the network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--no-network", action="store_true")
    options = parser.parse_args()
    os.environ["TED_CACHE_DIR"] = ""  # empty: what is derived again is not found on the disk
    print(environment("islpy"))
    for name, make in OPERATORS.items():
        if options.only in name:
            report(name, make, options.rounds)
    if not options.no_network:
        loss, count = residual_network()
        sampler = Sampler()
        seconds = derive(lambda: loss, sampler)
        print(
            f"50 layers, {count} gradients: {seconds:.1f} s, {sampler.share:.0%} of it sets",
            flush=True,
        )


if __name__ == "__main__":
    main()
