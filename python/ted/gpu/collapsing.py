"""The work of a point with as few dims as possible (`linalg/collapsing.py`).

Before: points (i, j) of `memref<64x250xf32>` and nothing that knows i or j
After: points (k) of `memref<16000xf32>`, whose rows of vectors need not end where j ends
"""

from __future__ import annotations

from dataclasses import replace

from ted.gpu.bodies import Operand, Work
from ted.linalg import collapsing
from ted.linalg.collapsing import Access, Box
from ted.mlir.queries import operations


def collapsed(work: Work) -> Work:
    """The work with as few dims as possible; views are made at the insertion point."""
    if _is_counted(work):
        return work
    box = collapsing.collapsed(_box(work))
    operands = tuple(Operand(access.value, access.amap) for access in box.accesses)
    inputs, outputs = operands[: len(work.inputs)], operands[len(work.inputs) :]
    return replace(work, extents=box.extents, parallel=box.parallel, inputs=inputs, outputs=outputs)


def collapsed_extents(work: Work) -> tuple[int, ...]:
    """The extents of the collapsed work; nothing is made."""
    dims = [] if _is_counted(work) else collapsing.merging(_box(work))
    return collapsing.collapsed_extents(work.extents, dims)


def _box(work: Work) -> Box:
    accesses = tuple(Access(o.value, o.amap) for o in (*work.inputs, *work.outputs))
    return Box(work.extents, work.parallel, accesses)


def _is_counted(work: Work) -> bool:
    """Whether the body asks for the value of a dim: merged dims are counted otherwise."""
    return work.body is not None and any(
        operations(op.operation, "linalg.index") for op in work.body.operations
    )
