"""`ted-block-rows`: loops over rows that add to totals -> loops over blocks with their own.

Before: `scf.for %i = 0 to 4096 { ...; %db += row }`
After: `scf.for %u = 0 to 64 { %mine = 0; scf.for %i = 64 u to 64 u + 64 { ...; %mine += row } }
{ted.parallel}`, then `%db` plus the totals of the blocks in their order

Iterations that add to one total are not apart, blocks with totals of their own are; and a total of
few terms is rounded less often (`blocked_sums`). Such loops, and what adds to a total in them, say
so (`ted.total`), as `ted-emit-kernels` made them.
"""

from __future__ import annotations

from math import ceil

from ted.cpu.blocked_sums import MOST_TERMS
from ted.cpu.partial_totals import join_totals, partial_totals, total_of_unit
from ted.cpu.units import POINTS_PER_PARTIAL, unit_size, units_of
from ted.cpu.work import cycles, trips
from ted.linalg.loops import PARALLEL, TOTAL
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import ir, scf
from ted.mlir.building import bounds_of_part, constant
from ted.mlir.combining import Combiner, combiners
from ted.mlir.filling import build_fill
from ted.mlir.generic import generic_of
from ted.mlir.queries import defining, functions, is_inside, terminator
from ted.records import dataclass

Total = tuple[ir.Operation, ir.Value, Combiner]


@dataclass(frozen=True)
class TedBlockRows:
    """Block each loop that would be parallel but for totals; where that does not pay it is serial.

    `cpu` is a row of `ted.machine.CPUS`; `grain` stands for its `grain_cycles`.
    """

    cpu: str = DEFAULT
    grain: int = 0

    def run(self, module: ir.Module) -> None:
        """Rewrite the top level of every function."""
        cpu = named_cpu(self.cpu).with_grain(self.grain)
        with module.context:
            for function in functions(module):
                for op in [o.operation for o in function.entry_block.operations]:
                    if TOTAL in op.attributes:
                        _block_rows(op, cpu)


def _block_rows(loop: ir.Operation, cpu: Cpu) -> None:
    sums = [
        op
        for view in loop.regions[0].blocks[0].operations
        if TOTAL in (op := view.operation).attributes
    ]
    count = ir.IntegerAttr(loop.attributes[TOTAL]).value
    for op in (loop, *sums):
        del op.attributes[TOTAL]
    totals = [total for op in sums if (total := _total(op, loop)) is not None]
    rows = trips(loop)
    size = _rows_of_block(loop, rows, cpu)
    if size and len(totals) == len(sums) == count:
        with ir.InsertionPoint(loop), loop.location:
            _block(loop, totals, rows, size)


def _total(op: ir.Operation, loop: ir.Operation) -> Total | None:
    """What an operation adds to, and how; None where blocks could not have one of their own."""
    generic = generic_of(op)
    found = None if generic is None else combiners(generic)
    if generic is None or found is None or len(generic.outputs) > 1:
        return None
    (memory,) = generic.outputs
    return (op, memory, found[0]) if _is_outside(memory, loop) else None


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
