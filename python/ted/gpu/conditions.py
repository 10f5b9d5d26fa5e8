"""Conditions that choose between buffers -> conditions around copies into a buffer of their own.

Before: `%m = scf.if %c -> (memref<8xf32>) { ... scf.yield %a } else { scf.yield %b }`
After: `%m = memref.alloc()`, `scf.if %c { ...; memref.copy %a, %m } else { memref.copy %b, %m }`

A kernel gets its pointers before it runs, so no pointer can depend on what a kernel computed.
"""

from __future__ import annotations

from ted.errors import CompileError
from ted.mlir import ir, memref, scf
from ted.mlir.queries import operations


def settle_conditions(root: ir.Operation | ir.OpView) -> None:
    """Rewrite every condition inside that results in memory.

    Raises: CompileError for one that results in both memory and scalars.
    """
    for op in operations(root, "scf.if"):
        if any(isinstance(r.type, ir.MemRefType) for r in op.results):
            _settle(op)


def _settle(op: ir.Operation) -> None:
    if not all(isinstance(r.type, ir.MemRefType) for r in op.results):
        raise CompileError(f"gpu: a condition results in memory or in scalars, got both in {op}")
    with ir.InsertionPoint(op), op.location:
        targets = []
        for result in op.results:
            kind = ir.MemRefType(result.type)
            made = memref.AllocOp(ir.MemRefType.get(kind.shape, kind.element_type), [], []).result
            targets.append(made)
        branch = scf.IfOp(op.operands[0], has_else=True)
        for k, region in enumerate(op.regions):
            block = branch.operation.regions[k].blocks[0]
            with ir.InsertionPoint(block):
                end = scf.YieldOp([]).operation
            *body, old = [o.operation for o in region.blocks[0].operations]
            for inner in body:
                inner.move_before(end)
            with ir.InsertionPoint(end):
                for value, target in zip(old.operands, targets, strict=True):
                    memref.CopyOp(value, target)
        for result, target in zip(op.results, targets, strict=True):
            same = target if target.type == result.type else memref.CastOp(result.type, target)
            result.replace_all_uses_with(same if isinstance(same, ir.Value) else same.result)
    op.erase()
