"""Fills that no kernel is needed for: of totals, and of what is overwritten as a whole.

Before: `linalg.fill ins(%zero) outs(%m)`, and a reduction into `%m`, or maps into parts of it
After: the reduction alone, starting from `%zero`; the maps alone, if every element is in a part
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ted.gpu.bodies import Work, work_of
from ted.gpu.strided_footprints import Place, place_of
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS, root, touched

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
        later = operations[k + 1 :]
        user = _next_user(op, later)
        if (user is not None and _takes(user, op, found)) or _is_overwritten(op, later):
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


def _is_overwritten(fill: ir.Operation, later: Sequence[ir.Operation]) -> bool:
    """Whether maps write every element of the memory, each its own, before anything reads one."""
    target = fill.operands[1]
    left, parts = prod(ir.MemRefType(target.type).shape), list[Place]()
    for op in later if root(target) == target else ():
        if op.name in VIEWS or target not in set.union(*touched(op)):
            continue
        work = work_of(op) if structured(op) else None
        if work is None or work.reductions or _reads(op, work, target):
            return False
        for operand in (o for o in work.outputs if root(o.value) == target):
            place = place_of(operand, work.extents)
            if place is None or not place.keeps_apart(place):
                return False
            if not all(place.is_beside(part) for part in parts):
                return False
            parts.append(place)
            left -= place.size
        if left == 0:
            return True
    return False


def _reads(op: ir.Operation, work: Work, memory: ir.Value) -> bool:
    """Whether a map reads some memory, as an input, where it writes, or at data."""
    if any(o.amap is not None and root(o.value) == memory for o in work.inputs):
        return True
    if work.body is None:
        return False
    olds = list(work.body.arguments)[len(work.inputs) :]
    asked = [o for o, old in zip(work.outputs, olds, strict=True) if list(old.uses)]
    return _used_inside(op, memory) or any(root(o.value) == memory for o in asked)


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
