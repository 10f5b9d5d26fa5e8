"""`ted-sink-column-sums`: sums over rows go down to where they are needed.

Before: `%db = sum over i of dy[i, j]`, then the rows of `%dx`, then the return of both
After: the rows first, then `%db` in front of the return

What stands between operations over the same rows, and reads what they make, keeps them apart: a
loop over rows would have to come before it and after it.
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.mlir.queries import count_inputs, functions, users_in
from ted.records import dataclass


@dataclass(frozen=True)
class TedSinkColumnSums:
    """Move each sum whose outermost loop is one over rows in front of its first use."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for op in reversed([o.operation for o in function.entry_block.operations]):
                if _is_column_sum(op) and not _is_overwritten(op):
                    user = _first_user(op)
                    if user is not None:
                        op.move_before(user)


def _is_column_sum(op: ir.Operation) -> bool:
    generic = generic_of(op)
    if generic is None or not len(op.results):
        return False
    return generic.reductions[:1] == (True,) and not all(generic.reductions)


def _is_overwritten(op: ir.Operation) -> bool:
    """Whether another operation takes what this one reads as its destination."""
    return any(
        use.owner.operation != op and _is_destination(use.owner.operation, use.operand_number)
        for operand in op.operands
        for use in operand.uses
    )


def _is_destination(op: ir.Operation, operand: int) -> bool:
    if op.name.startswith("linalg."):
        return operand >= count_inputs(op)
    return op.name in ("tensor.insert_slice", "tensor.insert", "scf.for", "scf.forall")


def _first_user(op: ir.Operation) -> ir.Operation | None:
    users = users_in(op, op.block)
    return next((o.operation for o in op.block.operations if o.operation in users), None)
