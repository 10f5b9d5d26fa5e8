"""The table of how threads share an operation, and what it decides about a function.

Before: the loops of a kernel
After: for each outermost one that is parallel a row, its plan, and why not another
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.cpu.repeated import repeated
from ted.cpu.ted_outline_kernels import Kernel
from ted.cpu.unit_loops import emit_columns, emit_iterations, emit_partial_sums, emit_slices
from ted.cpu.units import (
    Outline,
    Site,
    check_columns,
    check_iterations,
    check_partial_sums,
    check_slices,
    columns,
    iterations,
    nested_loop,
    partial_sums,
    slices,
)
from ted.linalg.loops import PARALLEL, PARALLEL_INSIDE
from ted.machine import Cpu
from ted.mlir import func, ir
from ted.mlir.generic import Generic
from ted.mlir.queries import functions
from ted.mlir.strategies import Decision, Plain, Strategy, choose, described

THREADS = "ted.threads"
SLICES, PARTIAL_SUMS, ITERATIONS = "slices", "partial_sums", "iterations"
COLUMNS, SERIAL = "columns", "serial"
TABLE = (
    Strategy(SLICES, slices, emit_slices, check=check_slices),
    Strategy(PARTIAL_SUMS, partial_sums, emit_partial_sums, check=check_partial_sums),
    Strategy(ITERATIONS, iterations, emit_iterations, check=check_iterations),
    Strategy(COLUMNS, columns, emit_columns, check=check_columns),
    Strategy(SERIAL, lambda _: Plain(), lambda *_: None),
)


def decide(
    function: func.FuncOp, cpu: Cpu, outline: Outline = lambda *_: None
) -> Iterator[Decision]:
    """The choice for what is outermost and may be parallel, in the order of the text.

    `outline` makes functions of a loop over so many units, once there is one.
    Raises: ScheduleError for a `ted.threads` that does not fit.
    """
    for site in _sites(function.entry_block, cpu, outline):
        yield Decision(site, choose(TABLE, site, THREADS))


def explained(module: ir.Module, cpu: Cpu) -> str:
    """What threads share, and why not otherwise; nothing is built."""
    return "\n".join(
        line
        for function in functions(module)
        for d in decide(function, cpu)
        for line in described(d.site.op, d.choice)
    )


def _sites(block: ir.Block, cpu: Cpu, outline: Outline) -> Iterator[Site]:
    """Outermost operations that are cut or stay whole; loops over time are looked into."""
    fills: list[ir.Operation] = []
    for op in [o.operation for o in block.operations]:
        if op.name == "linalg.fill":
            fills.append(op)
            continue
        outputs = Generic(op).outputs if op.name == "linalg.generic" else []
        mine = tuple(f for f in fills if f.operands[1] in outputs)
        whole = [Site(f, (), cpu, outline) for f in fills if f not in mine]
        fills, once = [], None
        if _is_site(op):
            whole.append(Site(op, mine, cpu, outline))
        elif (once := repeated(op)) is not None:
            whole.append(Site(once, (), cpu, outline, op))
        yield from (site for site in whole if Kernel([*site.fills, site.outer]).is_callable)
        if not _is_site(op) and once is None and op.name in ("scf.for", "scf.if"):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _sites(inner, cpu, outline)


def _is_site(op: ir.Operation) -> bool:
    if op.name != "scf.for":
        return op.name == "linalg.generic"
    around = PARALLEL_INSIDE in op.attributes and nested_loop(op) is not None
    return around or PARALLEL in op.attributes
