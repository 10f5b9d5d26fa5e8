"""Loops over the same rows -> one loop, one kernel: the pass `ted-fuse-row-loops`.

Before: `scf.forall (%i) in (512)` that makes `%y[%i, ..]`, then one that reads `%y[%i, ..]`
After: one `scf.forall` that does both for a row

A row then stays in the first cache, or in shared memory: a temporary of which only one row at a
time is used becomes that row. Loops are joined where both touch what one of them writes at their
own rows only, and what stands between lets the second go up or the first go down. Lone reductions
along rows that a loop reads are loops, too (`row_reductions.py`). Sums over many rows follow
(`row_sums.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.gpu.row_loops import RowLoop, row_loop
from ted.gpu.row_reductions import loops_of_reductions
from ted.gpu.row_sums import split_rows, take_sums
from ted.mlir import ir, memref
from ted.mlir.aliasing import ANYWHERE, VIEWS
from ted.mlir.dependences import Dependences
from ted.mlir.effects import effects_of
from ted.mlir.queries import functions
from ted.records import dataclass

_HOST_LOOPS = ("scf.for", "scf.if")


@dataclass(frozen=True)
class TedFuseRowLoops:
    """Join each loop over rows with later ones, and keep single rows of their temporaries."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for block in _blocks(function.entry_block):
                loops_of_reductions(block)
                _join_block(block)
                loops = [o.operation for o in block.operations if o.operation.name == "scf.forall"]
                groups = [g for g in map(take_sums, loops) if g is not None]
                _shrink_block(block)
                for group in groups:
                    split_rows(group)


def _blocks(block: ir.Block) -> Iterator[ir.Block]:
    yield block
    for op in [o.operation for o in block.operations if o.operation.name in _HOST_LOOPS]:
        for inner in [b for region in op.regions for b in region.blocks]:
            yield from _blocks(inner)


# ---- joining -------------------------------------------------------------------------------------


def _join_block(block: ir.Block) -> None:
    waiting = [o.operation for o in block.operations if row_loop(o.operation) is not None]
    while waiting:
        first, *waiting = waiting
        known = Dependences(block)
        for k, second in enumerate(waiting):
            joined = _joined(first, second, known)
            if joined is not None:
                # Not by looking for the second one, which is gone.
                waiting = [joined, *waiting[:k], *waiting[k + 1 :]]
                break


def _joined(first: ir.Operation, second: ir.Operation, known: Dependences) -> ir.Operation | None:
    """One loop in the place of two; None where they must stay apart."""
    left, right = row_loop(first), row_loop(second)
    if left is None or right is None or left.extents != right.extents:
        return None
    if not _meet_at_rows(left, right, known):
        return None
    needed = known.rises_with(second, first)
    for op in needed or ():
        op.move_before(first)
    if needed is not None:
        return _merged(left, right)
    if known.may_sink(first, second):
        first.move_before(second)
        return _merged(left, right)
    return None


def _meet_at_rows(left: RowLoop, right: RowLoop, known: Dependences) -> bool:
    """Whether what one loop writes and the other touches is touched at the own rows of both."""
    ours, theirs = known.effects[left.op], known.effects[right.op]
    shared = (ours.writes & theirs.touched) | (theirs.writes & ours.touched)
    if ANYWHERE in ours.touched | theirs.touched:
        return False
    named = effects_of(left.op).touched | effects_of(right.op).touched
    for memory in (m for m in named if known.names.get(m, m) in shared):
        # None for other accesses than of own rows; a row of one view may be two of another.
        if isinstance(memory, str):
            return False
        sources = {loop.source_of_rows(memory) for loop in (left, right)}
        if None in sources or len(sources) > 1:
            return False
    return True


def _merged(left: RowLoop, right: RowLoop) -> ir.Operation:
    for old, new in zip(right.counters, left.counters, strict=True):
        old.replace_all_uses_with(new)
    end = left.block.operations[len(left.block.operations) - 1].operation
    for op in right.operations:
        op.move_before(end)
    right.op.erase()
    return left.op


# ---- rows of temporaries -------------------------------------------------------------------------


def _shrink_block(block: ir.Block) -> None:
    for op in [o.operation for o in block.operations if o.operation.name == "memref.alloc"]:
        users = [use.owner.operation for use in op.results[0].uses]
        loops = {u.parent.operation for u in users if u.parent is not None}
        loop = row_loop(loops.pop()) if len(loops) == 1 else None
        if loop is not None and loop.source_of_rows(op.results[0]) is not None:
            _shrink(op, loop, users)


def _shrink(op: ir.Operation, loop: RowLoop, rows: list[ir.Operation]) -> None:
    """One row of a buffer in place of all, if the views of it are the same."""
    used = [use.owner.operation for row in rows for use in row.results[0].uses]
    if len({_part(row) for row in rows}) > 1 or any(op.name in VIEWS for op in used):
        return
    kind = ir.MemRefType(rows[0].results[0].type)
    with ir.InsertionPoint.at_block_begin(loop.block), op.location:
        made = memref.AllocOp(ir.MemRefType.get(kind.shape, kind.element_type), [], []).result
    for row in rows:
        row.results[0].replace_all_uses_with(made)
        row.erase()
    op.erase()


def _part(row: ir.Operation) -> tuple[str, ...]:
    names = ("static_offsets", "static_sizes", "static_strides")
    return (str(row.results[0].type), *(str(row.attributes[name]) for name in names))
