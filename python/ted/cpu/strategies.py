"""The table of what becomes of linalg on memrefs: one row for each way to make loops of it.

Rows stand in the order in which they are tried; the first that has a plan is taken. The last row
leaves an operation to `convert-linalg-to-loops` and the loop vectoriser of LLVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ted.cpu.blocked_sums import BlockedSums, emit_blocks, plan_blocks
from ted.cpu.contraction_plan import Plan
from ted.cpu.plans import plan_of, registers_used
from ted.cpu.register_tiles import multiply_in_tiles
from ted.cpu.transposed_tiles import plan_tiles, read_in_tiles
from ted.forking import cached_property
from ted.linalg.contractions import MARK, LinalgContraction, recognise
from ted.linalg.strided_contractions import Dim
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.matrix_registers import REGISTERS
from ted.mlir.strategies import (
    ATTRIBUTE,
    Decision,
    Declined,
    Plain,
    Strategy,
    check_is_seen,
    choose,
    described,
    forget,
)
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class Site:
    """An operation, and the CPU that it is for."""

    op: ir.Operation
    cpu: Cpu

    @cached_property
    def contraction(self) -> tuple[LinalgContraction, tuple[Dim, ...], tuple[int, ...]] | None:
        """A claimed contraction, its dims and the offsets of its operands."""
        found = recognise(self.op) if MARK in self.op.attributes else None
        strided = None if found is None else found.strided()
        return None if found is None or strided is None else (found, *strided)


def decide(module: ir.Module, cpu: Cpu) -> Iterator[Decision]:
    """The choice for every operation of linalg on memrefs, in the order of the text.

    Raises: ScheduleError for a `ted.strategy` that does not fit.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg.") and any(
            isinstance(v.type, ir.MemRefType) for v in op.operands
        ):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    check_is_seen(module.operation, set(found), ATTRIBUTE)
    for op in found:
        site = Site(op, cpu)
        yield Decision(site, choose(TABLE, site))


def explained(module: ir.Module, cpu: Cpu) -> str:
    """The strategy of every operation, and why no other; nothing is built."""
    return "\n".join(
        line for d in decide(module, cpu) for line in described(d.site.op, d.choice)
    )  # fmt: skip


def build(decisions: list[Decision]) -> None:
    """Make the loops."""
    for decision in decisions:
        forget(decision.site.op)
    for site, choice in ((d.site, d.choice) for d in decisions if d.choice.row.name != LOOPS):
        with ir.InsertionPoint(site.op), site.op.location:
            choice.row.emit(site, choice.plan)


def _register_tiles(site: Site) -> Any:
    if site.contraction is None:
        return Declined("no claimed contraction of strided memory")
    contraction, dims, _ = site.contraction
    plan = plan_of(contraction, dims, site.cpu)
    reason = "no column dim fills vectors, or too few rows pay for laying an operand out anew"
    return Declined(reason) if plan is None else plan


def _check_tiles(site: Site, plan: Plan) -> str | None:
    chosen = _register_tiles(site)
    rows, vectors = plan.tile_rows, plan.tile_vectors
    if replace(chosen, tile_rows=rows, tile_vectors=vectors) != plan:
        return "tile_rows and tile_vectors may be chosen, the rest follows from the operands"
    if not 1 <= rows <= plan.row_dim.extent or vectors < 1:
        return f"a tile has 1 to {plan.row_dim.extent} rows, and vectors"
    registers = site.cpu.registers if plan.depth is None else REGISTERS
    if registers_used(plan) > registers:
        return f"a tile fits into {registers} registers"
    if not plan.fills_row_blocks:
        return f"{plan.row_blocks} blocks have tiles, as many each"
    return None


def _emit_register_tiles(site: Site, plan: Plan) -> None:
    assert site.contraction is not None, "the row matched"
    contraction, _, offsets = site.contraction
    multiply_in_tiles(site.op, contraction, plan, offsets)


def _check_chains(_: Site, plan: BlockedSums) -> str | None:
    return None if plan.most > 1 else "a total takes two terms or more"


def _emit_blocked_sums(site: Site, plan: BlockedSums) -> None:
    emit_blocks(site.op, plan.most, site.cpu)


def _transposed_tiles(site: Site) -> Any:
    found = plan_tiles(site.op, site.cpu)
    return found or Declined("no element-wise read or write across rows that fills tiles")


def _fixed(*_: Any) -> str:
    return "its numbers follow from the operands"


LOOPS = "loops"
TABLE = (
    Strategy("register_tiles", _register_tiles, _emit_register_tiles, check=_check_tiles),
    Strategy("blocked_sums", lambda s: plan_blocks(s.op, s.cpu), _emit_blocked_sums,
             check=_check_chains),
    Strategy("transposed_tiles", _transposed_tiles, lambda s, p: read_in_tiles(s.op, p),
             check=_fixed),
    Strategy(LOOPS, lambda _: Plain(), lambda *_: None),
)  # fmt: skip
