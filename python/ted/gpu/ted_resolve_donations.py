"""Results in the memory of inputs -> programs that may have it so: `ted-resolve-donations`.

Before: a function with `ted.donated = [array<i64: 0, 2>]`: argument 2, a result, may be argument 0
After: the same, if every read of the input comes before the first write of the result, or at the
same point of it; else the result is made in a buffer, and copied when nothing reads the input.

The caller decides at each call whether the memory is one, so both must be right.
"""

from __future__ import annotations

from ted.gpu.strided_footprints import footprints_of
from ted.mlir import ir, memref
from ted.mlir.aliasing import donated_pairs
from ted.mlir.dependences import Dependences
from ted.mlir.queries import functions
from ted.records import dataclass


@dataclass(frozen=True)
class TedResolveDonations:
    """Put a buffer in the place of each result that would overwrite what is still read."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for source, result in donated_pairs(function):
                if not _is_safe(function.entry_block, source, result):
                    _buffer(function.entry_block, result)


def _is_safe(block: ir.Block, source: ir.Value, result: ir.Value) -> bool:
    """Whether nothing asks for the input behind the first write of the result."""
    apart = Dependences(block, names={})
    asked, written = apart.users([source]), apart.writers([result])
    if not asked or not written or max(asked) < min(written):
        return True
    op = apart.operations[min(written)]
    is_point_by_point = op.name == "linalg.generic" and max(asked) == min(written)
    return is_point_by_point and Dependences(block, footprints_of).are_point_by_point(op, op)


def _buffer(block: ir.Block, result: ir.Value) -> None:
    end = block.operations[len(block.operations) - 1].operation
    with ir.InsertionPoint.at_block_begin(block), end.location:
        made = memref.AllocOp(ir.MemRefType(result.type), [], []).result
    result.replace_all_uses_with(made)
    with ir.InsertionPoint(end), end.location:
        memref.CopyOp(made, result)
