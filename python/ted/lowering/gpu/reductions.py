"""Reductions -> kernels whose order of summation depends on shapes only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.lowering.gpu.bodies import Values, Work
from ted.lowering.gpu.launching import launch, only_if
from ted.lowering.gpu.maps import THREADS, linear_thread
from ted.lowering.gpu.points import below, delinearized
from ted.mlir import ir
from ted.schedules.emit import carried_loop


def map_reduction(work: Work) -> None:
    """Build the kernels of a reduction."""
    one_thread_each(work)


def one_thread_each(work: Work) -> None:
    """One thread for each result, which sums in the order of the loops."""
    extents = [work.extents[d] for d in work.outer]
    total = prod(extents)
    threads = min(THREADS, max(32, -(-total // 32) * 32))
    blocks = -(-total // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if total == blocks * threads else below(item, total)):
            dims = _placed(work, delinearized(item, extents))
            start = [o.load(dims) for o in work.outputs]
            totals = serial(work, dims, work.reductions, start)
            for output, value in zip(work.outputs, totals, strict=True):
                output.store(value, dims)


def _placed(work: Work, outer: Values) -> Values:
    """All dims of a point, the ones summed over as the first of the others (not used)."""
    dims: Values = [outer[0] if outer else None] * len(work.extents)  # type: ignore[list-item]
    for dim, value in zip(work.outer, outer, strict=True):
        dims[dim] = value
    return dims


def serial(work: Work, dims: Values, left: list[int], totals: Values) -> Values:
    """Loops over the dims that are left, around the body."""
    if not left:
        return work.values(dims, work.loads(dims), totals)
    dim, *inner = left

    def body(index: ir.Value, carried: Sequence[ir.Value]) -> Values:
        here = [*dims[:dim], index, *dims[dim + 1 :]]
        return serial(work, here, inner, list(carried))

    return carried_loop(0, work.extents[dim], 1, totals, body)
