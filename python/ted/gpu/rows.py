"""A loop over rows -> one kernel, a block or a warp for each row.

Before: `scf.forall (%i) in (512) { alloc; linalg.generic ...; linalg.generic ... }`
After: `gpu.launch blocks(512)`: the threads of the block share the points of each operation, and
wait for each other where one needs what others have made. Temporaries are in registers, if each
element has one thread, else in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ted.errors import CompileError
from ted.gpu.bodies import Work, work_of
from ted.gpu.cooperative_groups import Team
from ted.gpu.dead_fills import known_starts, structured
from ted.gpu.launching import launch, only_if
from ted.gpu.maps import run_points
from ted.gpu.points import below, delinearized, plus, times
from ted.gpu.reductions import Sum, one_result, result_of_team, team_results, whole_sum
from ted.gpu.row_groups import operations_of, team_of, works_of
from ted.gpu.row_registers import TEAM_POINTS, Registers, preferred_lanes, registers_of
from ted.gpu.strided_footprints import footprints_of
from ted.gpu.strided_loops import strided_loop
from ted.machine import SHARED_BUDGET, WARP
from ted.mlir import arith, ir, memref, scf
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.building import constant
from ted.mlir.combining import combiners
from ted.mlir.dependences import Dependences
from ted.mlir.effects import Effects, effects_of
from ted.mlir.queries import use_known
from ted.mlir.scalars import byte_width


def rows_of(op: ir.Operation) -> list[int]:
    """The extents of an `scf.forall`."""
    return list(ir.DenseI64ArrayAttr(op.attributes["staticUpperBound"]))


def plan_of(op: ir.Operation) -> tuple[int, int]:
    """Teams of a block, each for a row, and threads of a team."""
    return team_of(list(operations_of(op.regions[0].blocks[0])), prod(rows_of(op)))


def map_rows(op: ir.Operation, parts: int, team_threads: int) -> None:
    """Build the kernel of an `scf.forall`, before it; `parts` rows a block.

    Raises: CompileError for an operation that has no code here, or extents that are not known.
    """
    extents = rows_of(op)
    block = op.regions[0].blocks[0]
    operations, rows = list(operations_of(block)), prod(extents)
    works, threads = works_of(operations), parts * team_threads
    blocks = -(-rows // parts)
    temporaries = [o for o in operations if o.name == "memref.alloc"]
    registers = registers_of(works, [o.results[0] for o in temporaries], team_threads)
    shared = [o for o in temporaries if o.results[0] not in registers.sizes]
    buffers = _shared_buffers(shared, rows, parts)
    with launch(blocks, threads) as kernel:
        team = Team(kernel, parts)
        private = {memory: registers.made(memory) for memory in registers.sizes}
        with only_if(None if blocks * parts == rows else below(team.number, rows)):
            _Row(team, block, buffers, registers, private).build(extents)


def _shared_buffers(
    temporaries: list[ir.Operation], rows: int, parts: int
) -> dict[ir.Operation, ir.Value]:
    """Buffers, with a part per row, for the temporaries that do not fit into shared memory."""
    left, found = SHARED_BUDGET // parts, {}  # beyond: a buffer with a part for each row
    for op in sorted(temporaries, key=_bytes):
        if _bytes(op) <= left:
            left -= _bytes(op)
            continue
        kind = ir.MemRefType(op.results[0].type)
        whole = ir.MemRefType.get([rows, *kind.shape], kind.element_type)
        found[op] = memref.AllocOp(whole, [], []).result
    return found


def _bytes(op: ir.Operation) -> int:
    kind = ir.MemRefType(op.results[0].type)
    return prod(kind.shape) * byte_width(kind.element_type)


class _Row:
    def __init__(
        self,
        team: Team,
        source: ir.Block,
        buffers: dict[ir.Operation, ir.Value],
        registers: Registers,
        private: dict[ir.Value, ir.Value],
    ) -> None:
        self.team = team
        self.source = source
        self.buffers = buffers
        self.registers = registers
        self.private = private
        self.known: dict[ir.Value, ir.Value] = {}
        # What was used since the threads last waited for each other.
        self.used = Effects()

    def build(self, extents: list[int]) -> None:
        counters = delinearized(self.team.number, extents)
        self.known.update(zip(self.source.arguments, counters, strict=True))
        self._block(self.source)

    def _block(self, block: ir.Block) -> None:
        operations = [o.operation for o in block.operations][:-1]
        starts = known_starts(Dependences(block, footprints_of))
        for op in operations:
            if op in starts.folded:
                continue
            if op.name == "memref.alloc":
                if op.results[0] not in self.private:
                    self.known[op.results[0]] = self._memory(op)
            elif structured(op):
                self._work(op, starts.of.get(op, ()))
            elif op.name in VIEWS or op.name.startswith(("arith.", "affine.")):
                self._copy(op)
            elif op.name == "scf.for":
                self._loop(op)
            elif op.name != "memref.dealloc":
                raise CompileError(f"gpu: no code for {op.name} in a loop over rows, got {op}")

    def _loop(self, op: ir.Operation) -> None:
        """Rows one after the other; in shared memory, one takes the place of another."""
        lower, upper, step = (self.known.get(operand, operand) for operand in op.operands)
        loop = scf.ForOp(lower, upper, step)
        body = op.regions[0].blocks[0]
        self.known[body.arguments[0]] = loop.induction_variable
        with ir.InsertionPoint(loop.body):
            self._block(body)
            self.team.wait()
            scf.YieldOp([])
        self.used = Effects()

    def _memory(self, op: ir.Operation) -> ir.Value:
        kind = ir.MemRefType(op.results[0].type)
        if op not in self.buffers:
            return self.team.shared(kind.shape, kind.element_type)
        rank = len(kind.shape)
        part = memref.subview(
            self.buffers[op], [self.team.number, *[0] * rank], [1, *kind.shape], [1] * (rank + 1)
        )
        shape = ir.MemRefType(part.type)
        strides, offset = shape.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, strides[1:])
        flat = ir.MemRefType.get(kind.shape, kind.element_type, layout=layout)
        rows = [[0, 1], *[[k] for k in range(2, rank + 1)]]
        return memref.CollapseShapeOp(flat, part, rows).result

    def _copy(self, op: ir.Operation) -> None:
        copy = op.clone().operation
        use_known(copy, self.known)
        if op.name in VIEWS:
            copy = _viewed(copy)
        self.known.update(zip(op.results, copy.results, strict=True))

    def _work(self, op: ir.Operation, starts: tuple[ir.Value | None, ...]) -> None:
        if op.name == "memref.copy" and op.operands[0] == op.operands[1]:
            return
        self._wait_before(op)
        copy = op.clone().operation
        use_known(copy, self.known)
        work = work_of(copy)
        if work is None:
            raise CompileError(f"gpu: operations of a row have known extents, got {op}")
        inherited = tuple(s and self.known.get(s, s) for s in starts)
        self._run(replace(work, starts=inherited))
        copy.erase()

    def _wait_before(self, op: ir.Operation) -> None:
        """Wait if the operation meets what other threads have used since the last time."""
        alone = {*self.private, *map(root, self.registers.own)}
        found = effects_of(op).without(alone)
        if not self.used.may_swap(found):
            self.team.wait()
            self.used = Effects()
        self.used |= found

    def _run(self, work: Work) -> None:
        run, for_all = self.registers.run_of(work), self.registers.is_for_all(work)
        work = self.registers.placed(work, self.private)
        if not work.reductions:
            self._points(work, run, for_all=for_all)
            return
        found = combiners(work)
        results = prod(work.extents[d] for d in work.outer)
        points = prod(work.extents[d] for d in work.reductions)
        if found is None or points <= TEAM_POINTS or results >= self.team.threads:
            count = None if for_all else results
            self._each(count, lambda k: one_result(work, self._outer(work, k)))
            return
        whole = whole_sum(work, found, run)
        if results == 1:
            result_of_team(self.team, whole, constant(0), for_all=for_all)
            return
        self._by_warps(results, whole)

    def _outer(self, work: Work, result: ir.Value) -> list[ir.Value]:
        return delinearized(result, [work.extents[d] for d in work.outer])

    def _by_warps(self, results: int, whole: Sum) -> None:
        """A warp for each result; every warp goes round equally often, since all lanes shuffle."""
        warps = self.team.threads // WARP
        warp = arith.DivUIOp(self.team.thread, constant(WARP)).result
        lane = arith.RemUIOp(self.team.thread, constant(WARP)).result
        rounds = -(-results // warps)

        loop = scf.ForOp(constant(0), constant(rounds), constant(1))
        with ir.InsertionPoint(loop.body):
            result = plus(times(loop.induction_variable, warps), warp)
            team_results(whole, result, lane, WARP, is_full=rounds * warps == results)
            scf.YieldOp([])

    def _points(self, work: Work, run: int | None, *, for_all: bool) -> None:
        lanes = run or preferred_lanes(work, self.team.threads)
        self._each(
            None if for_all else prod(work.extents) // lanes,
            lambda k: run_points(work, delinearized(times(k, lanes), work.extents), lanes),
        )

    def _each(self, count: int | None, body: Callable[[ir.Value], None]) -> None:
        """The threads share `count` things; None: each does the only one."""
        if count is None:
            body(constant(0))
            return
        thread, threads = self.team.thread, self.team.threads
        if count <= threads:
            with only_if(None if count == threads else below(thread, count)):
                body(thread)
            return
        strided_loop(thread, count, threads, [], lambda k, _: body(k) or [])


def _viewed(op: ir.Operation) -> ir.Operation:
    """A view whose source has changed its memory space or layout: with the type that follows."""
    source, old = ir.MemRefType(op.operands[0].type), ir.MemRefType(op.results[0].type)
    if str(source.memory_space) == str(old.memory_space):  # an attribute, or None
        return op
    kind = ir.MemRefType.get(
        old.shape, old.element_type, layout=old.layout, memory_space=source.memory_space
    )
    made = ir.Operation.create(
        op.name, results=[kind], operands=list(op.operands),
        attributes={name: op.attributes[name] for name in op.attributes},
    )  # fmt: skip
    op.erase()
    return made
