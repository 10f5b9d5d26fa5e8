"""Loop nests over scalars -> one kernel: a thread for each point of the loops that are parallel.

Before: `scf.for %i ... { scf.for %j = %i to ... {...} {ted.parallel} } {ted.parallel}`
After: a thread for each (i, j) of the box around the triangle, with `scf.if` where the box is
larger. Other loops stay as they are, inside the thread: iterations of a parallel loop touch
different elements, so each thread runs them in the same order as one processor would. Where writes
at data may be atomic, every loop is parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ted.errors import CompileError
from ted.lowering.gpu.atomics import make_atomic, update_at_data
from ted.lowering.gpu.bodies import Work, work_of
from ted.lowering.gpu.index_ranges import Range, range_of
from ted.lowering.gpu.launching import launch, only_if
from ted.lowering.gpu.maps import THREADS, linear_thread
from ted.lowering.gpu.owners import keep_to_part, parts_of, write_at_data
from ted.lowering.gpu.points import below, delinearized, plus
from ted.lowering.gpu.reductions import one_result
from ted.lowering.gpu.starts import STRUCTURED
from ted.lowering.gpu.teams import WARP
from ted.lowering.loops import PARALLEL
from ted.mlir import arith, ir, scf
from ted.schedules.emit import constant
from ted.schedules.walking import constant_of, is_inside
from ted.schedules.walking import operations as found_inside

MOST_POINTS = 2**31 - 1  # of a kernel with atomic updates; loops further in are the thread's


@dataclass(frozen=True)
class _Counter:
    """A parallel loop, and a range that holds all values of its counter."""

    loop: ir.Operation
    range: Range

    @property
    def extent(self) -> int:
        return self.range[1] - self.range[0] + 1


def map_loops(operations: Sequence[ir.Operation], *, deterministic: bool = True) -> None:
    """Build the kernel of operations that stand one after the other, scalars and loops."""
    _hoist_buffers(operations)
    counters = _parallel(operations)
    every = [] if deterministic else _around_update(operations)
    is_atomic = len(every) > len(counters)
    _map_box(operations, every if is_atomic else counters, atomic=is_atomic)


def _around_update(operations: Sequence[ir.Operation]) -> list[_Counter]:
    """The loops that become threads where the one update at data of a nest is atomic."""
    update = update_at_data(operations)
    if update is None:
        return []
    around: list[_Counter] = []
    for counter in _chain(operations, is_marked=False):
        points = prod(c.extent for c in [*around, counter])
        if points > MOST_POINTS or not is_inside(update.store, counter.loop):
            break
        around.append(counter)
    return around


def _map_box(
    operations: Sequence[ir.Operation], counters: Sequence[_Counter], *, atomic: bool = False
) -> None:
    """A thread for each point of the loops, times the owners of what is written at data."""
    is_shared = not atomic and len(_loops_of(operations)) > len(counters)
    write = write_at_data(operations) if is_shared else None
    # Neighbours do not write the same element, and read along rows, if they differ in these.
    order = sorted(counters, key=lambda c: PARALLEL in c.loop.attributes)
    extents = [c.extent for c in order]
    parts = parts_of(write, prod(extents)) if write is not None else 1
    extents = [parts, *extents]
    total = prod(extents)
    threads = min(THREADS, max(WARP, -(-total // WARP) * WARP)) if total > 1 else 1
    blocks = -(-total // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        with only_if(None if total == blocks * threads else below(item, total)):
            part, *numbers = delinearized(item, extents)
            points = {c.loop: plus(v, c.range[0]) for v, c in zip(numbers, order, strict=True)}
            copies = _expanded(_copied(operations))
            shared = write_at_data(copies) if parts > 1 else None
            if shared is not None:
                keep_to_part(shared, part, parts)
            update = update_at_data(copies) if atomic else None
            if update is not None:
                make_atomic(update)
            loops = _candidates(copies, is_marked=not atomic)[: len(counters)]
            for loop, counter in zip(loops, counters, strict=True):
                _inline(loop, points[counter.loop])


def _loops_of(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    return [loop for op in operations for loop in found_inside(op, "scf.for")]


def _parallel(operations: Sequence[ir.Operation]) -> list[_Counter]:
    """The loops that become threads, outermost first: a chain, in a single loop nest."""
    return _chain(operations, is_marked=True)


def _chain(operations: Sequence[ir.Operation], *, is_marked: bool) -> list[_Counter]:
    """The loops from the outermost one on that lie in each other and have known ranges."""
    if len(operations) != 1:
        return []
    chain: list[_Counter] = []
    loops = _candidates(operations, is_marked=is_marked)
    for k, loop in enumerate(loops):
        around = range_of(loop.regions[0].blocks[0].arguments[0])
        # Loops side by side may need each other's results: the thread runs them one by one.
        if around is None or not all(is_inside(inner, loop) for inner in loops[k + 1 :]):
            break
        chain.append(_Counter(loop, around))
    return chain


def has_steps(loop: ir.Operation) -> bool:
    """Whether a loop, which is serial itself, has loops side by side that are parallel."""
    if PARALLEL in loop.attributes or len(loop.results):
        return False
    return bool(_marked([loop])) and not _parallel([loop])


def _marked(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    return _candidates(operations, is_marked=True)


def _candidates(operations: Sequence[ir.Operation], *, is_marked: bool) -> list[ir.Operation]:
    """Loops, or those with the mark, in the order of the text, outer ones before inner ones."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        is_unit = op.name == "scf.for" and constant_of(op.operands[2]) == 1
        fits = PARALLEL in op.attributes or not is_marked
        if is_unit and fits and not len(op.results):
            found.append(op)
        return ir.WalkResult.ADVANCE

    for op in operations:
        op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _hoist_buffers(operations: Sequence[ir.Operation]) -> None:
    """Buffers of a kernel are made by the host, before it."""
    for op in operations:
        for buffer in found_inside(op, "memref.alloc"):
            buffer.move_before(operations[0])


def _expanded(copies: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Whole operations in the middle of scalar code become loops of the thread."""
    left = [op for op in copies if op.name not in STRUCTURED]
    for op in copies:
        for inner in found_inside(op, *STRUCTURED):
            work = work_of(inner)
            if work is None:
                raise CompileError(f"gpu: work inside of conditions has one box, got {inner}")
            with ir.InsertionPoint(inner), inner.location:
                _loops(work, [])
            inner.erase()
    return left


def _loops(work: Work, outer: list[ir.Value]) -> None:
    if len(outer) == len(work.outer):
        one_result(work, outer)
        return
    loop = scf.ForOp(constant(0), constant(work.extents[work.outer[len(outer)]]), constant(1))
    with ir.InsertionPoint(loop.body):
        _loops(work, [*outer, loop.induction_variable])
        scf.YieldOp([])


def _copied(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    known: dict[ir.Value, ir.Value] = {}
    copies = []
    for op in operations:
        copy = op.clone().operation
        _use(copy, known)
        known.update(zip(op.results, copy.results, strict=True))
        copies.append(copy)
    return copies


def _use(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    def visit(inner: ir.Operation) -> ir.WalkResult:
        for k, operand in enumerate(inner.operands):
            if operand in known:
                inner.operands[k] = known[operand]
        return ir.WalkResult.ADVANCE

    if known:
        op.walk(visit)


def _inline(loop: ir.Operation, value: ir.Value) -> None:
    """Run the body of a loop once, at one value of its counter, if the loop comes there."""
    lower, upper = loop.operands[0], loop.operands[1]
    block = loop.regions[0].blocks[0]
    low, high = range_of(lower), range_of(upper)
    # A range of one value at both ends is the box itself.
    exact = low is not None and high is not None and low[0] == low[1] and high[0] == high[1]
    with ir.InsertionPoint(loop), loop.location:
        condition = None
        if not exact:
            above = arith.CmpIOp(arith.CmpIPredicate.sle, lower, value).result
            under = arith.CmpIOp(arith.CmpIPredicate.slt, value, upper).result
            condition = arith.AndIOp(above, under).result
        *body, end = [o.operation for o in block.operations]
        target = loop
        if condition is not None:
            branch = scf.IfOp(condition)
            with ir.InsertionPoint(branch.then_block):
                target = scf.YieldOp([]).operation
        block.arguments[0].replace_all_uses_with(value)
        for op in body:
            op.move_before(target)
    loop.erase()
    del end
