"""Loops that repeat one operation on the same results, as sums over blocks of a recurrence do.

Before: `scf.for %b = 0 to %blocks { linalg.generic ins(%l[%b], %u[%b]) outs(%total) }`
After: the `linalg.generic`: a part of `%total` waits for nothing but itself, so that a unit of work
may run the whole loop on it
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.generic import Generic
from ted.mlir.queries import defining, is_inside, operands_inside

_ADDRESSES = (*VIEWS, "arith.constant", "affine.apply", "scf.yield")


def repeated(loop: ir.Operation) -> ir.Operation | None:
    """The operation, if it is all that a loop does; None where turns may touch other results."""
    if loop.name != "scf.for" or len(loop.results):
        return None
    body = [o.operation for o in loop.regions[0].blocks[0].operations]
    found = [op for op in body if op.name not in _ADDRESSES]
    if len(found) != 1 or found[0].name != "linalg.generic":
        return None
    op, outputs = found[0], Generic(found[0]).outputs
    used = operands_inside(op)
    del used[len(op.operands) - len(outputs) : len(op.operands)]
    read = [root(v) for v in used if isinstance(v.type, ir.MemRefType)]
    apart = all(root(v) not in read and _is_fixed(v, loop) for v in outputs)
    return op if apart else None


def _is_fixed(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a view is of the same elements in every turn."""
    while (op := defining(value)) is not None and is_inside(op, loop):
        if op.name not in VIEWS or any(_is_made_in(v, loop) for v in list(op.operands)[1:]):
            return False
        value = op.operands[0]
    return True


def _is_made_in(value: ir.Value, loop: ir.Operation) -> bool:
    op = defining(value)
    if op is None:
        return value == loop.regions[0].blocks[0].arguments[0]
    return is_inside(op, loop)
