"""The table of what a recurrence becomes: loops over rows with the steps inside, or steps alone.

Before: `"ted.scan"(%init)`, a running sum of each row
After: what `{ted.form = {name = "rows", block = 8}}` says: eight rows at once, all steps of them

A recurrence that carries the attribute gets the row of that name, or is refused with the reason.
"""

from __future__ import annotations

import functools

from ted.linalg.scan_bodies import ScanBody
from ted.linalg.scan_rows import Rows, emit_rows, rows_of
from ted.linalg.scans import emit_steps
from ted.mlir import ir
from ted.mlir.queries import replace_op
from ted.mlir.strategies import FORM, Choice, Declined, Plain, Strategy, choose
from ted.records import dataclass


@dataclass(eq=False)
class Site:
    """A recurrence, how many rows may share a loop on the target, whether steps may branch there,
    and its final histories."""

    op: ir.Operation
    block: int
    branches: bool
    results: list[ir.Value]


def lower_scan(op: ir.Operation, block: int, branches: bool = False) -> Choice:
    """Replace a recurrence by what the table says.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    site = Site(op, block, branches, [])
    with ir.InsertionPoint(op), op.location:
        choice = choose(TABLE, site, FORM)
        choice.row.emit(site, choice.plan)
    replace_op(op, site.results)
    return choice


def _rows(site: Site) -> Rows | Declined:
    body = ScanBody(site.op)
    return Declined("its steps take steps") if body.nested else rows_of(body, site.block)


def _emit_rows(site: Site, plan: Rows) -> None:
    site.results = emit_rows(site.op, plan, functools.partial(_replace_by_steps, site.branches))


def _emit_steps(site: Site, _: Plain) -> None:
    site.results = emit_steps(site.op, site.branches)


def _replace_by_steps(branches: bool, op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        replace_op(op, emit_steps(op, branches))


def _check_rows(_: Site, plan: Rows) -> str | None:
    return None if plan.block > 0 else "a block has a row"


TABLE = (
    Strategy("rows", _rows, _emit_rows, check=_check_rows),
    Strategy("steps", lambda _: Plain(), _emit_steps),
)
