"""Groups of what shares a loop over rows: first those that attributes ask for, then the others.

Members of one group have its number. What carries `ted.group` before is put into that group, or
refused with the reason; what asks for nothing joins the group of the last one that it may join.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.strategies import GROUP, Declined, asked_for, refused
from ted.records import dataclass

ROWS, ALONE = "common_rows", "alone"


class Group(Protocol):
    """Members of one loop, whose rows are the `depth` leading dims."""

    members: list[ir.Operation]
    depth: int


G = TypeVar("G", bound=Group)


@dataclass(frozen=True)
class Rows:
    """Member of a group, whose loop runs over `depth` leading dims."""

    group: int
    depth: int


@dataclass(frozen=True, eq=False)
class Growth(Generic[G]):
    """How groups grow in a block; `taken` and `apart` are told by `grow`."""

    position: Mapping[ir.Operation, int]
    taken: set[ir.Operation]
    apart: Mapping[ir.Operation, str]  # why what a group takes in did not join it
    kind: str  # of the members, in texts
    why_no_root: Callable[[ir.Operation], str | None]
    grow: Callable[[ir.Operation, Collection[ir.Operation] | None], G]
    is_single: Callable[[G], bool]
    why_no_group: Callable[[G], str | None]


def shared_rows(
    operations: Sequence[ir.Operation], growth: Growth[G]
) -> tuple[list[G], list[Rows | Declined]]:
    """The groups of operations, and for each of these its place, or why it has none.

    Raises: ScheduleError for a `ted.group` that does not fit.
    """
    wishes = {op: wish for op in operations if (wish := asked_for(op, GROUP)) is not None}
    growth.taken.update(wishes)
    groups = _asked_groups(wishes, growth)
    reasons = dict.fromkeys(wishes, f"group = NUMBER says which {growth.kind} share the loop")
    numbers = (k for k in count(1) if k not in groups)
    for op in reversed(operations):
        if op in growth.taken:
            continue
        why = growth.why_no_root(op)
        if why is not None:
            reasons[op] = growth.apart.get(op, why)
            continue
        group = growth.grow(op, None)
        if growth.is_single(group):
            reasons.update((m, _why_alone(m, growth)) for m in group.members)
        elif (why := growth.why_no_group(group)) is not None:
            reasons.update(dict.fromkeys(group.members, why))
        else:
            groups[next(numbers)] = group
    places = {op: Rows(k, group.depth) for k, group in groups.items() for op in group.members}
    found = [places[op] if op in places else Declined(reasons[op]) for op in operations]
    return list(groups.values()), found


def _asked_groups(wishes: dict[ir.Operation, dict[str, Any]], growth: Growth[G]) -> dict[int, G]:
    """The groups that attributes ask for, by number; what has a wrong form is left to `choose`."""
    wanted: dict[int, dict[ir.Operation, Any]] = {}
    for op, wish in wishes.items():
        if wish["name"] == ROWS and type(wish.get("group")) is int:
            wanted.setdefault(wish["group"], {})[op] = wish.get("depth")
    # The last one first, as without attributes.
    last_first = sorted(
        wanted, key=lambda n: max(growth.position[op] for op in wanted[n]), reverse=True
    )
    return {number: _asked_group(wanted[number], growth) for number in last_first}


def _asked_group(depths: dict[ir.Operation, Any], growth: Growth[G]) -> G:
    """The members, whose depths are asked for or None.

    Raises: ScheduleError for what cannot share the loop.
    """
    root = list(depths)[-1]
    why = growth.why_no_root(root)
    if why is not None:
        raise refused(root, f"the last member of a group has rows, got: {why}", GROUP)
    group = growth.grow(root, depths)
    for op in (op for op in depths if op not in group.members):
        why = growth.apart.get(op, "no later member uses it")
        raise refused(op, f"members of a group share rows, got: {why}", GROUP)
    if growth.is_single(group):
        raise refused(root, "a group has two operations that compute, got one", GROUP)
    given = {depth for depth in depths.values() if type(depth) is int}
    if len(given) > 1 or not given <= set(range(1, group.depth + 1)):
        texts = ", ".join(map(str, sorted(given)))
        raise refused(root, f"a group has one depth of 1 to {group.depth}, got {texts}", GROUP)
    group.depth = min(given, default=group.depth)
    return group


def _why_alone(op: ir.Operation, growth: Growth[G]) -> str:
    """Why what could be one joined no group, or nothing that it takes in has joined it."""
    owners = [defining(value) for value in op.operands]
    apart = [growth.apart[o] for o in owners if o is not None and o in growth.apart]
    alone = f"what it takes in stays apart: {apart[0]}" if apart else "nothing shares its rows"
    return growth.apart.get(op, alone)
