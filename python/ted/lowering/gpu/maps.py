"""Element-wise work -> a kernel with one thread for a few neighbouring points.

Threads run along the last dim, so that neighbours read and write neighbouring memory. A thread
loads all its points before it computes any: the code generator then joins loads into vectors.
"""

from __future__ import annotations

from math import prod

from ted.lowering.gpu.bodies import Values, Work
from ted.lowering.gpu.launching import Launch, launch, only_if
from ted.lowering.gpu.points import below, delinearized, plus, times
from ted.mlir import ir

THREADS = 256
VECTOR_BYTES = 16
# From here on there are enough threads for every multiprocessor without one point per thread.
MANY_POINTS = 1 << 14


def map_points(work: Work) -> None:
    """Build the kernel of work without reductions."""
    total = prod(work.extents)
    lanes = _lanes(work, total)
    items = total // lanes
    threads = THREADS if items >= THREADS else max(32, -(-items // 32) * 32)
    blocks = -(-items // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if items == blocks * threads else below(item, items)):
            dims = delinearized(times(item, lanes) if lanes > 1 else item, work.extents)
            run_points(work, [[*dims[:-1], plus(dims[-1], k)] if k else dims for k in range(lanes)])


def linear_thread(kernel: Launch) -> ir.Value:
    """Number of the thread in the grid."""
    return plus(times(kernel.block, kernel.threads), kernel.thread)


def run_points(work: Work, points: list[Values]) -> None:
    """Element-wise work at some points."""
    loaded = [work.loads(dims) for dims in points]
    olds = [work.before(dims) for dims in points]
    results = [
        work.values(dims, ins, outs) for dims, ins, outs in zip(points, loaded, olds, strict=True)
    ]
    for dims, values in zip(points, results, strict=True):
        for output, value in zip(work.outputs, values, strict=True):
            output.store(value, dims)


def _lanes(work: Work, total: int) -> int:
    """Points of a thread: as many as fill a vector of the widest element, if rows allow."""
    if total < MANY_POINTS or not work.extents:
        return 1
    widest = max(byte_width(o.element) for o in (*work.inputs, *work.outputs))
    lanes = VECTOR_BYTES // widest
    while lanes > 1 and work.extents[-1] % lanes:
        lanes //= 2
    return lanes


def byte_width(element: ir.Type) -> int:
    """Bytes of an element in memory."""
    return max(1, getattr(element, "width", 64) // 8)
