"""Element-wise generics that read or write across rows: found by their maps alone.

The innermost loop runs along the result, or else along what is read; an operand whose contiguous
dim is another loop touches a cache line for each element. Both loops must be long enough for a
square tile of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.records import dataclass


@dataclass(frozen=True)
class TransposedAccess:
    """Operand `operand` is contiguous along loop `along`, not along the innermost loop."""

    operand: int
    along: int


def transposed_accesses(op: ir.Operation, cpu: Cpu) -> list[TransposedAccess]:
    """The transposed operands of an element-wise `linalg.generic`; none if it has another form.

    Results are such where no read is, and all that is read lies along the innermost loop.
    """
    found = generic_of(op)
    if found is None or not found.is_map or found.rank < 2 or found.asks_where:
        return []
    dims, extents = found.dims, found.extents
    if dims is None or extents is None or any(len(set(ds)) < len(ds) for ds in dims):
        return []
    inner, count = found.rank - 1, found.count_inputs
    across = [k for k, ds in enumerate(dims) if inner in ds and ds[-1] != inner]
    if across and across[0] >= count:
        totals = list(found.body.arguments)[count:]
        if not any(inner in ds for ds in dims[:count]) or any(len(list(t.uses)) for t in totals):
            return []
    else:
        across = [k for k in across if k < count]
    return [
        TransposedAccess(k, dims[k][-1])
        for k in across
        if min(extents[dims[k][-1]], extents[inner]) >= lanes(found.operands[k], cpu)
    ]


def tile_side(op: ir.Operation, reads: Sequence[TransposedAccess], cpu: Cpu) -> int:
    """Rows and columns of the square tiles in which some operands of an operation are read."""
    return max(lanes(op.operands[read.operand], cpu) for read in reads)


def lanes(value: ir.Value, cpu: Cpu) -> int:
    """Elements of a tensor or memref in one register; more than any extent if it has no bytes."""
    bits = getattr(ir.ShapedType(value.type).element_type, "width", 1)
    return cpu.lanes(bits // 8) if bits >= 8 else 1 << 62
