"""What is computed by one kernel: equations of a block, in order, and the loops around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ted.linalg.equation_groups import Candidates, init_of
from ted.mlir import ir
from ted.records import dataclass


@dataclass(frozen=True)
class Kernel:
    """Equations in order, and the loops around them: over blocks of the leading dims of all.

    `blocks` has the points of a block in each such dim; one equation by itself has no loops, and
    several without blocks are maps that one loop nest computes at each of their points. `totals`
    are sums over the first dim, which each of its turns advances at its end. What is `inside` is
    read by members, and sums, alone. All is computed `at` one of the members, or the last one.
    """

    members: tuple[ir.Operation, ...]
    blocks: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    inside: tuple[ir.Value, ...] = field(default=(), repr=False)
    totals: tuple[ir.Operation, ...] = ()
    at: ir.Operation | None = field(default=None, repr=False)

    @property
    def place(self) -> ir.Operation:
        """The member in whose place all of them are computed."""
        return self.at or self.members[-1]

    @property
    def equations(self) -> tuple[ir.Operation, ...]:
        """All that is computed."""
        return (*self.members, *self.totals)

    @property
    def is_of_points(self) -> bool:
        """Whether all members are computed at one point, then at the next one."""
        return len(self.members) > 1 and not self.blocks


def inside_of(
    members: Sequence[ir.Operation], table: Candidates, sums: Sequence[ir.Operation] = ()
) -> tuple[ir.Value, ...]:  # fmt: skip
    """What only members, and sums, read, with all that goes on in its memory."""
    found: list[ir.Value] = []
    for op in reversed(members):
        for result in op.results:
            users = [user for user in table.users(result) if user not in sums]
            after = [r for u in users if u in members for r in u.results if init_of(r) == result]
            if all(u in members for u in users) and all(r in found for r in after):
                found.append(result)
    return tuple(found)
