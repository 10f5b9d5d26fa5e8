"""Temporaries of a row that threads keep to themselves: registers instead of shared memory.

Before: every temporary of a row is shared, and threads wait for each other after every operation
After: a value of the row as a whole (its maximum, its sum) is in every thread, and elements that
only the thread uses that made them stay with it

Threads take the same elements in every operation over the row: runs of `lanes` neighbours, one run
for each thread, then the next ones. What LLVM unrolls it keeps in registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from math import prod

from ted.gpu.bodies import Operand, Work
from ted.gpu.vector_runs import lanes_along
from ted.machine import WARP
from ted.mlir import ir, memref
from ted.mlir.aliasing import root
from ted.mlir.combining import combiners
from ted.records import dataclass

PRIVATE = "#gpu.address_space<private>"
MOST_SLOTS = 8  # elements of one temporary that a thread keeps
RUN_POINTS = 4  # of a lane: from here on it takes runs
TEAM_POINTS = WARP // 4  # of a sum: more are shared by the threads of a team


@dataclass
class Registers:
    """Which temporaries are private, and where a thread has which of their elements."""

    threads: int
    lanes: int = 1
    sizes: dict[ir.Value, int] = field(default_factory=dict)  # of the private ones
    own: set[ir.Value] = field(default_factory=set)  # shared, with one thread for each element

    def slots(self, memory: ir.Value) -> int:
        """How many elements of a temporary one thread has."""
        size = self.sizes[memory]
        return 1 if size == 1 else -(-size // (self.threads * self.lanes)) * self.lanes

    def made(self, memory: ir.Value) -> ir.Value:
        """Private memory for a temporary; at the begin of the kernel."""
        element = ir.MemRefType(memory.type).element_type
        space = ir.Attribute.parse(PRIVATE)
        kind = ir.MemRefType.get([self.slots(memory)], element, memory_space=space)
        return memref.AllocaOp(kind, [], []).result

    def run_of(self, work: Work) -> int | None:
        """Neighbours that a thread takes at once, where private elements decide that."""
        memories = _memories(work)
        is_long = any(self.sizes.get(m, 1) > 1 for m in memories)
        return self.lanes if is_long or memories & self.own else None

    def is_for_all(self, work: Work) -> bool:
        """Whether each thread makes the results for itself."""
        return all(self.sizes.get(o.value) == 1 for o in work.outputs)

    def placed(self, work: Work, private: Mapping[ir.Value, ir.Value]) -> Work:
        """The work on what a thread has of the private temporaries."""

        def changed(operands: Iterable[Operand]) -> tuple[Operand, ...]:
            return tuple(
                Operand(private[o.value], self._slot(work, self.sizes[o.value]))
                if o.value in private
                else o
                for o in operands
            )

        return replace(work, inputs=changed(work.inputs), outputs=changed(work.outputs))

    def _slot(self, work: Work, size: int) -> ir.AffineMap:
        rank = len(work.extents)
        if size == 1:
            return ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_constant(0)])
        number = ir.AffineExpr.get_constant(0)
        for dim, extent in enumerate(work.extents):
            number = number * extent + ir.AffineExpr.get_dim(dim)
        turn = ir.AffineExpr.get_floor_div(number, self.threads * self.lanes)
        lane = ir.AffineExpr.get_mod(number, self.lanes)
        return ir.AffineMap.get(rank, 0, [turn * self.lanes + lane])


def registers_of(
    works: Mapping[ir.Operation, Work], temporaries: Iterable[ir.Value], threads: int
) -> Registers:
    """Choose the private temporaries of a row, and find what has one thread for each element."""
    sizes = {m: s for m in temporaries if (s := _own_size(works, m)) is not None}
    results = {o.value for w in works.values() for o in w.outputs} - sizes.keys()
    own = {m for m in results if _is_one_view(m) and (_own_size(works, m) or 0) > 1}
    long = own | {m for m, s in sizes.items() if s > 1}
    wishes = [preferred_lanes(w, threads) for w in works.values() if _memories(w) & long]
    found = Registers(threads, min(wishes, default=1), sizes, own)
    if any(found.slots(m) > MOST_SLOTS for m in sizes):
        found.sizes = {m: s for m, s in sizes.items() if s == 1}
    _drop_mixed(works, found.sizes)
    return found


def _own_size(works: Mapping[ir.Operation, Work], memory: ir.Value) -> int | None:
    """The elements of memory of which each is used by one thread or, as the only one, by all."""
    owners = [use.owner.operation for use in memory.uses]
    size = prod(ir.MemRefType(memory.type).shape)
    if not all(o in works or o.name == "memref.dealloc" for o in owners):
        return None
    return size if all(_is_own(w, memory, size) for w in works.values()) else None


def _is_one_view(memory: ir.Value) -> bool:
    """Whether no other view of the same memory is used inside of the row."""
    base, block = root(memory), memory.owner
    if isinstance(block, ir.Block) or base == memory:
        return False
    row = block.operation.parent
    users = [use.owner.operation for use in base.uses]
    inside = [o for o in users if o.parent == row]
    return inside == [block.operation]


def preferred_lanes(work: Work, threads: int) -> int:
    """Neighbouring points that a thread of so many should take at once; most have some then."""
    if work.reductions:
        points = prod(work.extents[d] for d in work.reductions)
        return lanes_along(work, work.reductions[-1]) if points >= WARP * RUN_POINTS else 1
    lanes = lanes_along(work, len(work.extents) - 1)
    return lanes if 2 * prod(work.extents) > lanes * threads else 1


def _drop_mixed(works: Mapping[ir.Operation, Work], sizes: dict[ir.Value, int]) -> None:
    """Keep no value of the row as a whole that is written together with what is shared."""
    count = -1
    while count != len(sizes):
        count = len(sizes)
        for work in works.values():
            results = {o.value for o in work.outputs}
            if not results <= sizes.keys():
                for memory in [m for m in results if sizes.get(m) == 1]:
                    del sizes[memory]


def _memories(work: Work) -> set[ir.Value]:
    return {o.value for o in (*work.inputs, *work.outputs)}


def _is_own(work: Work, memory: ir.Value, size: int) -> bool:
    """Whether each thread uses only the elements of a temporary that are its own."""
    operands = [o for o in (*work.inputs, *work.outputs) if o.value == memory]
    if size == 1 or not operands:
        return True
    if work.reductions:
        points = prod(work.extents[d] for d in work.reductions)
        is_of_team = points > TEAM_POINTS and combiners(work) is not None
        if not is_of_team or any(work.extents[d] > 1 for d in work.outer):
            return False
    return prod(work.extents) == size and all(_is_identity(work, o) for o in operands)


def _is_identity(work: Work, operand: Operand) -> bool:
    """Whether the element of a point has the point's number."""
    assert operand.amap is not None, "a temporary is memory"
    results = [e.maybe_downcast() for e in operand.amap.results]
    dims = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
    moving = [d for d in dims if work.extents[d] > 1]
    return moving == [d for d, e in enumerate(work.extents) if e > 1]
