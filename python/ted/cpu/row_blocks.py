"""Loops over rows that add to totals -> loops over blocks of rows, each with totals of its own.

Before: `scf.for %i = 0 to 4096 { ...; %db += row }`
After: `scf.for %u = 0 to 64 { %mine = 0; scf.for %i = 64 u to 64 u + 64 { ...; %mine += row } }
{ted.parallel}`, then `%db` plus the totals of the blocks in their order

Iterations that add to one total are not apart, blocks with totals of their own are; and a total of
few terms is rounded less often (`blocked_sums`).
"""

from __future__ import annotations

from math import ceil

from ted.cpu.blocked_sums import MOST_TERMS
from ted.cpu.partial_totals import join_totals, partial_totals, total_of_unit
from ted.cpu.units import POINTS_PER_PARTIAL, unit_size, units_of
from ted.cpu.work import cycles, trips
from ted.linalg.column_sums import is_column_sum
from ted.linalg.loops import PARALLEL
from ted.machine import Cpu
from ted.mlir import ir, scf
from ted.mlir.building import bounds_of_part, constant
from ted.mlir.combining import Combiner, combiners
from ted.mlir.filling import build_fill
from ted.mlir.generic import Generic
from ted.mlir.queries import defining, is_inside, terminator

Total = tuple[ir.Operation, ir.Value, Combiner]


def block_rows(loop: ir.Operation, cpu: Cpu) -> None:
    """Block a loop over rows that adds to totals; where that does not pay it is no longer apart."""
    sums = [
        op
        for op in (o.operation for o in loop.regions[0].blocks[0].operations)
        if is_column_sum(op) and any(_is_outside(v, loop) for v in Generic(op).outputs)
    ]
    if not sums:
        return
    rows = trips(loop)
    joined = [combiners(Generic(op)) for op in sums]
    del loop.attributes[PARALLEL]
    size = _rows_of_block(loop, rows, cpu)
    if not size or None in joined or any(len(Generic(op).outputs) > 1 for op in sums):
        return
    totals = [
        (op, Generic(op).outputs[0], found[0])
        for op, found in zip(sums, joined, strict=True)
        if found is not None
    ]
    with ir.InsertionPoint(loop), loop.location:
        _block(loop, totals, rows, size)


def _rows_of_block(loop: ir.Operation, rows: int, cpu: Cpu) -> int:
    """For several units of work, and for totals of few terms; 0 where there is one block."""
    units = min(units_of(cycles(loop, cpu), cpu), rows // POINTS_PER_PARTIAL)
    wanted = max(units, ceil(rows / MOST_TERMS))
    return unit_size(rows, 1, wanted) if wanted >= 2 else 0


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    op = defining(value)
    return op is None or not is_inside(op, loop)


def _block(loop: ir.Operation, totals: list[Total], rows: int, size: int) -> None:
    count = ceil(rows / size)
    partial = [partial_totals(total, count) for _, total, _ in totals]
    blocks = scf.ForOp(constant(0), constant(count), constant(1))
    blocks.operation.attributes[PARALLEL] = ir.UnitAttr.get()
    with ir.InsertionPoint(blocks.body):
        first, last = bounds_of_part(blocks.induction_variable, size, rows)
        for memory, (op, _, combiner) in zip(partial, totals, strict=True):
            mine = total_of_unit(memory, blocks.induction_variable)
            build_fill(combiner.identity(), mine)
            op.operands[len(op.operands) - 1] = mine
        loop.operands[0], loop.operands[1] = constant(first), constant(last)
        scf.YieldOp([])
    loop.move_before(terminator(blocks.body))
    with ir.InsertionPoint.after(blocks.operation):
        for memory, (_, total, combiner) in zip(partial, totals, strict=True):
            join_totals(memory, total, combiner)
