"""Points that the threads of a team share: each takes its own, and every so many further on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.gpu.points import below, plus, times
from ted.mlir import ir, scf
from ted.mlir.building import carried_loop

Values = list[ir.Value]
UNROLLED = 4


def strided_loop(
    first: ir.Value,
    end: int,
    step: int,
    starts: Sequence[ir.Value],
    body: Callable[[ir.Value, Values], Values],
) -> Values:
    """`first, first + step, ..` below `end`, for 0 <= first < step; what is carried at the end.

    The trips that all threads make are of a known number, the last one is under a condition: a few
    are unrolled here, many by LLVM, so that several loads are on their way at once.
    """
    trips = end // step
    totals = list(starts)
    if trips <= UNROLLED:
        for trip in range(trips):
            totals = body(plus(first, trip * step) if trip else first, totals)
    else:
        totals = carried_loop(
            0, trips, 1, totals,
            lambda trip, carried: body(plus(first, times(trip, step)), list(carried)),
        )  # fmt: skip
    if end % step == 0:
        return totals
    last = plus(first, trips * step) if trips else first
    branch = scf.IfOp(below(last, end), [t.type for t in totals], has_else=bool(totals))
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(body(last, totals))
    otherwise = branch.else_block
    if otherwise is not None:
        with ir.InsertionPoint(otherwise):
            scf.YieldOp(totals)
    return list(branch.results)
