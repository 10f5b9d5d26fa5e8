"""Loop nests over scalars -> one kernel: a thread for each point of the loops that are parallel.

Before: `scf.for %i ... { scf.for %j = %i to ... {...} {ted.parallel} } {ted.parallel}`
After: a thread for each (i, j) of the box around the triangle, with `scf.if` where the box is
larger. Other loops stay as they are, inside the thread: iterations of a parallel loop touch
different elements, so each thread runs them in the same order as one processor would. Where writes
at data may be atomic, every loop is parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.atomics import make_atomic, update_at_data
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.nest_points import Counter, candidates, chain_of, copied_nest, run_once
from ted.gpu.owner_scatters import keep_to_part, parts_of, write_at_data
from ted.gpu.points import below, delinearized, plus
from ted.gpu.privatised_accumulators import map_copies, plan_of
from ted.gpu.scan_kernels import map_running_total
from ted.gpu.update_lists import has_chains, map_chains
from ted.gpu.updates import updates_of
from ted.linalg.loops import PARALLEL
from ted.machine import WARP
from ted.mlir import ir
from ted.mlir.queries import is_inside
from ted.mlir.queries import operations as found_inside

MOST_POINTS = 2**31 - 1  # of a kernel with atomic updates; loops further in are the thread's


def map_loops(operations: Sequence[ir.Operation], *, deterministic: bool = True) -> None:
    """Build the kernel of operations that stand one after the other, scalars and loops."""
    _hoist_buffers(operations)
    if map_running_total(operations):
        return
    counters = _parallel(operations)
    every = [] if deterministic else _around_update(operations)
    is_atomic = len(every) > len(counters)
    updates = None if is_atomic else updates_of(operations)
    plan = None if updates is None else plan_of(updates)
    if updates is not None and plan is not None:
        map_copies(updates, plan)
        return
    if updates is not None and has_chains(updates):
        map_chains(updates)
        return
    _map_box(operations, every if is_atomic else counters, atomic=is_atomic)


def _around_update(operations: Sequence[ir.Operation]) -> list[Counter]:
    """The loops that become threads where the one update at data of a nest is atomic."""
    update = update_at_data(operations)
    if update is None:
        return []
    around: list[Counter] = []
    for counter in chain_of(operations, is_marked=False):
        points = prod(c.extent for c in [*around, counter])
        if points > MOST_POINTS or not is_inside(update.store, counter.loop):
            break
        around.append(counter)
    return around


def _map_box(
    operations: Sequence[ir.Operation], counters: Sequence[Counter], *, atomic: bool = False
) -> None:
    """A thread for each point of the loops, times the owners of what is written at data."""
    is_shared = not atomic and len(_loops_of(operations)) > len(counters)
    write = write_at_data(operations) if is_shared else None
    # Neighbours do not write the same element, and read along rows, if they differ in these.
    order = sorted(counters, key=lambda c: PARALLEL in c.loop.attributes)
    extents = [c.extent for c in order]
    parts = parts_of(write, prod(extents)) if write is not None else 1
    extents = [parts, *extents]
    total = prod(extents)
    threads = min(THREADS, max(WARP, -(-total // WARP) * WARP)) if total > 1 else 1
    blocks = -(-total // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if total == blocks * threads else below(item, total)):
            part, *numbers = delinearized(item, extents)
            points = {c.loop: plus(v, c.range[0]) for v, c in zip(numbers, order, strict=True)}
            copies = copied_nest(operations)
            shared = write_at_data(copies) if parts > 1 else None
            if shared is not None:
                keep_to_part(shared, part, parts)
            update = update_at_data(copies) if atomic else None
            if update is not None:
                make_atomic(update)
            loops = candidates(copies, is_marked=not atomic)[: len(counters)]
            for loop, counter in zip(loops, counters, strict=True):
                run_once(loop, points[counter.loop])


def _loops_of(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    return [loop for op in operations for loop in found_inside(op, "scf.for")]


def _parallel(operations: Sequence[ir.Operation]) -> list[Counter]:
    """The loops that become threads, outermost first: a chain, in a single loop nest."""
    return chain_of(operations, is_marked=True)


def has_steps(loop: ir.Operation) -> bool:
    """Whether a loop, which is serial itself, has loops side by side that are parallel."""
    if PARALLEL in loop.attributes or len(loop.results):
        return False
    return bool(_marked([loop])) and not _parallel([loop])


def _marked(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    return candidates(operations, is_marked=True)


def _hoist_buffers(operations: Sequence[ir.Operation]) -> None:
    """Buffers of a kernel are made by the host, before it."""
    for op in operations:
        for buffer in found_inside(op, "memref.alloc"):
            buffer.move_before(operations[0])
