"""Lone reductions along rows that a loop over these rows reads as well -> loops over rows.

Before: `scf.forall (%i) in (4096)` that reads `%x[%i, ..]`, then `%s[i] += f(%x[i, j])` from zero
After: a second `scf.forall` that makes the sum of a row, which is joined with the first

What they read then comes from memory once.
"""

from __future__ import annotations

from ted.gpu.row_loops import RowLoop, leave_rows, row_loop, row_of
from ted.linalg.contractions import MARK
from ted.mlir import ir
from ted.mlir.dependences import Dependences
from ted.mlir.generic import Generic, generic_of
from ted.mlir.queries import terminator
from ted.mlir.storage import forall


def loops_of_reductions(block: ir.Block) -> None:
    """Make loops over rows of such reductions, each with the fill that it starts from."""
    operations = [o.operation for o in block.operations]
    loops = [loop for op in operations if (loop := row_loop(op)) is not None]
    for op in operations if loops else ():
        generic = generic_of(op)
        if generic is not None and any(_is_along(generic, loop) for loop in loops):
            fill = _fill_of(generic, Dependences(block))
            if fill is not None:
                _wrap(fill, generic)


def _is_along(generic: Generic, loop: RowLoop) -> bool:
    """Whether an operation reduces rows of a loop, and reads rows that the loop reads."""
    rank, op = len(loop.extents), generic.op
    rows = list(range(rank))
    if generic.dims is None or generic.extents is None or MARK in op.attributes:
        return False
    if generic.reductions != (False,) * rank + (True,) * (generic.rank - rank):
        return False
    if generic.rank == rank or generic.extents[:rank] != loop.extents:
        return False
    *inputs, output = generic.dims
    is_memory = all(isinstance(v.type, ir.MemRefType) for v in generic.operands)
    fits = len(generic.outputs) == 1 and output == rows and _asks_inside_rows(generic, rank)
    by_row = [p[:rank] == rows for p in inputs]
    if not (
        is_memory
        and fits
        and all(b or not set(rows) & {*p} for b, p in zip(by_row, inputs, strict=True))
    ):
        return False
    return any(
        is_row and len(places) > rank and _is_source(value, loop)
        for value, places, is_row in zip(generic.inputs, inputs, by_row, strict=True)
    )


def _is_source(value: ir.Value, loop: RowLoop) -> bool:
    source = loop.source_of_rows(value)
    return source is not None and source == value


def _asks_inside_rows(generic: Generic, rank: int) -> bool:
    """Whether the body asks for no number of a row, which is 0 in the loop."""
    asked = [o for o in generic.code if o.name == "linalg.index"]
    return all(ir.IntegerAttr(o.attributes["dim"]).value >= rank for o in asked)


def _fill_of(generic: Generic, known: Dependences) -> ir.Operation | None:
    """The fill that a reduction starts from, if it is the last that touched the memory before."""
    (output,) = generic.outputs
    number = known.numbers[generic.op]
    before = [n for n in known.users(known.named([output])) if n < number]
    last = known.operations[max(before)] if before else None
    is_fill = last is not None and last.name == "linalg.fill" and last.operands[1] == output
    return last if is_fill else None


def _wrap(fill: ir.Operation, generic: Generic) -> None:
    """A loop over rows in the place of a reduction and its fill."""
    op = generic.op
    (output,) = generic.outputs
    extents = ir.MemRefType(output.type).shape

    def turn(counters: list[ir.Value]) -> None:
        views = [
            row_of(value, amap, counters)
            for value, amap in zip(generic.operands, generic.maps, strict=True)
        ]
        end = terminator(ir.InsertionPoint.current.block)
        fill.move_before(end)
        op.move_before(end)
        fill.operands[1] = views[-1]
        for k, view in enumerate(views):
            op.operands[k] = view

    with ir.InsertionPoint(op), op.location:
        forall(extents, turn)
    leave_rows(op, len(extents))
