"""Fills and empty tensors with several users -> one for each user.

Two running results that start from one value would have to be copied apart by bufferization;
upstream CSE merges equal ones again, so each carries a number of its own, which keeps them
different.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.mlir import ir
from ted.schedules.walking import operations

NUMBER = "ted.buffer"
_STARTS = ("linalg.fill", "tensor.empty")


def _starts(module: ir.Module, name: str) -> list[ir.Operation]:
    """The operations of one kind; a fill of memory has no result."""
    return [op for op in operations(module.operation, name) if len(op.results)]


def unshare_starts(module: ir.Module, names: Sequence[str] = _STARTS) -> None:
    """Give each use of a fill or an empty tensor its own operation."""
    # Fills first: their copies are new users of empty tensors.
    for name in names:
        for op in _starts(module, name):
            for use in list(op.results[0].uses)[1:]:
                copy = op.clone(ir.InsertionPoint(op))
                use.owner.operation.operands[use.operand_number] = copy.operation.results[0]


def number_starts(module: ir.Module) -> None:
    """Make every empty tensor different from every other, in the eyes of CSE."""
    for number, op in enumerate(operations(module.operation, "tensor.empty")):
        op.attributes[NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def drop_unused_starts(module: ir.Module) -> None:
    """Erase fills and empty tensors that nothing uses any more."""
    for name in _STARTS:
        for op in _starts(module, name):
            if not list(op.results[0].uses):
                op.erase()
