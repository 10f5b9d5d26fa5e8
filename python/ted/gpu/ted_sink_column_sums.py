"""`ted-sink-column-sums`: sums over rows go down to where they are needed.

Before: `%db = sum over i of dy[i, j]`, then the rows of `%dx`, then the return of both
After: the rows first, then `%db` in front of the return

What stands between equations over the same rows, and reads what they make, keeps them apart: a
loop over rows would have to come before it and after it.
"""

from __future__ import annotations

from ted.linalg.equation_groups import EQUATION, is_init
from ted.linalg.loop_order import loop_order
from ted.linalg.subdomain import from_compute
from ted.linalg.unit_dims import without_unit_iterations
from ted.mlir import ir
from ted.mlir.queries import functions, users_in
from ted.records import dataclass


@dataclass(frozen=True)
class TedSinkColumnSums:
    """Move each sum whose outermost loop is one over rows in front of its first use."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            block = function.entry_block
            for op in reversed([o.operation for o in block.operations]):
                if op.name == EQUATION and _is_column_sum(op) and not _is_overwritten(op):
                    users = users_in(op, block)
                    first = next(
                        (o.operation for o in block.operations if o.operation in users), op
                    )
                    if first != op:
                        op.move_before(first)


def _is_column_sum(op: ir.Operation) -> bool:
    subdomain = without_unit_iterations(from_compute(op))
    if subdomain.is_empty or not subdomain.reduction_dims or not subdomain.parallel_dims:
        return False
    return loop_order(subdomain)[0] in subdomain.reduction_dims


def _is_overwritten(op: ir.Operation) -> bool:
    """Whether another operation goes on from what this one reads."""
    uses = (use for operand in op.operands for use in operand.uses)
    return any(use.owner.operation != op and is_init(use) for use in uses)
