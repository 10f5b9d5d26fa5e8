"""The table of what equations do about rows: share a loop over them, have one alone, or none.

Before: a row maximum and a division by it, each over the whole matrix
After: both with `ted.group = {name = "common_rows", group = 1, depth = 1}`, one kernel

Which groups there are is found by `shared_rows.py`.
"""

from __future__ import annotations

from dataclasses import field

from ted.linalg.equation_groups import (
    SCAN,
    Candidates,
    EquationGroup,
    init_of,
    short,
)
from ted.linalg.loop_order import loop_order
from ted.linalg.padded_kernels import Blocks, padded_blocks, wrong_size
from ted.linalg.rounded_totals import TotalBlocks, contractions_of, total_blocks
from ted.linalg.shared_rows import ALONE, ROWS, Rows, shared_rows
from ted.linalg.subdomain import Subdomain
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used
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


@dataclass(frozen=True)
class Kernel:
    """Equations in order, and the loops around them: over blocks of the leading dims of all.

    `blocks` has the points of a block in each such dim; one by itself has no loops. What is
    `inside` is read by members alone.
    """

    members: tuple[ir.Operation, ...]
    blocks: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    inside: tuple[ir.Value, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Site:
    """An equation with its place in a group, or the reason why it has none."""

    op: ir.Operation
    found: Rows | Declined
    table: Candidates

    @property
    def subdomain(self) -> Subdomain:
        """The equation without dims of one point."""
        return self.table.equations[self.op]


@dataclass(frozen=True)
class Decisions:
    """What becomes of the equations of a block, in order, and the kernels that they are."""

    choices: list[tuple[ir.Operation, Choice]]
    kernels: list[Kernel]
    sums: frozenset[ir.Operation]  # over rows, and nothing else


def decide(block: ir.Block, cpu: Cpu, gpu: bool = False) -> Decisions:
    """The kernels of a block; each recurrence is one by itself. `gpu`: as one computes them.

    Raises: ScheduleError for a `ted.group` that does not fit.
    """
    table = Candidates(block, cpu, gpu)
    check_is_seen(block.owner.operation, table.equations, GROUP)
    groups, places = shared_rows(table)
    sites = [Site(op, found, table) for op, found in zip(table.equations, places, strict=True)]
    rows = GPU_TABLE if gpu else TABLE
    choices = [(site.op, choose(rows, site, GROUP)) for site in sites]
    sums = frozenset(site.op for site in sites if _is_column_sum(site))
    return Decisions(choices, _kernels(table, choices, groups), sums)


def note(decisions: Decisions) -> None:
    """Write what is decided at the equations."""
    for op, choice in decisions.choices:
        annotate(op, choice, GROUP)


def erase(decisions: Decisions) -> None:
    """Take the attributes away: they are obeyed, but for sums that stay alone on memory, too."""
    for op, choice in decisions.choices:
        if choice.row.name != ALONE or op not in decisions.sums:
            forget(op, GROUP)


def explained_kernels(decisions: Decisions) -> str:
    """What shares a loop over rows, and why an equation does not."""
    return "\n".join(line for op, choice in decisions.choices for line in described(op, choice))


def _kernels(
    table: Candidates, choices: list[tuple[ir.Operation, Choice]], groups: list[EquationGroup]
) -> list[Kernel]:
    found = [_of_group(group, table) for group in groups]
    for op, choice in choices:
        extents = table.equations[op].extents
        if choice.row.name == PADDED:
            found.append(Kernel((op,), (choice.plan.size,), extents[:1]))
        elif choice.row.name == TOTALS:
            members = sorted([op, *contractions_of(op, table)], key=table.position.__getitem__)
            inside = _inside(members, table)
            found.append(Kernel(tuple(members), choice.plan.sizes, extents, inside))
    with_others = {op for kernel in found for op in kernel.members}
    found += [Kernel((op,)) for op, _ in choices if op not in with_others]
    found += [Kernel((op,)) for op in table.position if op.name == SCAN]
    return sorted(found, key=lambda kernel: table.position[kernel.members[-1]])


def _of_group(group: EquationGroup, table: Candidates) -> Kernel:
    members = sorted(group.members, key=table.position.__getitem__)
    extents = table.equations[members[-1]].extents[: group.depth]
    return Kernel(tuple(members), (1,) * group.depth, extents, _inside(members, table))


def _inside(members: list[ir.Operation], table: Candidates) -> tuple[ir.Value, ...]:
    """What only members read, with all that goes on in its memory."""
    found: list[ir.Value] = []
    for op in reversed(members):
        for result in op.results:
            users = table.users(result)
            after = [r for u in users if u in members for r in u.results if init_of(r) == result]
            if all(u in members for u in users) and all(r in found for r in after):
                found.append(result)
    return tuple(found)


def _padded(site: Site) -> Blocks | Declined:
    return padded_blocks(site.table.padded, site.op, site.table.cpu)


def _wrong_size(site: Site, blocks: Blocks) -> str | None:
    return wrong_size(site.table.padded, site.op, blocks)


def _column_sums(site: Site) -> Plain | Declined:
    if not _is_column_sum(site):
        return Declined("no sum over rows, and nothing else")
    reads = [r for r in site.subdomain.reads if r is not None]
    if site.subdomain.domain or any(r.guard for r in reads):
        return Declined("it has a condition, and may become several sums")
    return Plain()


def _is_column_sum(site: Site) -> bool:
    """A sum over the outermost loop only, along which all that moves is read at rows."""
    subdomain = site.subdomain
    order = [] if subdomain.is_empty else loop_order(subdomain)
    if len(order) < 2 or subdomain.reduction_dims != order[:1] or site.op in site.table.padded:
        return False
    row = order[0]
    reads = [short(r.subscripts, r.tensor) for r in subdomain.reads if r is not None]
    by_row = [exprs for exprs in reads if row in dims_used(*exprs)]
    first = all(exprs[0] == ir.AffineExpr.get_dim(row) for exprs in by_row)
    return bool(by_row) and first and all(row not in dims_used(*e[1:]) for e in by_row)


def _totals(site: Site) -> TotalBlocks | Declined:
    return total_blocks(site.op, site.table)


TABLE = (
    Strategy(ROWS, lambda site: site.found, lambda *_: None),
    Strategy(COLUMNS, _column_sums, lambda *_: None),
    Strategy(PADDED, _padded, lambda *_: None, check=_wrong_size),
    Strategy(
        TOTALS,
        _totals,
        lambda *_: None,
        check=lambda *_: "its numbers follow from the operands",
    ),
    Strategy(ALONE, lambda _: Plain(), lambda *_: None),
)
# Blocks and sums over rows are what caches of a CPU want.
GPU_TABLE = tuple(row for row in TABLE if row.name in (ROWS, ALONE))
