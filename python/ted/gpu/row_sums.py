"""Sums over rows -> into the loop over these rows, by groups of rows.

Before: `scf.forall (%i) in (4096)` that makes `%dx[%i, ..]`, then `%dw[j] += dy[i, j] * x[i, j]`
After: `scf.forall (%g) in (512)` around `scf.for` over the 8 rows of a group; each row adds to the
accumulators of its group, which stay with the threads, and `%dw[j] += part[g, j]` follows

What the sums read is then read once, and made for one row at a time. Groups are as many as keep a
large GPU busy, and of so many rows that their accumulators are few beside the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.gpu.row_groups import team_of, works_of
from ted.gpu.row_loops import RowLoop, is_by_row, leave_rows, row_loop, row_of
from ted.linalg.contractions import MARK
from ted.linalg.slices import slice_at
from ted.machine import BUSY_BLOCKS
from ted.mlir import arith, ir, linalg, memref, scf
from ted.mlir.aliasing import root
from ted.mlir.building import constant
from ted.mlir.dependences import Dependences
from ted.mlir.filling import build_fill
from ted.mlir.generic import Generic, empty_generic, generic_of, set_reductions
from ted.mlir.queries import defining
from ted.mlir.scalars import byte_width
from ted.mlir.storage import allocated, forall
from ted.records import dataclass

LEAST_ROWS = 6  # of a group: its accumulators are written once and read once for all of them
# What is on its way to and from memory at one time, so that waiting for it does not matter.
POINTS_AT_ONCE = 5 << 17
MOST_THREADS_AT_ONCE = 1 << 18
MOST_BYTES = 1 << 11  # an element for each thread: with more, threads have too few registers
WORTH_POINTS = 1 << 22  # a smaller tensor is still in the cache when sums read it again


@dataclass(frozen=True)
class _Group:
    """Rows of a group, groups, and accumulators of a group: of the one at work, and of all."""

    loop: RowLoop
    rows: int
    groups: int
    accumulators: list[tuple[ir.Value, ir.Value]]


def take_sums(op: ir.Operation) -> _Group | None:
    """Put the later sums over the rows of a loop into it, as far as it is worth it.

    The loop is right only after `split_rows`: all its iterations add to the same accumulators.
    """
    loop = row_loop(op)
    if loop is None:
        return None
    _, threads = team_of(loop.operations, prod(loop.extents))
    rows, groups = _sizes(loop, threads)
    found = [s for s in _later(op) if _is_sum_of_rows(s, loop)] if rows else []
    found = [s for s in found if threads * _width(s) <= MOST_BYTES]
    accumulators = [_taken(s, loop, groups) for s in found if _is_ready(s, loop)]
    return _Group(loop, rows, groups, accumulators) if accumulators else None


def _sizes(loop: RowLoop, threads: int) -> tuple[int, int]:
    """Rows of a group and the number of groups; no rows where it is not worth it."""
    count, works = prod(loop.extents), works_of(loop.operations)
    points = max((prod(w.extents) for w in works.values()), default=1)
    at_once = min(POINTS_AT_ONCE // points, MOST_THREADS_AT_ONCE // threads)
    rows = max(LEAST_ROWS, -(-count // max(BUSY_BLOCKS, at_once)))
    groups = -(-count // rows)
    is_worth = groups >= BUSY_BLOCKS and count * points >= WORTH_POINTS
    return (rows, groups) if is_worth else (0, 0)


def _width(op: ir.Operation) -> int:
    return byte_width(ir.MemRefType(op.operands[len(op.operands) - 1].type).element_type)


def _later(op: ir.Operation) -> list[ir.Operation]:
    operations = [o.operation for o in op.block.operations]
    return operations[operations.index(op) + 1 :]


def _is_sum_of_rows(op: ir.Operation, loop: RowLoop) -> bool:
    """Whether the leading dims of an operation are the rows, and it sums over them alone."""
    generic, rank = generic_of(op), len(loop.extents)
    if generic is None or MARK in op.attributes or len(op.operands) < 2:
        return False
    if generic.reductions != (True,) * rank + (False,) * (generic.rank - rank):
        return False
    if generic.rank == rank or generic.dims is None or generic.extents is None:
        return False
    *inputs, output = generic.dims
    rows = list(range(rank))
    fits = all(p[:rank] == rows or min(p, default=rank) >= rank for p in inputs)
    is_one = len(generic.outputs) == 1 and output == list(range(rank, generic.rank))
    is_memory = all(isinstance(v.type, ir.MemRefType) for v in op.operands)
    if not (fits and is_one and is_memory and any(p[:rank] == rows for p in inputs)):
        return False
    return generic.extents[:rank] == tuple(loop.extents) and _is_sum(generic)


def _is_sum(generic: Generic) -> bool:
    total = generic.body.arguments[len(generic.operands) - 1]
    last = defining(generic.yielded[0], "arith.addf", "arith.subf")
    if generic.asks_where or last is None:
        return False
    return last.operands[0] == total and len(list(total.uses)) == 1


def _is_ready(op: ir.Operation, loop: RowLoop) -> bool:
    """Whether all that a sum reads is there when the loop is, and rows that it makes are rows."""
    inputs = [op.operands[k] for k in range(len(op.operands) - 1)]
    known = Dependences(op.block)
    made = known.effects[loop.op].writes
    for value, amap in zip(inputs, Generic(op).maps, strict=False):
        is_row = is_by_row(amap, len(loop.extents))
        source = value
        if known.named([value]) & made:
            source = loop.source_of_rows(root(value)) if is_row else None
        owner = defining(value)
        is_known = owner is None or owner.block != op.block or owner.is_before_in_block(loop.op)
        if source != value or not is_known:
            return False
    return known.keeps(inputs, loop.op, op)


def _taken(op: ir.Operation, loop: RowLoop, groups: int) -> tuple[ir.Value, ir.Value]:
    """Add the row of an iteration to accumulators, and sum over those of all groups afterwards."""
    rank, maps = len(loop.extents), Generic(op).maps
    last = len(op.operands) - 1
    kind = ir.MemRefType(op.operands[last].type)
    with ir.InsertionPoint(loop.op), op.location:
        total = allocated(kind.shape, kind.element_type)
        parts = allocated([groups, *kind.shape], kind.element_type)
    end = loop.block.operations[-1].operation
    with ir.InsertionPoint(end), op.location:
        rows = [_row(op.operands[k], maps[k], loop) for k in range(last)]
        clone = op.clone().operation
        for k, row in enumerate([*rows, total]):
            clone.operands[k] = row
    leave_rows(clone, rank)
    set_reductions(clone, [False] * (maps[0].n_dims - rank))
    _sum_parts(op, parts)
    return total, parts


def _row(value: ir.Value, amap: ir.AffineMap, loop: RowLoop) -> ir.Value:
    """The row of an iteration, by the view of it that the loop has already if it has one."""
    made = defining(row_of(value, amap, loop.counters))
    if made is None or made.block != loop.block:
        return value
    for op in loop.operations:
        same = op.name == "memref.subview" and op != made and list(op.operands) == [*made.operands]
        if same and op.results[0].type == made.results[0].type:
            made.erase()
            return op.results[0]
    return made.results[0]


# ---- groups --------------------------------------------------------------------------------------


def split_rows(group: _Group) -> None:
    """Let an iteration do the rows of a group one after the other, from accumulators of zero."""
    op, accumulators = group.loop.op, group.accumulators

    def rows(numbers: list[ir.Value]) -> None:
        own = [_zeros(total) for total, _ in accumulators]
        _rows_of(group, *numbers)
        for (total, parts), mine in zip(accumulators, own, strict=True):
            memref.CopyOp(mine, slice_at(parts, 0, *numbers))
            total.replace_all_uses_with(mine)

    with ir.InsertionPoint(op), op.location:
        forall([group.groups], rows)
    for total, _ in accumulators:
        made_first = defining(total)
        assert made_first is not None, "accumulators are allocated"
        made_first.erase()
    op.erase()


def _zeros(like: ir.Value) -> ir.Value:
    made = memref.AllocOp(ir.MemRefType(like.type), [], []).result
    zero = arith.ConstantOp(ir.MemRefType(like.type).element_type, 0.0).result
    build_fill(zero, made)
    return made


def _rows_of(group: _Group, number: ir.Value) -> None:
    """The loop over the rows of a group; the last group may have fewer."""
    loop, count = group.loop, prod(group.loop.extents)
    first = arith.MulIOp(number, constant(group.rows)).result
    rows = constant(group.rows)
    if count % group.rows:
        left = arith.SubIOp(constant(count), first).result
        rows = arith.MinUIOp(rows, left).result
    made = scf.ForOp(constant(0), rows, constant(1))
    with ir.InsertionPoint(made.body):
        row = arith.AddIOp(first, made.induction_variable).result
        counters = _counters(row, loop.extents)
        scf.YieldOp([])
    end = made.body.operations[-1].operation
    for old, new in zip(loop.counters, counters, strict=True):
        old.replace_all_uses_with(new)
    for op in loop.operations:
        op.move_before(end)


def _counters(number: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    found = []
    for extent in reversed(extents[1:]):
        found.append(arith.RemUIOp(number, constant(extent)).result)
        number = arith.DivUIOp(number, constant(extent)).result
    return [number, *reversed(found)]


def _sum_parts(op: ir.Operation, parts: ir.Value) -> None:
    """The sum over rows becomes one over the accumulators of groups."""
    output = op.operands[len(op.operands) - 1]
    rank = len(ir.MemRefType(output.type).shape)
    every = ir.AffineMap.get_identity(rank + 1)
    kept = ir.AffineMap.get(rank + 1, 0, [ir.AffineExpr.get_dim(k + 1) for k in range(rank)])
    with ir.InsertionPoint(op), op.location:
        made = empty_generic([parts], [output], (every, kept), [True, *[False] * rank])
        block = made.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            part, total = block.arguments
            linalg.YieldOp([arith.AddFOp(total, part).result])
    op.erase()
