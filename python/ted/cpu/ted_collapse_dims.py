"""`ted-collapse-dims`: neighbouring dims of memory without gaps are one loop.

Before: `linalg.generic` over 8 x 56 x 56 points of `memref<8x56x56xf32>`
After: over 8 x 3136 of a view `memref<8x3136xf32>`, or 25088 where nothing tells the 8 apart

An innermost loop of 56 points ends in a vector that is filled by half, and a total of it is summed
up for each; LLVM joins no loops.
"""

from __future__ import annotations

from ted.linalg.collapsing import Access, Box, collapsed, merging, put
from ted.linalg.contractions import MARK
from ted.mlir import ir
from ted.mlir.generic import Generic
from ted.mlir.queries import operations
from ted.mlir.strategies import ATTRIBUTE
from ted.records import dataclass


@dataclass(frozen=True)
class TedCollapseDims:
    """Join the dims of each operation that claims no layout of its own."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every `linalg.generic` on memory, where loops are not counted."""
        with module.context:
            for op in operations(module.operation, "linalg.generic"):
                if MARK not in op.attributes and ATTRIBUTE not in op.attributes:
                    _collapse(Generic(op))


def _collapse(generic: Generic) -> None:
    box = _box(generic)
    if box is None or not merging(box):
        return
    with ir.InsertionPoint(generic.op), generic.op.location:
        made = collapsed(box)
    put(generic.op, made)


def _box(generic: Generic) -> Box | None:
    """The points of an operation; None where it counts them, or where they are not known."""
    extents = generic.extents
    if generic.asks_where or extents is None:
        return None
    pairs = zip(generic.operands, generic.maps, strict=True)
    accesses = [Access(v, m if isinstance(v.type, ir.MemRefType) else None) for v, m in pairs]
    return Box(extents, tuple(not r for r in generic.reductions), tuple(accesses))
