"""What memory an operation touches: the allocation or argument behind each memref it uses."""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.queries import count_inputs

VIEWS = frozenset(
    {
        "memref.subview",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
    }
)
# Operations that only read these operands; of all others, every memref counts as written.
_ONLY_READ = {
    "memref.load": (0,), "memref.copy": (0,), "vector.load": (0,), "vector.transfer_read": (0,)
}  # fmt: skip


def root(value: ir.Value) -> ir.Value:
    """The allocation or block argument that a memref is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        value = value.owner.operation.operands[0]
    return value


def touched(op: ir.Operation) -> tuple[set[ir.Value], set[ir.Value]]:
    """Roots that an operation, with all inside it, reads and writes."""
    reads: set[ir.Value] = set()
    writes: set[ir.Value] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name not in VIEWS and inner.name != "memref.alloc":
            for k, value in enumerate(inner.operands):
                if isinstance(value.type, ir.MemRefType):
                    (reads if _is_read(inner, k) else writes).add(root(value))
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return reads, writes


def _is_read(op: ir.Operation, operand: int) -> bool:
    if op.name in _ONLY_READ:
        return operand in _ONLY_READ[op.name]
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        return operand < count_inputs(op)
    return False
