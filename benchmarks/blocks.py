"""What loops over blocks gain: times and memory of programs with them, and with stored tensors.

    python benchmarks/blocks.py [--only attention] [--rounds 7] [--small] [--threads 2]
    python benchmarks/blocks.py --limited [--only attention] [--rounds 3]
    python benchmarks/blocks.py --drawn 7 [--rounds 3]

Both versions are compiled in this process and called in turn: medians of milliseconds, of CPU time
on one thread, else of the wall clock, the median of ratios with their quartiles, and MiB of results
and temporaries at most. With `--small` what is too small to be made in loops is tried in them, too.
What the large tensors of a program become by cost is printed behind it.

With `--limited` the programs are larger ones, and the second version may hold no more than 1.25
times the results, and one second cache: `memory_limit=`. What that is, and what it holds, is said.
With `--drawn` they are ten reductions of computed products (`drawn_reductions.py`) by a seed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from drawn_reductions import drawn, names_of
from timing import environment, rounds

import ted
from ted.codegen import requests
from ted.errors import CompileError
from ted.plan import block_choices, ted_loop_over_blocks

RANDOM = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal numbers."""
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def attention(q: Any, k: Any, v: Any) -> Any:
    """Of one head, as it is written."""
    return ted.nn.softmax(q @ ted.matrix_transpose(k) / 8) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    """Attention that does not look ahead."""
    at = ted.arange(q.shape[0])
    z = ted.where(at[:, None] >= at[None, :], q @ ted.matrix_transpose(k) / 8, -np.inf)
    return ted.nn.softmax(z) @ v


def with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its vector-Jacobian product for the last argument."""

    def both(*given: Any) -> Any:
        result, product = ted.vjp(function, *given[:-1])
        return result, product(given[-1])

    return both


def means(x: Any, centres: Any) -> Any:
    """The loss of k-means."""
    apart = (
        ted.sum(x * x, axis=1)[:, None]
        - 2 * (x @ ted.matrix_transpose(centres))
        + ted.sum(centres * centres, axis=1)[None, :]
    )
    return ted.mean(ted.min(apart, axis=1))


def kernel(x: Any, v: Any) -> Any:
    """A Gaussian kernel's matrix times a vector, squared."""
    apart = x[:, None, :] - x[None, :, :]
    return ted.sum((ted.exp(-ted.sum(apart * apart, axis=2) / 2) @ v) ** 2)


def cross_entropy(x: Any, w: Any, labels: Any) -> Any:
    """Of a linear model."""
    z = x @ w
    picked = ted.take_along_axis(z, labels[:, None], axis=1)
    return ted.sum(ted.logsumexp(z, axis=1)) - ted.sum(picked)


def masked(keeps: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Attention where `keeps` says so, of two places."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        at = ted.arange(q.shape[0])
        z = q @ ted.matrix_transpose(k) / 8
        return ted.nn.softmax(ted.where(keeps(at[:, None], at[None, :]), z, -np.inf)) @ v

    return attend


def alibi(q: Any, k: Any, v: Any) -> Any:
    """Attention that falls off with the distance."""
    at = ted.arange(q.shape[0])
    z = q @ ted.matrix_transpose(k) / 8
    return ted.nn.softmax(z - 0.01 * ted.abs(at[:, None] - at[None, :])) @ v


def contrastive(x: Any, y: Any) -> Any:
    """A loss of pairs: softmaxes of similarities along either dim."""
    z = x @ ted.matrix_transpose(y) * 10
    pairs = ted.sum(x * y, axis=1) * 10
    return ted.mean(ted.logsumexp(z, axis=1) + ted.logsumexp(z, axis=0) - 2 * pairs)


def nearest(x: Any, y: Any) -> Any:
    """Indices and scores of the five best."""
    return ted.topk(x @ ted.matrix_transpose(y), 5)


def assignment(x: Any, centres: Any) -> Any:
    """The nearest centre, beside the loss."""
    return means(x, centres), ted.argmin(
        ted.sum(centres * centres, axis=1)[None, :] - 2 * (x @ ted.matrix_transpose(centres)),
        axis=1,
    )


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The value, and the gradients by the first two arguments."""
    return ted.value_and_grad(function, argnums=(0, 1))


def heads(count: int, size: int) -> list[np.ndarray]:
    """So many arrays of `size` rows of 64."""
    return [normal(size, 64) for _ in range(count)]


PROGRAMS: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "attention 4096 x 64": (attention, heads(3, 4096)),
    "attention 4096 x 64, gradients": (with_gradients(attention), heads(4, 4096)),
    "attention 8192 x 64, gradients": (with_gradients(attention), heads(4, 8192)),
    "causal 4096 x 64, gradients": (with_gradients(causal), heads(4, 4096)),
    "k-means 10^5 x 16, 100 centres, gradients": (
        gradient(means), [normal(100_000, 16), normal(100, 16)]
    ),
    "kernel matrix of 8000 x 3, gradients": (gradient(kernel), [normal(8000, 3), normal(8000)]),
    "cross entropy 1024 x 128 x 16,000, gradients": (
        gradient(cross_entropy),
        [normal(1024, 128), normal(128, 16_000, scale=0.05), RANDOM.integers(0, 16_000, 1024)],
    ),
}  # fmt: skip


LARGE: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "attention 8192 x 64": (with_gradients(attention), heads(4, 8192)),
    "attention 8191 x 64": (with_gradients(attention), heads(4, 8191)),
    "causal 8192 x 64": (with_gradients(masked(lambda i, j: i >= j)), heads(4, 8192)),
    "window of 256, 8192 x 64": (
        with_gradients(masked(lambda i, j: (i >= j) & (i - j < 256))), heads(4, 8192)
    ),
    "with ALiBi bias, 8192 x 64": (with_gradients(alibi), heads(4, 8192)),
    "cross entropy 4096 x 256 x 50,000": (
        gradient(cross_entropy),
        [normal(4096, 256), normal(256, 50_000, scale=0.05), RANDOM.integers(0, 50_000, 4096)],
    ),
    "k-means 10^6 x 16, 100 centres": (gradient(means), [normal(1_000_000, 16), normal(100, 16)]),
    "assignment 10^6 x 16, 100 centres": (assignment, [normal(1_000_000, 16), normal(100, 16)]),
    "contrastive 8192 x 256": (
        gradient(contrastive), [normal(8192, 256, scale=0.1), normal(8192, 256, scale=0.1)]
    ),
    "kernel matrix of 20,000 x 3": (gradient(kernel), [normal(20_000, 3), normal(20_000)]),
    "five nearest, both 20,000 x 64": (nearest, [normal(20_000, 64), normal(20_000, 64)]),
}  # fmt: skip


def compiled(
    function: Callable[..., Any], arrays: list[np.ndarray], *, loops: bool, least: int = 0,
    limit: int | None = None,
) -> Any:  # fmt: skip
    """A compiled program, in this process, with loops where cost wants them, or without any."""

    def here(kind: str, source: Any, pipeline: str, arguments: Any, doing: Any) -> Any:
        given = {"kind": kind, "source": source, "pipeline": pipeline, "arguments": arguments}
        return requests.answered(given, doing)

    chosen = ted_loop_over_blocks.choices if loops else (lambda *_, **__: [])
    with (
        mock.patch.object(requests, "made_of", here),
        mock.patch.object(ted_loop_over_blocks, "choices", chosen),
        mock.patch.object(block_choices, "WHOLE", least),
    ):
        wrapped = ted.function(lambda *given: function(*given), memory_limit=limit)
        made = wrapped.compiled(*arrays)
        return made, made.peak_bytes, made.explain()


def row(name: str, count: int, least: int, threads: int) -> None:
    """Print what a program takes."""
    function, arrays = PROGRAMS[name]
    versions = [compiled(function, arrays, loops=loops, least=least) for loops in (False, True)]
    compare(name, arrays, versions, count, threads)


def limited_row(
    name: str, function: Callable[..., Any], arrays: list[np.ndarray], count: int, threads: int
) -> None:
    """Print what a program takes that may hold little more than its results."""
    stored = compiled(function, arrays, loops=False)
    results = sum(r.nbytes for r in ted.tree.leaves(stored[0](*arrays)))
    limit = int(1.25 * results) + stored[0].options.machine.second_cache.size
    try:
        loops = compiled(function, arrays, loops=True, limit=limit)
    except CompileError as error:
        print(f"{name:62} {limit / 2**20:7.1f} MiB at most: {error}")
        return
    compare(f"{name}, {limit / 2**20:.1f} MiB", arrays, [stored, loops], count, threads)


def compare(
    name: str, arrays: list[np.ndarray], versions: list[Any], count: int, threads: int
) -> None:
    """Print times and bytes of two versions."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    times = rounds([partial(run, *arrays) for run, *_ in versions], count, clock=clock)
    ratios = [new / old for old, new in zip(*times, strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    old, new = (statistics.median(column) * 1e3 for column in times)
    held = [peak / 2**20 for _, peak, _ in versions]
    print(
        f"{name:62} {old:7.1f} -> {new:7.1f} ms, {ratio:.2f} [{low:.2f}, {high:.2f}]  "
        f"{held[0]:7.1f} -> {held[1]:6.1f} MiB"
    )
    for line in versions[1][2].splitlines():
        if ted_loop_over_blocks.NAME in line:
            print(f"    {line.partition(ted_loop_over_blocks.NAME)[2].lstrip(': ')[:150]}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--limited", action="store_true")
    parser.add_argument("--drawn", type=int, metavar="SEED")
    options = parser.parse_args()
    os.environ["TED_CACHE_DIR"] = ""
    ted.set_num_threads(options.threads)
    least = block_choices.FAR_CACHE if options.small else block_choices.WHOLE
    print(f"{environment('ted')}: {options.threads} of ted")
    programs = LARGE if options.limited else PROGRAMS
    if options.drawn is not None:
        names = names_of(ted, ted.nn)
        programs = {d.label: (d.program(names), d.arrays) for d in drawn(options.drawn)}
    for name, (function, arrays) in programs.items():
        if options.only not in name:
            continue
        if programs is PROGRAMS:
            row(name, options.rounds, least, options.threads)
        else:
            limited_row(name, function, arrays, options.rounds, options.threads)


if __name__ == "__main__":
    main()
