"""The table of which equations are one kernel: they share a loop over rows, or their points.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`, one kernel

Which groups there are is found by `shared_rows.py`, and of those that are left by
`common_points.py`, when all others have their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.linalg.column_sums import Into, group_of_sum
from ted.linalg.common_points import Points, common_points, why_no_map
from ted.linalg.equation_groups import (
    SCAN,
    Candidates,
    EquationGroup,
)
from ted.linalg.kernels import Kernel, inside_of
from ted.linalg.padded_kernels import Blocks, Padded, padded_blocks, wrong_size
from ted.linalg.rounded_totals import TotalBlocks, contractions_of, total_blocks
from ted.linalg.shared_rows import ALONE, ROWS, Rows, shared_rows
from ted.linalg.subdomain import Subdomain
from ted.machine import Cpu
from ted.mlir import ir
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

COLUMNS, PADDED, TOTALS = "column_sums", "padded_blocks", "totals_in_blocks"
COMMON_POINTS = "common_points"


@dataclass(frozen=True, eq=False)
class Site:
    """An equation with its place in a group, or the reason why it has none."""

    op: ir.Operation
    found: Rows | Declined
    table: Candidates
    groups: Mapping[int, EquationGroup]

    @property
    def subdomain(self) -> Subdomain:
        """The equation without dims of one point."""
        return self.table.equations[self.op]


@dataclass(frozen=True)
class Decisions:
    """What becomes of the equations of a block, in order, and the kernels that they are.

    Those that are `padded` read all of a factor with zeros around it.
    """

    choices: list[tuple[ir.Operation, Choice]]
    kernels: list[Kernel]
    padded: Mapping[ir.Operation, Padded]


def decide(block: ir.Block, cpu: Cpu, gpu: bool = False) -> Decisions:
    """The kernels of a block; each recurrence is one by itself. `gpu`: as one computes them.

    Raises: ScheduleError for a `ted.group` that does not fit.
    """
    table = Candidates(block, cpu, gpu)
    check_is_seen(block.owner.operation, table.equations, GROUP)
    groups, places = shared_rows(table)
    pairs = zip(table.equations, places, strict=True)
    sites = [Site(op, found, table, groups) for op, found in pairs]
    rows = GPU_TABLE if gpu else TABLE
    choices = [(site.op, choose(rows, site, GROUP)) for site in sites]
    alone = {op for op, choice in choices if choice.row.name == ALONE}
    padded = {op: found for op, found in table.padded.items() if op in alone}
    kernels = _kernels(table, choices, groups)
    return Decisions(choices, kernels, padded) if gpu else _joined(choices, kernels, padded, table)


def _joined(
    choices: Sequence[tuple[ir.Operation, Choice]], kernels: Sequence[Kernel],
    padded: Mapping[ir.Operation, Padded], table: Candidates,
) -> Decisions:  # fmt: skip
    """What is decided, with maps over the same points in one kernel."""
    maps: dict[ir.Operation, int | None] = {}
    for op, choice in choices:
        if choice.row == _COMMON_POINTS:
            maps[op] = choice.plan.group
        elif (COMMON_POINTS, _WAITS) in choice.declined:
            maps[op] = None
    joined, found = common_points(kernels, table, maps)
    return Decisions([(op, _with_points(c, found.get(op))) for op, c in choices], joined, padded)


def _with_points(choice: Choice, found: Points | str | None) -> Choice:
    if found is None:
        return choice
    others = tuple(one for one in choice.declined if one[0] != COMMON_POINTS)
    if isinstance(found, Points):
        return Choice(_COMMON_POINTS, found, others)
    return replace(choice, declined=(*others, (COMMON_POINTS, found)))


def note(decisions: Decisions) -> None:
    """Write what is decided at the equations."""
    for op, choice in decisions.choices:
        annotate(op, choice, GROUP)


def erase(decisions: Decisions) -> None:
    """Take the attributes away: they are obeyed."""
    for op, _ in decisions.choices:
        forget(op, GROUP)


def explained_kernels(decisions: Decisions) -> str:
    """What shares a loop over rows, and why an equation does not."""
    return "\n".join(line for op, choice in decisions.choices for line in described(op, choice))


def _kernels(
    table: Candidates,
    choices: list[tuple[ir.Operation, Choice]],
    groups: Mapping[int, EquationGroup],
) -> list[Kernel]:
    sums: dict[int, list[ir.Operation]] = {}
    for op, choice in choices:
        if isinstance(choice.plan, Into):
            sums.setdefault(choice.plan.group, []).append(op)
    found = [_of_group(group, sums.get(n, []), table) for n, group in groups.items()]
    for op, choice in choices:
        extents = table.equations[op].extents
        if choice.row.name == PADDED:
            found.append(Kernel((op,), (choice.plan.size,), extents[:1]))
        elif choice.row.name == TOTALS:
            members = sorted([op, *contractions_of(op, table)], key=table.position.__getitem__)
            inside = inside_of(members, table)
            found.append(Kernel(tuple(members), choice.plan.sizes, extents, inside))
    with_others = {op for kernel in found for op in (*kernel.members, *kernel.totals)}
    found += [Kernel((op,)) for op, _ in choices if op not in with_others]
    found += [Kernel((op,)) for op in table.position if op.name == SCAN]
    return sorted(found, key=lambda kernel: table.position[kernel.members[-1]])


def _of_group(group: EquationGroup, sums: list[ir.Operation], table: Candidates) -> Kernel:
    members = sorted(group.members, key=table.position.__getitem__)
    extents = table.equations[members[-1]].extents[: group.depth]
    # Of more dims than the first a sum reads all that a turn of it has made.
    inside = inside_of(members, table, sums if group.depth == 1 else [])
    return Kernel(tuple(members), (1,) * group.depth, extents, inside, tuple(sums))


def _padded(site: Site) -> Blocks | Declined:
    return padded_blocks(site.table.padded, site.op, site.table.cpu)


def _wrong_size(site: Site, blocks: Blocks) -> str | None:
    return wrong_size(site.table.padded, site.op, blocks)


def _column_sums(site: Site) -> Into | Declined:
    return group_of_sum(site.op, site.table, site.groups)


def _wrong_group(*_: object) -> str:
    return "its group follows from what it reads"


def _totals(site: Site) -> TotalBlocks | Declined:
    return total_blocks(site.op, site.table)


def _points(site: Site) -> Points | Declined:
    """What asks for a group has its number; the others wait until all kernels are known."""
    why = why_no_map(site.op, site.table)
    return Declined(why) if why is not None else Declined(_WAITS, Points(0))


_WAITS = "other kernels have their places first"
_COMMON_POINTS = Strategy(COMMON_POINTS, _points, lambda *_: None)
TABLE = (
    Strategy(ROWS, lambda site: site.found, lambda *_: None),
    Strategy(COLUMNS, _column_sums, lambda *_: None, check=_wrong_group),
    Strategy(PADDED, _padded, lambda *_: None, check=_wrong_size),
    Strategy(
        TOTALS,
        _totals,
        lambda *_: None,
        check=lambda *_: "its numbers follow from the operands",
    ),
    _COMMON_POINTS,
    Strategy(ALONE, lambda _: Plain(), lambda *_: None),
)
# Blocks and sums over rows are what caches of a CPU want.
GPU_TABLE = tuple(row for row in TABLE if row.name in (ROWS, ALONE))
