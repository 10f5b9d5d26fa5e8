"""Fills, empty tensors and first pieces with several users -> one for each user.

Two running results that start from one value would have to be copied apart by bufferization;
upstream CSE merges equal ones again, so each carries a number of its own, which keeps them
different.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.mlir import ir
from ted.mlir.queries import operations

NUMBER = "ted.buffer"
_STARTS = ("linalg.fill", "tensor.empty")


def _starts(module: ir.Module, name: str) -> list[ir.Operation]:
    """The operations of one kind; a fill of memory has no result."""
    return [op for op in operations(module.operation, name) if len(op.results)]


def unshare_starts(module: ir.Module) -> None:
    """Give each use of a fill or an empty tensor its own operation, where the shared one is.

    So has each tensor that goes on from the same first piece as another one, unless that piece
    reduces: to copy it is less than to compute it again.
    """
    for op in reversed(operations(module.operation, "ted.compute")):  # what follows starts from it
        if all(str(kind) == '"parallel"' for kind in ir.ArrayAttr(op.attributes["iterators"])):
            pieces = [use for use in op.results[0].uses if _is_next_piece(use)]
            _one_for_each(op, pieces)
    # Fills first: their copies are new users of empty tensors.
    for name in _STARTS:
        for op in _starts(module, name):
            _one_for_each(op, list(op.results[0].uses))


def _is_next_piece(use: ir.OpOperand) -> bool:
    """Whether a user goes on from the tensor: sets other elements, or adds to what there is."""
    user = use.owner.operation
    return user.name == "ted.compute" and use.operand_number == len(user.operands) - 1


def _one_for_each(op: ir.Operation, uses: Sequence[ir.OpOperand]) -> None:
    """Give all uses but one a copy of their own."""
    for use in uses[1:]:
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
