"""Loops over rows on memrefs: which memory an iteration touches at its own row only.

A row is what `memref.subview %m[%i, %j, 0, ..]` gives for all counters of the loop in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ted.mlir import ir
from ted.mlir.affine_forms import substitute
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.generic import Generic, set_maps, set_reductions
from ted.mlir.queries import operations, position
from ted.mlir.scalars import shape_of
from ted.mlir.storage import part
from ted.records import dataclass

DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


@dataclass(frozen=True)
class RowLoop:
    """An `scf.forall` from 0 by 1 over rows with as many counters as `extents`."""

    op: ir.Operation
    extents: tuple[int, ...]

    @property
    def block(self) -> ir.Block:
        """The code of a row."""
        return self.op.regions[0].blocks[0]

    @property
    def counters(self) -> list[ir.Value]:
        """The numbers of a row."""
        return list(self.block.arguments)

    @property
    def operations(self) -> list[ir.Operation]:
        """What is done for a row, without the terminator."""
        return [o.operation for o in self.block.operations][:-1]

    def source_of_rows(self, memory: ir.Value) -> ir.Value | None:
        """What all rows of some memory are cut from; None if not only own rows are touched."""
        found: set[ir.Value] = set()
        for op in _users(self.op, memory):
            if not self._is_own_row(op):
                return None
            found.add(op.operands[0])
        return found.pop() if len(found) == 1 else None

    def _is_own_row(self, op: ir.Operation) -> bool:
        if op.name != "memref.subview" or op.block != self.block:
            return False
        rank = len(self.extents)
        offsets, sizes, strides = (
            list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        is_row = offsets[:rank] == [DYNAMIC] * rank and sizes[:rank] == [1] * rank
        is_whole = DYNAMIC not in (*offsets[rank:], *sizes, *strides)
        return is_row and is_whole and list(op.operands)[1:] == self.counters


def row_loop(op: ir.Operation) -> RowLoop | None:
    """The operation as a loop over rows; None for any other."""
    if op.name != "scf.forall" or len(op.results) or len(op.operands):
        return None
    lower, upper, step = (
        tuple(ir.DenseI64ArrayAttr(op.attributes[f"static{name}"]))
        for name in ("LowerBound", "UpperBound", "Step")
    )
    return RowLoop(op, upper) if set(lower) == {0} and set(step) == {1} else None


def is_by_row(amap: ir.AffineMap, rank: int) -> bool:
    """Whether the first subscripts are the numbers of a row."""
    positions = [position(e) for e in amap.results]
    return positions[:rank] == list(range(rank))


def row_of(value: ir.Value, amap: ir.AffineMap, counters: Sequence[ir.Value]) -> ir.Value:
    """The row of an iteration, without the dims of rows; all of what has no rows."""
    rank = len(counters)
    if not is_by_row(amap, rank):
        return value
    shape = list(ir.MemRefType(value.type).shape)
    offsets = [*counters, *[0] * (len(shape) - rank)]
    sizes = [*[1] * rank, *shape[rank:]]
    return part(value, offsets, sizes, [1] * len(shape), range(rank, len(shape)))


def leave_rows(op: ir.Operation, rows: int) -> None:
    """Let an operation have no loops over rows any more, when its operands are of one row."""
    generic = Generic(op)
    count = generic.rank - rows
    inner = [ir.AffineExpr.get_dim(k) for k in range(count)]
    dims: list[ir.AffineExpr] = [*[ir.AffineExpr.get_constant(0)] * rows, *inner]
    maps = []
    for amap, value in zip(generic.maps, generic.operands, strict=True):
        kept = list(amap.results)[len(amap.results) - len(shape_of(value)) :]
        maps.append(ir.AffineMap.get(count, 0, [substitute(dims, e) for e in kept]))
    set_reductions(op, generic.reductions[rows:])
    set_maps(op, maps)
    for index in operations(op, "linalg.index"):
        dim = ir.IntegerAttr(index.attributes["dim"])
        index.attributes["dim"] = ir.IntegerAttr.get(dim.type, dim.value - rows)


def _users(op: ir.Operation, memory: ir.Value) -> Iterator[ir.Operation]:
    """What inside an operation uses views of some memory that were made outside of it."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for value in inner.operands:
            is_memory = isinstance(value.type, ir.MemRefType) and root(value) == memory
            if is_memory and not _is_made_inside(value, op):
                found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return iter(found)


def _is_made_inside(view: ir.Value, op: ir.Operation) -> bool:
    owner = view.owner
    if isinstance(owner, ir.Block) or owner.operation.name not in VIEWS:
        return False
    parent = owner.operation.parent
    while parent is not None and parent.operation != op:
        parent = parent.operation.parent
    return parent is not None
