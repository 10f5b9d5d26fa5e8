"""Conditions of the host around kernels -> conditions inside of these kernels.

Before: `scf.if %c { gpu.launch ... { body } }`      After: `gpu.launch ... { scf.if %c { body } }`
"""

from __future__ import annotations

from ted.gpu.launching import only_if, sink_into
from ted.mlir import arith, ir
from ted.mlir.queries import operations


def open_condition(op: ir.Operation) -> None:
    """Put a condition into the kernels that it is around; a loop stays on the host."""
    blocks = [block for region in op.regions for block in region.blocks]
    condition = op.operands[0]
    for k, block in enumerate(blocks):
        if k:
            with ir.InsertionPoint(op), op.location:
                true = arith.ConstantOp(condition.type, 1).result
                condition = arith.XOrIOp(condition, true).result
        for inner in [o.operation for o in block.operations][:-1]:
            for kernel in operations(inner, "gpu.launch"):
                _guard(kernel, condition)
            inner.move_before(op)
    op.erase()


def _guard(kernel: ir.Operation, condition: ir.Value) -> None:
    """Run the body of a kernel only where a condition of the host holds."""
    block = kernel.regions[0].blocks[0]
    *body, end = [o.operation for o in block.operations]
    with ir.InsertionPoint(end), kernel.location, only_if(condition):
        pass
    branch = [o.operation for o in block.operations][-2]
    target = branch.regions[0].blocks[0].operations[0].operation
    for op in body:
        if op.name != "memref.alloca":  # a register, which belongs to the whole kernel
            op.move_before(target)
    sink_into(kernel)
