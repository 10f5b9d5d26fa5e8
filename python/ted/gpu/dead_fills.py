"""Fills that no kernel is needed for: of accumulators, and of what is overwritten as a whole.

Before: `linalg.fill ins(%zero) outs(%m)`, and a reduction into `%m`, or maps into parts of it
After: the reduction alone, starting from `%zero`; the maps alone, if every element is in a part
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from ted.gpu.bodies import work_of
from ted.mlir import ir
from ted.mlir.aliasing import root, whole
from ted.mlir.dependences import Dependences
from ted.records import dataclass

STRUCTURED = ("linalg.generic", "linalg.fill", "linalg.copy", "memref.copy")


@dataclass
class Starts:
    """Per operation what its results start from; and the fills that are not needed any more."""

    of: dict[ir.Operation, tuple[ir.Value | None, ...]] = field(default_factory=dict)
    folded: set[ir.Operation] = field(default_factory=set)


def structured(op: ir.Operation) -> bool:
    """Whether an operation is work on memrefs in one box."""
    return op.name in STRUCTURED


def known_starts(found: Dependences, reading: Collection[ir.Operation] = ()) -> Starts:
    """Find the fills whose memory the next operation that touches it overwrites as a whole.

    Kernels of `reading` start from what is in memory, whatever that is known to be.
    """
    starts = Starts()
    for op in found.operations.values():
        if op.name != "linalg.fill" or isinstance(op.operands[0].type, ir.MemRefType):
            continue
        users = found.behind(op, found.effects[op].writes)
        is_start = bool(users) and users[0] not in reading and _takes(users[0], op, starts, found)
        if is_start or found.is_overwritten(op):
            starts.folded.add(op)
    return starts


def _takes(user: ir.Operation, fill: ir.Operation, starts: Starts, found: Dependences) -> bool:
    """Note the start, if the user writes all of the memory and reads it as an accumulator only."""
    work = work_of(user) if user.name == "linalg.generic" else None
    target = fill.operands[1]
    outputs = [] if work is None else [whole(o.value) for o in work.outputs]
    if work is None or outputs.count(whole(target)) != 1:
        return False
    position = outputs.index(whole(target))
    uses = [o for o in user.operands if isinstance(o.type, ir.MemRefType)]
    alone = sum(root(o) == root(target) for o in uses) == 1
    is_inside = bool(found.effects[user].inside & found.named([target]))
    if not alone or not work.writes_all(position) or is_inside:
        return False
    values = list(starts.of.get(user, (None,) * len(work.outputs)))
    values[position] = fill.operands[0]
    starts.of[user] = tuple(values)
    return True
