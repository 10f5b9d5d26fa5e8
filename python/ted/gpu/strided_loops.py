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
    accumulators = list(starts)
    if trips <= UNROLLED:
        for trip in range(trips):
            accumulators = body(plus(first, trip * step) if trip else first, accumulators)
    else:
        accumulators = carried_loop(
            0, trips, 1, accumulators,
            lambda trip, carried: body(plus(first, times(trip, step)), list(carried)),
        )  # fmt: skip
    if end % step == 0:
        return accumulators
    last = plus(first, trips * step) if trips else first
    branch = scf.IfOp(below(last, end), [t.type for t in accumulators], has_else=bool(accumulators))
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(body(last, accumulators))
    otherwise = branch.else_block
    if otherwise is not None:
        with ir.InsertionPoint(otherwise):
            scf.YieldOp(accumulators)
    return list(branch.results)
