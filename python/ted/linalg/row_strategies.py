"""The table of what operations on tensors do about rows: share a loop over them, or stay alone.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`

Which groups there are is found by `shared_rows.py`.
"""

from __future__ import annotations

from dataclasses import field

from ted.linalg.row_groups import (
    FILL,
    GENERIC,
    Candidates,
    RowGroup,
    candidates,
    grow,
    is_map,
    why_no_root,
)
from ted.linalg.shared_rows import ALONE, ROWS, Growth, Rows, shared_rows
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.queries import functions
from ted.mlir.strategies import (
    GROUP,
    Choice,
    Declined,
    Plain,
    Strategy,
    annotate,
    check_is_seen,
    choose,
    described,
    forget,
)
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class Site:
    """An operation with its place in a group, or the reason why it has none."""

    op: ir.Operation
    found: Rows | Declined


@dataclass(frozen=True)
class Decisions:
    """What becomes of the operations of a module, in order, and the groups among them."""

    choices: list[tuple[ir.Operation, Choice]] = field(default_factory=list)
    groups: list[RowGroup] = field(default_factory=list)


def decide(module: ir.Module, cpu: Cpu) -> Decisions:
    """The groups of every function: none that only compute at the same points.

    Raises: ScheduleError for a `ted.group` that does not fit.
    """
    found = Decisions()
    for function in functions(module):
        _decide_block(candidates(function.entry_block, cpu), found)
    check_is_seen(module.operation, {op for op, _ in found.choices}, GROUP)
    return found


def note(decisions: Decisions) -> None:
    """Write what is decided at the operations."""
    for op, choice in decisions.choices:
        annotate(op, choice, GROUP)


def erase(decisions: Decisions) -> None:
    """Take the attributes away: they are obeyed."""
    for op, _ in decisions.choices:
        forget(op, GROUP)


def explained_groups(decisions: Decisions) -> str:
    """What shares a loop over rows, and why an operation does not."""
    computing = [(op, choice) for op, choice in decisions.choices if op.name != FILL]
    return "\n".join(line for op, choice in computing for line in described(op, choice))


def _decide_block(table: Candidates, found: Decisions) -> None:
    operations = [op for op in table.operations if op.name in (FILL, GENERIC) and op.results]
    groups, places = shared_rows(operations, _growth(table))
    for op, place in zip(operations, places, strict=True):
        found.choices.append((op, choose(TABLE, Site(op, place), GROUP)))
    found.groups.extend(groups)


def _growth(table: Candidates) -> Growth[RowGroup]:
    return Growth(
        table.position, table.taken, table.apart, "operations",
        why_no_root=lambda op: why_no_root(op, table.cpu),
        grow=lambda op, among: grow(op, table, among),
        is_single=lambda group: sum(m.name != FILL for m in group.members) < 2,
        why_no_group=lambda g: "what shares its rows shares its points" if is_map(g) else None,
    )  # fmt: skip


TABLE = (
    Strategy(ROWS, lambda site: site.found, lambda *_: None),
    Strategy(ALONE, lambda _: Plain(), lambda *_: None),
)
