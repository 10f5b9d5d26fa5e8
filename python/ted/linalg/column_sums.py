"""Sums over rows that a loop over these rows advances, a row at the end of each turn.

Before: a group over rows i that makes `dx[i, j]`, and `db[j] = sum over i of dy[i, j]`
After: the sum is a total of the group, and a row is read while it is in the first cache

The total must be wanted behind the loop only, and all that the sum reads be there at its row: made
in the same turn, or before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping

from ted.linalg.equation_groups import (
    EQUATION,
    SCAN,
    Candidates,
    EquationGroup,
    init_of,
    read_inside,
    short,
    top_of,
)
from ted.linalg.kernel_proofs import is_at_row
from ted.linalg.loop_order import loop_order
from ted.linalg.subdomain import Subdomain
from ted.mlir import ir
from ted.mlir.affine_forms import dims_used
from ted.mlir.queries import defining
from ted.mlir.strategies import Declined
from ted.records import dataclass


@dataclass(frozen=True)
class Into:
    """The number of the group that takes a sum in."""

    group: int


def row_of_sum(subdomain: Subdomain) -> int | None:
    """The dim that a sum over rows reduces; None for anything else.

    It is the outermost loop, and all that moves along it is read at rows.
    """
    order = [] if subdomain.is_empty else loop_order(subdomain)
    if len(order) < 2 or subdomain.reduction_dims != order[:1]:
        return None
    row = order[0]
    reads = [short(r.subscripts, r.tensor) for r in subdomain.reads if r is not None]
    by_row = [exprs for exprs in reads if row in dims_used(*exprs)]
    first = all(exprs[0] == ir.AffineExpr.get_dim(row) for exprs in by_row)
    is_sum = bool(by_row) and first and all(row not in dims_used(*e[1:]) for e in by_row)
    return row if is_sum else None


def group_of_sum(
    op: ir.Operation, table: Candidates, groups: Mapping[int, EquationGroup]
) -> Into | Declined:
    """The nearest group over the rows of a sum that it may join, sooner one before it."""
    subdomain = table.equations[op]
    row = None if op in table.padded else row_of_sum(subdomain)
    if row is None:
        return Declined("no sum over rows, and nothing else")
    if subdomain.domain or any(r.guard for r in subdomain.reads if r is not None):
        return Declined("it has a condition, and may become several sums")
    if len(op.results) > 1 or read_inside(op):
        return Declined("it reads at data, or has several results")
    rows, reason = subdomain.extents[row], "no group over its rows reads or makes what it reads"
    last = {n: table.position[max(g.members, key=table.position.__getitem__)]
            for n, g in groups.items()}  # fmt: skip
    mine = table.position[op]
    nearest = sorted(last, key=lambda n: (last[n] > mine, abs(last[n] - mine)))
    for number in nearest:
        group = groups[number]
        if table.equations[group.members[0]].extents[0] == rows and _shares(op, row, group, table):
            why = _why_apart(op, row, group, last[number], table)
            if why is None:
                return Into(number)
            reason = why
    return Declined(reason)


def _shares(op: ir.Operation, row: int, group: EquationGroup, table: Candidates) -> bool:
    """Whether a member makes, or reads at its row, a tensor that the sum reads at its row."""
    mine = {r.tensor for r in table.equations[op].reads
            if r is not None and row in dims_used(*r.subscripts)}  # fmt: skip
    first = ir.AffineExpr.get_dim(0)
    for member in group.members:
        reads = (r for r in table.equations[member].reads if r is not None and r.tensor in mine)
        at_row = any(short(r.subscripts, r.tensor)[:1] == [first] for r in reads)
        if at_row or mine.intersection(member.results):
            return True
    return False


def _why_apart(
    op: ir.Operation, row: int, group: EquationGroup, last: int, table: Candidates
) -> str | None:
    """Why a sum cannot be where a group is, which ends at a place; None where it can."""
    for read in (r for r in table.equations[op].reads if r is not None):
        maker = defining(read.tensor)
        if maker is not None and maker in group.members:
            written = short(table.equations[maker].write, read.tensor)
            is_row = is_at_row(written, range(group.depth))
            if not is_row or row not in dims_used(*read.subscripts):
                return "it reads other rows of the group than its own"
        elif _made(read.tensor, table) > last:
            return "what it reads is made behind the group"
    if _made(init_of(op.results[0]), table) >= last:
        return "it goes on from what is made behind the group"
    users = [top_of(use.owner.operation, table.block) for use in op.results[0].uses]
    if any(table.position[user] <= last for user in users):
        return "the group, or what is before it, reads the sum"
    return None


def _made(value: ir.Value, table: Candidates) -> int:
    """Where a tensor is made; before all of the block if it is no result."""
    op = defining(value, EQUATION, SCAN)
    return -1 if op is None else table.position[op]
