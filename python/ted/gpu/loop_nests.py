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

from ted.forking import cached_property
from ted.gpu.atomics import make_atomic, update_at_data
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.nest_points import Counter, candidates, chain_of, copied_nest, run_once
from ted.gpu.owner_scatters import keep_to_part, parts_of, write_at_data
from ted.gpu.points import below, delinearized, plus
from ted.gpu.updates import Updates, updates_of
from ted.linalg.loops import PARALLEL
from ted.machine import WARP
from ted.mlir import ir
from ted.mlir.queries import is_inside
from ted.mlir.queries import operations as found_inside
from ted.records import dataclass

MOST_POINTS = 2**31 - 1  # of a kernel with atomic updates; loops further in are the thread's


@dataclass(frozen=True)
class Nest:
    """Operations that stand one after the other, scalars and loops, as points of threads."""

    operations: Sequence[ir.Operation]

    @cached_property
    def parallel(self) -> list[Counter]:
        """The loops that become threads, outermost first: a chain, in a single loop nest."""
        return chain_of(self.operations, is_marked=True)

    @cached_property
    def around_update(self) -> list[Counter]:
        """The loops that become threads where the one update at data is atomic."""
        return _around_update(self.operations)

    @cached_property
    def updates(self) -> Updates | None:
        """What is updated at data, if that is all."""
        return updates_of(self.operations)

    @cached_property
    def parts(self) -> int:
        """Into how many parts owners cut what is written at data; 1 without such a write."""
        is_shared = len(_loops_of(self.operations)) > len(self.parallel)
        write = write_at_data(self.operations) if is_shared else None
        return 1 if write is None else parts_of(write, prod(c.extent for c in self.parallel))


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


def map_box(nest: Nest, parts: int = 1, *, atomic: bool = False) -> None:
    """A thread for each point of the loops, times the owners of what is written at data."""
    operations = nest.operations
    counters = nest.around_update if atomic else nest.parallel
    # Neighbours do not write the same element, and read along rows, if they differ in these.
    order = sorted(counters, key=lambda c: PARALLEL in c.loop.attributes)
    extents = [parts, *(c.extent for c in order)]
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


def has_steps(loop: ir.Operation) -> bool:
    """Whether a loop, which is serial itself, has parallel ones that threads cannot go through.

    They stand side by side, or are so in each turn alone.
    """
    if PARALLEL in loop.attributes or len(loop.results):
        return False
    is_around = any(PARALLEL in inner.attributes for inner in found_inside(loop, "scf.for"))
    return is_around and not chain_of([loop], is_marked=True)
