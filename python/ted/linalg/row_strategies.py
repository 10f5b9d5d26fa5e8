"""The table of what operations on tensors do about rows: share a loop over them, or stay alone.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`

Members of one group have its number. An operation that carries the attribute before is put into
that group, or refused with the reason; what asks for nothing joins the group of the last
operation that it may join.
"""

from __future__ import annotations

from dataclasses import field
from itertools import count
from typing import Any

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
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.queries import defining, functions
from ted.mlir.strategies import (
    GROUP,
    Choice,
    Declined,
    Plain,
    Strategy,
    annotate,
    asked_for,
    check_is_seen,
    choose,
    described,
    forget,
    refused,
)
from ted.records import dataclass

ROWS, ALONE = "common_rows", "alone"


@dataclass(frozen=True)
class Rows:
    """Member of a group, whose loop runs over `depth` leading dims."""

    group: int
    depth: int


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
    wishes = {op: wish for op in operations if (wish := asked_for(op, GROUP)) is not None}
    table.taken.update(wishes)
    groups = _asked_groups(wishes, table)
    reasons = dict.fromkeys(wishes, "group = NUMBER says which operations share the loop")
    numbers = (k for k in count(1) if k not in groups)
    for op in reversed(operations):
        if op in table.taken:
            continue
        why = why_no_root(op, table.cpu)
        if why is not None:
            reasons[op] = table.apart.get(op, why)
            continue
        group = grow(op, table)
        if _is_single(group):
            reasons.update((m, _why_alone(m, table)) for m in group.members)
        elif is_map(group):
            reasons.update(dict.fromkeys(group.members, "what shares its rows shares its points"))
        else:
            groups[next(numbers)] = group
    places = {op: Rows(k, group.depth) for k, group in groups.items() for op in group.members}
    for op in operations:
        site = Site(op, places[op] if op in places else Declined(reasons[op]))
        found.choices.append((op, choose(TABLE, site, GROUP)))
    found.groups.extend(groups.values())


def _asked_groups(
    wishes: dict[ir.Operation, dict[str, Any]], table: Candidates
) -> dict[int, RowGroup]:
    """The groups that attributes ask for, by number; what has a wrong form is left to `choose`."""
    wanted: dict[int, dict[ir.Operation, Any]] = {}
    for op, wish in wishes.items():
        if wish["name"] == ROWS and type(wish.get("group")) is int:
            wanted.setdefault(wish["group"], {})[op] = wish.get("depth")
    # The last one first, as without attributes.
    last_first = sorted(
        wanted, key=lambda n: max(table.position[op] for op in wanted[n]), reverse=True
    )
    return {number: _asked_group(wanted[number], table) for number in last_first}


def _asked_group(depths: dict[ir.Operation, Any], table: Candidates) -> RowGroup:
    """The operations, whose depths are asked for or None, with the fills that they start from.

    Raises: ScheduleError for what cannot share the loop.
    """
    root = list(depths)[-1]
    why = why_no_root(root, table.cpu)
    if why is not None:
        raise refused(root, f"the last member of a group has rows, got: {why}", GROUP)
    group = grow(root, table, depths)
    for op in (op for op in depths if op not in group.members):
        why = table.apart.get(op, "no later member uses it")
        raise refused(op, f"members of a group share rows, got: {why}", GROUP)
    if _is_single(group):
        raise refused(root, "a group has two operations that compute, got one", GROUP)
    given = {depth for depth in depths.values() if type(depth) is int}
    if len(given) > 1 or not given <= set(range(1, group.depth + 1)):
        texts = ", ".join(map(str, sorted(given)))
        raise refused(root, f"a group has one depth of 1 to {group.depth}, got {texts}", GROUP)
    group.depth = min(given, default=group.depth)
    return group


def _is_single(group: RowGroup) -> bool:
    return sum(m.name != FILL for m in group.members) < 2


def _why_alone(op: ir.Operation, table: Candidates) -> str:
    """Why an operation joined no group, or nothing that it takes in has joined it."""
    owners = [defining(value) for value in op.operands]
    apart = [table.apart[o] for o in owners if o is not None and o in table.apart]
    alone = f"what it takes in stays apart: {apart[0]}" if apart else "nothing shares its rows"
    return table.apart.get(op, alone)


TABLE = (
    Strategy(ROWS, lambda site: site.found, lambda *_: None),
    Strategy(ALONE, lambda _: Plain(), lambda *_: None),
)
