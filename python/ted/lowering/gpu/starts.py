"""Fills that only start a total: they become constants of the kernel that sums.

Before: `linalg.fill ins(%zero) outs(%m)`, then a reduction into `%m`
After: the reduction alone, starting from `%zero`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ted.lowering.gpu.bodies import work_of
from ted.mlir import ir
from ted.schedules.memory_roots import VIEWS, root, touched

STRUCTURED = ("linalg.generic", "linalg.fill", "linalg.copy", "memref.copy")


@dataclass
class Starts:
    """Per operation what its results start from; and the fills that are not needed any more."""

    of: dict[ir.Operation, tuple[ir.Value | None, ...]] = field(default_factory=dict)
    folded: set[ir.Operation] = field(default_factory=set)


def structured(op: ir.Operation) -> bool:
    """Whether an operation is work on memrefs in one box."""
    return op.name in STRUCTURED


def known_starts(operations: Sequence[ir.Operation]) -> Starts:
    """Find the fills whose memory the next operation that touches it overwrites as a whole."""
    found = Starts()
    for k, op in enumerate(operations):
        if op.name != "linalg.fill" or isinstance(op.operands[0].type, ir.MemRefType):
            continue
        user = _next_user(op, operations[k + 1 :])
        if user is not None and _takes(user, op, found):
            found.folded.add(op)
    return found


def _next_user(fill: ir.Operation, later: Sequence[ir.Operation]) -> ir.Operation | None:
    memory = root(fill.operands[1])
    for op in later:
        if op.name in VIEWS or op.name in ("memref.alloc", "memref.dealloc"):
            continue
        reads, writes = touched(op)
        if memory in reads | writes:
            return op
    return None


def _takes(user: ir.Operation, fill: ir.Operation, found: Starts) -> bool:
    """Note the start, if the user writes all of the memory and reads it as a total only."""
    work = work_of(user) if user.name == "linalg.generic" else None
    target = fill.operands[1]
    if work is None or [o.value for o in work.outputs].count(target) != 1:
        return False
    position = [o.value for o in work.outputs].index(target)
    uses = [o for o in user.operands if isinstance(o.type, ir.MemRefType)]
    alone = sum(root(o) == root(target) for o in uses) == 1
    if not alone or not work.writes_all(position) or _used_inside(user, target):
        return False
    starts = list(found.of.get(user, (None,) * len(work.outputs)))
    starts[position] = fill.operands[0]
    found.of[user] = tuple(starts)
    return True


def _used_inside(user: ir.Operation, target: ir.Value) -> bool:
    """Whether the body loads from the memory itself."""
    inside = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal inside
        if op != user and any(
            isinstance(v.type, ir.MemRefType) and root(v) == root(target) for v in op.operands
        ):
            inside = True
        return ir.WalkResult.ADVANCE

    user.walk(visit)
    return inside
