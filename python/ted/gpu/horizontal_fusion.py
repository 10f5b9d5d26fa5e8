"""Kernels that do not depend on each other -> one kernel, the first blocks of which are the first.

Before: a launch of 4 blocks for the inner part of a result, and of 1 block for each edge
After: one launch of 8 blocks; a block finds its part by its number, the same for all its threads
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ted.gpu.launching import MOST_BLOCKS, launch, only_if
from ted.gpu.points import below
from ted.mlir import arith, ir, scf
from ted.mlir.building import constant
from ted.mlir.queries import constant_of, copied_with, operations

_ATTRIBUTIONS = "workgroup_attributions"
_BLOCK, _THREAD = 0, 3  # block arguments
_WAITS = ("gpu.barrier",)


def put_side_by_side(launches: Sequence[ir.Operation]) -> None:
    """Make one kernel of those that share no memory of a block, in the place of the last one."""
    parts = [op for op in launches if _is_simple(op)]
    total = sum(_size(op)[0] for op in parts)
    if len(parts) < 2 or total > MOST_BLOCKS:
        return
    threads = max(_size(op)[1] for op in parts)
    ends = list(accumulate(_size(op)[0] for op in parts))
    last = launches[-1]
    with ir.InsertionPoint(last), last.location, launch(total, threads) as kernel:
        _branch(parts, [0, *ends], kernel.block, kernel.thread, threads)
    for op in parts:
        op.erase()


def _branch(
    parts: Sequence[ir.Operation], ends: Sequence[int],
    block: ir.Value, thread: ir.Value, threads: int,
) -> None:  # fmt: skip
    """Find the part of a block, which begins where the one before it ends."""
    if len(parts) == 1:
        own = block if ends[0] == 0 else arith.SubIOp(block, constant(ends[0])).result
        _, wanted = _size(parts[0])
        with only_if(below(thread, wanted) if wanted < threads else None):
            _move(parts[0], own, thread)
        return
    half = len(parts) // 2
    branch = scf.IfOp(below(block, ends[half]), has_else=True)
    sides = ((branch.then_block, slice(None, half)), (branch.else_block, slice(half, None)))
    for where, which in sides:
        assert where is not None, "made with an else block"
        with ir.InsertionPoint(where):
            _branch(parts[which], ends[half:] if which.start else ends, block, thread, threads)
            scf.YieldOp([])


def _move(part: ir.Operation, block: ir.Value, thread: ir.Value) -> None:
    """Put the code of a kernel here."""
    body = part.regions[0].blocks[0]
    body.arguments[_BLOCK].replace_all_uses_with(block)
    body.arguments[_THREAD].replace_all_uses_with(thread)
    *code, _ = [o.operation for o in body.operations]
    known: dict[ir.Value, ir.Value] = {}
    for op in code:
        copied_with(op, known)


def _size(op: ir.Operation) -> tuple[int, int]:
    """Blocks and threads of a block."""
    numbers = [constant_of(o) or 0 for o in op.operands]
    return numbers[0], numbers[3]


def _is_simple(op: ir.Operation) -> bool:
    body = op.regions[0].blocks[0]
    others = [a for k, a in enumerate(body.arguments) if k not in (_BLOCK, _THREAD)]
    is_alone = not any(list(a.uses) for a in others) and _ATTRIBUTIONS not in op.attributes
    return is_alone and not operations(op, *_WAITS)
