"""The table of what a recurrence becomes: loops over rows with the steps inside, or steps alone.

Before: `"ted.scan"(%init)`, a running sum of each row
After: what `{ted.form = {name = "rows", block = 8}}` says: eight rows at once, all steps of them

A recurrence that carries the attribute gets the row of that name, or is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ted.linalg.rolling_buffers import Beginning
from ted.linalg.scan_bodies import ScanBody
from ted.linalg.scan_rows import Rows, emit_rows, read_from_windows, rows_of
from ted.linalg.scans import StepsPlan, emit_planned, plan_steps
from ted.linalg.storage_folding import Window
from ted.mlir import ir
from ted.mlir.queries import replace_op
from ted.mlir.strategies import FORM, Choice, Declined, Plain, Strategy, choose
from ted.records import dataclass


@dataclass(eq=False)
class Site:
    """A recurrence, how many rows may share a loop on the target, whether steps may branch there,
    and its final histories.

    On memory `known` has that of tensors from outside.
    """

    op: ir.Operation
    block: int
    branches: bool
    results: list[ir.Value]
    steps: StepsPlan | None = None
    known: Mapping[ir.Value, ir.Value] = field(default_factory=dict)
    on_memory: bool = False
    inits: dict[int, Beginning] = field(default_factory=dict)

    def steps_of(self, op: ir.Operation) -> list[ir.Value]:
        """The final histories of a recurrence of some rows, step by step."""
        return emit_planned(plan_steps(op), self.branches, dict(self.known), self.on_memory)


def lower_scan(op: ir.Operation, block: int, branches: bool = False) -> Choice:
    """Replace a recurrence by what the table says.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    with ir.InsertionPoint(op), op.location:
        site, choice = plan_scan(op, block, branches)
        choice.row.emit(site, choice.plan)
    replace_op(op, site.results)
    return choice


def plan_scan(op: ir.Operation, block: int, branches: bool) -> tuple[Site, Choice]:
    """What a recurrence becomes; what reads it reads the slices that are kept from here on.

    Raises: ScheduleError for a `ted.form` that does not fit.
    """
    site = Site(op, block, branches, [])
    choice = choose(TABLE, site, FORM)
    if isinstance(choice.plan, Rows):
        read_from_windows(op, choice.plan.windows)
    else:
        site.steps = plan_steps(op)
    return site, choice


def windows_of(site: Site, choice: Choice) -> Mapping[int, Window]:
    """The slices that are kept of histories."""
    return choice.plan.windows if site.steps is None else site.steps.windows


def _rows(site: Site) -> Rows | Declined:
    body = ScanBody(site.op)
    return Declined("its steps take steps") if body.nested else rows_of(body, site.block)


def _emit_rows(site: Site, plan: Rows) -> None:
    known = site.known if site.on_memory else None
    lie_in = {k: one.window for k, one in site.inits.items() if one.window is not None}
    site.results = emit_rows(site.op, plan, site.steps_of, known, lie_in)


def _emit_steps(site: Site, _: Plain) -> None:
    assert site.steps is not None, "it is planned"
    known = dict(site.known)
    site.results = emit_planned(site.steps, site.branches, known, site.on_memory, site.inits)


def _check_rows(_: Site, plan: Rows) -> str | None:
    return None if plan.block > 0 else "a block has a row"


TABLE = (
    Strategy("rows", _rows, _emit_rows, check=_check_rows),
    Strategy("steps", lambda _: Plain(), _emit_steps),
)
