"""Groups of equations that share a loop over rows: first those that are asked for, then the others.

Members of one group have its number. What carries `ted.group` before is put into that group, or
refused with the reason; what asks for nothing joins the group of the last one that it may join.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from ted.linalg.common_points import why_no_map
from ted.linalg.equation_groups import (
    Candidates,
    EquationGroup,
    grow,
    is_map,
    is_single,
    why_no_root,
)
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.strategies import GROUP, Declined, asked_for, refused
from ted.records import dataclass

ROWS, ALONE = "common_rows", "alone"


@dataclass(frozen=True)
class Rows:
    """Member of a group, whose loop runs over `depth` leading dims."""

    group: int
    depth: int


def shared_rows(
    table: Candidates,
) -> tuple[dict[int, EquationGroup], list[Rows | Declined]]:  # fmt: skip
    """The groups of a block by number, and for each of its equations its place, or why it has none.

    Raises: ScheduleError for a `ted.group` that does not fit.
    """
    equations = list(table.equations)
    wishes = {op: wish for op in equations if (wish := asked_for(op, GROUP)) is not None}
    table.taken.update(wishes)
    groups = _asked_groups(wishes, table)
    reasons = dict.fromkeys(wishes, "group = NUMBER says which equations share the loop")
    numbers = (k for k in count(1) if k not in groups)
    for op in reversed(equations):
        if op in table.taken:
            continue
        why = why_no_root(op, table)
        if why is not None:
            reasons[op] = table.apart.get(op, why)
            continue
        group = grow(op, table)
        if is_single(group, table):
            reasons.update((m, _why_alone(m, table)) for m in group.members)
        elif is_map(group, table) and (table.gpu or _is_of_points(group, table)):
            reasons.update(dict.fromkeys(group.members, "what shares its rows shares its points"))
        else:
            groups[next(numbers)] = group
    places = {op: Rows(k, group.depth) for k, group in groups.items() for op in group.members}
    found = [places[op] if op in places else Declined(reasons[op]) for op in equations]
    return groups, found


def _is_of_points(group: EquationGroup, table: Candidates) -> bool:
    """Whether a kernel may compute all members at each of their points."""
    return all(why_no_map(op, table) is None for op in group.members)


def _asked_groups(
    wishes: dict[ir.Operation, dict[str, Any]], table: Candidates
) -> dict[int, EquationGroup]:
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


def _asked_group(depths: dict[ir.Operation, Any], table: Candidates) -> EquationGroup:
    """The members, whose depths are asked for or None.

    Raises: ScheduleError for what cannot share the loop.
    """
    root = list(depths)[-1]
    why = why_no_root(root, table)
    if why is not None:
        raise refused(root, f"the last member of a group has rows, got: {why}", GROUP)
    group = grow(root, table, depths)
    for op in (op for op in depths if op not in group.members):
        why = table.apart.get(op, "no later member uses it")
        raise refused(op, f"members of a group share rows, got: {why}", GROUP)
    if is_single(group, table):
        raise refused(root, "a group has two operations that compute, got one", GROUP)
    given = {depth for depth in depths.values() if type(depth) is int}
    if len(given) > 1 or not given <= set(range(1, group.depth + 1)):
        texts = ", ".join(map(str, sorted(given)))
        raise refused(root, f"a group has one depth of 1 to {group.depth}, got {texts}", GROUP)
    group.depth = min(given, default=group.depth)
    return group


def _why_alone(op: ir.Operation, table: Candidates) -> str:
    """Why what could be one joined no group, or nothing that it takes in has joined it."""
    owners = [defining(value) for value in op.operands]
    apart = [table.apart[o] for o in owners if o is not None and o in table.apart]
    alone = f"what it takes in stays apart: {apart[0]}" if apart else "nothing shares its rows"
    return table.apart.get(op, alone)
