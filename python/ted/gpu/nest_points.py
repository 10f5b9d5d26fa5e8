"""One point of a loop nest over scalars: the nest copied, with loops run once at given values.

Before: `scf.for %i ... { scf.for %j ... {...} }`      After: the body, at a value of %i and of %j
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.errors import CompileError
from ted.gpu.bodies import Work, work_of
from ted.gpu.dead_fills import STRUCTURED
from ted.gpu.reductions import one_result
from ted.linalg.loops import PARALLEL, PARALLEL_INSIDE
from ted.mlir import arith, ir, scf
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.building import constant
from ted.mlir.index_values import Range, range_of
from ted.mlir.queries import constant_of, copied_with, is_inside
from ted.mlir.queries import operations as found_inside
from ted.records import dataclass

_MARKS = frozenset((PARALLEL, PARALLEL_INSIDE))
_SUBSCRIPTS = {"memref.load": 1, "memref.store": 2}  # where they begin


@dataclass(frozen=True)
class Counter:
    """A loop that is run at one value, and a range that holds all values of its counter."""

    loop: ir.Operation
    range: Range

    @property
    def extent(self) -> int:
        """How many values that are."""
        return self.range[1] - self.range[0] + 1

    @property
    def value(self) -> ir.Value:
        """The counter."""
        return self.loop.regions[0].blocks[0].arguments[0]


def chain_of(operations: Sequence[ir.Operation], *, is_marked: bool) -> list[Counter]:
    """The loops from the outermost one on that lie in each other and have known ranges."""
    if len(operations) != 1:
        return []
    chain: list[Counter] = []
    loops = candidates(operations, is_marked=is_marked)
    for k, loop in enumerate(loops):
        around = range_of(loop.regions[0].blocks[0].arguments[0])
        # Loops side by side may need each other's results: the thread runs them one by one.
        if around is None or not all(is_inside(inner, loop) for inner in loops[k + 1 :]):
            break
        chain.append(Counter(loop, around))
    return chain


def candidates(operations: Sequence[ir.Operation], *, is_marked: bool) -> list[ir.Operation]:
    """Loops, or those with the mark, in the order of the text, outer ones before inner ones.

    A mark says nothing of what is around the loop: the next turn of a loop that goes through time
    may read what other threads write in this one.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        is_unit = op.name == "scf.for" and constant_of(op.operands[2]) == 1
        fits = not is_marked or (PARALLEL in op.attributes and _is_so_through_time(op, operations))
        if is_unit and fits and not len(op.results):
            found.append(op)
        return ir.WalkResult.ADVANCE

    for op in operations:
        op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_so_through_time(loop: ir.Operation, operations: Sequence[ir.Operation]) -> bool:
    """Whether the turns of a parallel loop stay apart in all turns of the loops around it."""
    around, inner = None, loop
    while inner not in operations:
        parent = inner.parent
        assert parent is not None, "it is inside of one of these"
        inner = parent.operation
        if inner.name == "scf.for" and _MARKS.isdisjoint(inner.attributes):
            around = inner
    return around is None or _stay_apart(loop, around)


def _stay_apart(loop: ir.Operation, around: ir.Operation) -> bool:
    """Whether what is written is met at the counter of the loop, by one subscript of all."""
    counter = loop.regions[0].blocks[0].arguments[0]
    met: dict[ir.Value, list[tuple[ir.Value, list[ir.Value]]]] = {}  # by the memory of views
    written: set[ir.Value] = set()
    unknown: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        memories = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if op.name in _SUBSCRIPTS:
            (memory,), subscripts = memories, list(op.operands)[_SUBSCRIPTS[op.name] :]
            met.setdefault(root(memory), []).append((memory, subscripts))
            written.update([root(memory)] if op.name == "memref.store" else ())
        elif memories and op.name not in VIEWS:
            unknown.append(op)
        return ir.WalkResult.ADVANCE

    around.walk(visit)
    shared = [met[memory] for memory in written if not _is_of(loop, memory)]
    return not unknown and all(_is_counted(accesses, counter) for accesses in shared)


def _is_counted(accesses: Sequence[tuple[ir.Value, list[ir.Value]]], counter: ir.Value) -> bool:
    """Whether all are accesses of one view that have the counter as the same subscript."""
    views, subscripts = zip(*accesses, strict=True)
    places = zip(*subscripts, strict=True)
    return len({*views}) == 1 and any(all(s == counter for s in place) for place in places)


def _is_of(loop: ir.Operation, memory: ir.Value) -> bool:
    """Whether each turn of a loop has memory of its own."""
    return not isinstance(memory.owner, ir.Block) and is_inside(memory.owner.operation, loop)


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


def copied_nest(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The nest again, here, as scalars and loops alone.

    Raises: CompileError for an operation inside of a condition whose extents are not known.
    """
    known: dict[ir.Value, ir.Value] = {}
    return _expanded([copied_with(op, known) for op in operations])


def run_once(loop: ir.Operation, value: ir.Value) -> None:
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
