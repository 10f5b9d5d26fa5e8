"""Loops over the same rows -> one loop, one kernel: the pass `ted-fuse-row-loops`.

Before: `scf.forall (%i) in (512)` that makes `%y[%i, ..]`, then one that reads `%y[%i, ..]`
After: one `scf.forall` that does both for a row

A row then stays in the first cache, or in shared memory: a temporary of which only one row at a
time is used becomes that row. Loops are joined where both touch what one of them writes at their
own rows only, and what stands between lets the second go up or the first go down. Sums over many
rows follow (`row_sums.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ted.gpu.row_loops import RowLoop, row_loop
from ted.gpu.row_sums import split_rows, take_sums
from ted.gpu.ted_resolve_donations import donated_pairs
from ted.mlir import ir, memref
from ted.mlir.aliasing import VIEWS, touched
from ted.mlir.queries import defining, functions

_MOVABLE = (*VIEWS, "memref.alloc", "arith.constant")
_HOST_LOOPS = ("scf.for", "scf.if")


@dataclass(frozen=True)
class TedFuseRowLoops:
    """Join each loop over rows with later ones, and keep single rows of their temporaries."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            names = {result: source for source, result in donated_pairs(function)}
            for block in _blocks(function.entry_block):
                _join_block(block, names)
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


def _join_block(block: ir.Block, names: dict[ir.Value, ir.Value]) -> None:
    waiting = [o.operation for o in block.operations if row_loop(o.operation) is not None]
    while waiting:
        first, *waiting = waiting
        for k, second in enumerate(waiting):
            joined = _joined(first, second, names)
            if joined is not None:
                # Not by looking for the second one, which is gone.
                waiting = [joined, *waiting[:k], *waiting[k + 1 :]]
                break


def _joined(
    first: ir.Operation, second: ir.Operation, names: dict[ir.Value, ir.Value]
) -> ir.Operation | None:
    """One loop in the place of two; None where they must stay apart."""
    left, right = row_loop(first), row_loop(second)
    if left is None or right is None or left.extents != right.extents:
        return None
    if not _meet_at_rows(left, right, names):
        return None
    between = _between(first, second)
    if _is_free(second, between, names) and all(map(_can_move, _needs(second, first))):
        for op in _needs(second, first):
            op.move_before(first)
        return _merged(left, right)
    if _is_free(first, between, names):
        first.move_before(second)
        return _merged(left, right)
    return None


def _meet_at_rows(left: RowLoop, right: RowLoop, names: dict[ir.Value, ir.Value]) -> bool:
    """Whether what one loop writes and the other touches is touched at the own rows of both."""
    reads, writes = touched(left.op)
    more_reads, more_writes = touched(right.op)
    used, more_used = reads | writes, more_reads | more_writes
    if any(_named([one], names) & _named(more_used - {one}, names) for one in used):
        return False  # one memory under two names
    shared = (writes & more_used) | (more_writes & used)
    for memory in shared:
        # None for other accesses than of own rows; a row of one view may be two of another.
        ours, theirs = (loop.source_of_rows(memory) for loop in (left, right))
        if ours is None or theirs is None or ours != theirs:
            return False
    return True


def _named(memory: Iterable[ir.Value], names: dict[ir.Value, ir.Value]) -> set[ir.Value]:
    return {names.get(m, m) for m in memory}


def _between(first: ir.Operation, second: ir.Operation) -> list[ir.Operation]:
    operations = [o.operation for o in first.block.operations]
    return operations[operations.index(first) + 1 : operations.index(second)]


def _is_free(op: ir.Operation, others: list[ir.Operation], names: dict[ir.Value, ir.Value]) -> bool:
    """Whether an operation may change places with all others."""
    reads, writes = (_named(m, names) for m in touched(op))
    for other in others:
        if other.name in _MOVABLE:
            continue
        more_reads, more_writes = (_named(m, names) for m in touched(other))
        if writes & (more_reads | more_writes) or reads & more_writes:
            return False
    return True


def _needs(op: ir.Operation, place: ir.Operation) -> list[ir.Operation]:
    """What makes the values that an operation needs, and stands behind a place, in order."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for value in inner.operands:
            owner = defining(value)
            if owner is not None and owner.block == place.block and place.is_before_in_block(owner):
                found.extend(o for o in (*_needs(owner, place), owner) if o not in found)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _can_move(op: ir.Operation) -> bool:
    return op.name in _MOVABLE


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
