"""Element-wise work -> a kernel with one thread for a few neighbouring points.

Threads run along the last dim, so that neighbours read and write neighbouring memory; where rows
allow, a thread takes as many points as fill a vector.
"""

from __future__ import annotations

from math import prod

from ted.gpu.bodies import Values, Work
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.points import below, delinearized, plus, times
from ted.gpu.vector_runs import befores_of_run, lanes_along, loads_of_run, moved, store_run
from ted.mlir import ir

THREADS = 256
# From here on there are enough threads for every multiprocessor without one point per thread.
MANY_POINTS = 1 << 14
MOST_ELEMENTS = 64  # that a thread holds at once; from about there on the assembler spills


def map_points(work: Work, lanes: int) -> None:
    """Build the kernel of work without reductions, `lanes` neighbouring points a thread."""
    total = prod(work.extents)
    items = total // lanes
    threads = THREADS if items >= THREADS else max(32, -(-items // 32) * 32)
    blocks = -(-items // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if items == blocks * threads else below(item, items)):
            run_points(work, delinearized(times(item, lanes), work.extents), lanes)


def lanes_of(work: Work) -> int:
    """Neighbouring points of a thread: what fills vectors, as long as registers hold them."""
    if prod(work.extents) < MANY_POINTS:
        return 1
    lanes = lanes_along(work, len(work.extents) - 1)
    operands = len(work.outputs) + sum(work.uses(k) for k in range(len(work.inputs)))
    while lanes > 1 and lanes * operands > MOST_ELEMENTS:
        lanes //= 2
    return lanes


def linear_thread(kernel: Launch) -> ir.Value:
    """Number of the thread in the grid."""
    return plus(times(kernel.block, kernel.threads), kernel.thread)


def run_points(work: Work, dims: Values, lanes: int = 1) -> None:
    """Element-wise work at a point and its neighbours along the last dim."""
    last = len(work.extents) - 1
    loaded = loads_of_run(work, dims, last, lanes)
    olds = befores_of_run(work, dims, last, lanes)
    results = [work.values(moved(dims, last, k), loaded[k], olds[k]) for k in range(lanes)]
    store_run(work, results, dims, last, lanes)
