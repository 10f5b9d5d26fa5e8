"""`ted-shrink-row-buffers`: buffers of which a loop uses one row at a time -> one row.

Before: `memref.alloc() : memref<2048x1024xf32>`, in a loop `memref.subview %b[%i, 0] [1, 1024]`.
After: `memref.alloc() : memref<1x1024xf32>`, in the loop `memref.subview %b[0, 0] [1, 1024]`.

After `ted-fuse-columns` the last reader of an intermediate may have moved into the loop that makes
it; then no row is needed once its iteration is over.
"""

from __future__ import annotations

from ted.mlir import ir, memref
from ted.mlir.queries import functions
from ted.records import dataclass


@dataclass(frozen=True)
class TedShrinkRowBuffers:
    """Shrink every buffer that all its uses see by rows of one loop."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the allocations at the top level of every function."""
        for function in functions(module):
            for op in [o.operation for o in function.entry_block.operations]:
                if op.name == "memref.alloc" and not len(op.operands):
                    _shrink(op)


def _shrink(op: ir.Operation) -> None:
    shape = list(ir.MemRefType(op.results[0].type).shape)
    users = [use.owner.operation for use in op.results[0].uses]
    if not shape or shape[0] == 1 or not users or not all(map(_is_row, users)):
        return
    rows = {user.operands[1] for user in users}
    if len(rows) != 1 or not _is_loop_counter(rows.pop()):
        return
    kind = ir.MemRefType.get([1, *shape[1:]], ir.MemRefType(op.results[0].type).element_type)
    with ir.InsertionPoint(op), op.location:
        row = memref.AllocOp(kind, [], [], alignment=_alignment(op)).result
    for user in users:
        with ir.InsertionPoint(user), user.location:
            sizes = list(ir.DenseI64ArrayAttr(user.attributes["static_sizes"]))
            offsets = [0, *list(ir.DenseI64ArrayAttr(user.attributes["static_offsets"]))[1:]]
            view = memref.subview(row, offsets, sizes, [1] * len(sizes))
            cast = memref.CastOp(user.results[0].type, view).result
        user.results[0].replace_all_uses_with(cast)
        user.erase()
    op.erase()


def _alignment(op: ir.Operation) -> ir.IntegerAttr | None:
    return ir.IntegerAttr(op.attributes["alignment"]) if "alignment" in op.attributes else None


def _is_row(op: ir.Operation) -> bool:
    """A static slice of one row, at a row number that is a value."""
    if op.name != "memref.subview" or len(op.operands) != 2:
        return False
    offsets = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    strides = ir.DenseI64ArrayAttr(op.attributes["static_strides"])
    sizes = ir.DenseI64ArrayAttr(op.attributes["static_sizes"])
    rank = len(ir.MemRefType(op.results[0].type).shape)
    is_dynamic = offsets[0] == ir.ShapedType.get_dynamic_stride_or_offset()
    return is_dynamic and sizes[0] == 1 and set(strides) == {1} and rank == len(sizes)


def _is_loop_counter(value: ir.Value) -> bool:
    """Whether the value counts a loop; then its loop holds every use of it."""
    owner = value.owner
    return isinstance(owner, ir.Block) and owner.owner.operation.name == "scf.for" \
        and value == owner.arguments[0]  # fmt: skip
