"""How many threads work on a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ted.gpu.bodies import Work, work_of
from ted.gpu.dead_fills import structured
from ted.machine import MOST_THREADS, WARP
from ted.mlir import ir

POINTS_OF_A_THREAD = 8
# Rows that no registers hold are read again: one block reads memory while another one computes.
THREADS_OF_LONG_ROWS = MOST_THREADS // 2
WARPS = 8  # rows of a block, where a warp is enough for one


def operations_of(block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a loop over rows, those inside of loops too."""
    for op in [o.operation for o in block.operations]:
        yield op
        if op.name == "scf.for":
            yield from operations_of(op.regions[0].blocks[0])


def works_of(operations: Sequence[ir.Operation]) -> dict[ir.Operation, Work]:
    """The structured operations as work."""
    return {o: w for o in operations if structured(o) if (w := work_of(o)) is not None}


def team_of(operations: Sequence[ir.Operation], rows: int) -> tuple[int, int]:
    """Teams of a block, and threads of a team: a power of two, so that results fill vectors."""
    points = max((prod(w.extents) for w in works_of(operations).values()), default=1)
    if points <= WARP * POINTS_OF_A_THREAD and rows > WARPS:
        return WARPS, WARP
    warps = -(-points // (WARP * POINTS_OF_A_THREAD))
    threads = WARP << max(0, warps - 1).bit_length()
    return 1, threads if threads <= MOST_THREADS else THREADS_OF_LONG_ROWS
