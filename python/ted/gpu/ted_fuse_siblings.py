"""Operations over the same points -> one with several results: the pass `ted-fuse-siblings`.

Before: `z[i, j] = tanh(x[i, j])`, and behind it `dx[i, j] = dz[i, j] * (1 - z[i, j] * z[i, j])`;
or `dw[j] += dy[i, j] * x[i, j]`, and behind it `db[j] += dy[i, j]`
After: one `linalg.generic` with both results, so that what both read is read once, and what one
makes for the other stays in a register.

Maps, and sums over rows; each is merged with the first one behind it that shares memory with it,
where one of the two can be moved to the other. No temporary lives longer for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ted.gpu.bodies import work_of
from ted.gpu.collapsing import collapsed_extents
from ted.gpu.contractions import claimed_readers
from ted.gpu.fused_points import Access, Points, merge, points_of
from ted.gpu.strided_footprints import footprints_of
from ted.gpu.transposes import turn_of
from ted.linalg.contractions import MARK
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS
from ted.mlir.dependences import Dependences
from ted.mlir.effects import OUTSIDE
from ted.mlir.queries import defining, functions
from ted.records import dataclass

MOST_OPERANDS = 16  # distinct ones, each a pointer and a vector of elements in registers
MOST_OPERATIONS = 400  # of a body
MOST_SUMS = 4  # results of sums
MOST_TILES = 4  # operands of a map that are read across its rows, through shared memory
FEW_POINTS = 1 << 10
_LOOPS = ("scf.for", "scf.if", "scf.forall")


@dataclass(frozen=True)
class TedFuseSiblings:
    """Merge each map or sum with later ones over the same points, if nothing between needs it."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            for block in _blocks(function.entry_block):
                _Block(block).merge()


def _blocks(block: ir.Block) -> Iterator[ir.Block]:
    yield block
    for op in block.operations:
        if op.operation.name in _LOOPS:
            for inner in [b for region in op.operation.regions for b in region.blocks]:
                yield from _blocks(inner)


class _Block:
    """The operations of a block that touch memory, and the points of those that may be merged."""

    def __init__(self, block: ir.Block) -> None:
        self.block = block
        self.known = Dependences(block, footprints_of)
        operations = list(self.known.operations.values())
        claimed = claimed_readers(operations, self.known)
        found = {op: self._points(op) for op in operations if op not in claimed}
        self.points = {op: points for op, points in found.items() if points is not None}

    def merge(self) -> None:
        """Merge what can be merged."""
        for k in range(len(self.known.operations)):
            while (pair := self._partner(k)) is not None:
                self._join(k, *pair)

    def _points(self, op: ir.Operation) -> Points | None:
        """A map, or a sum of rows, as points; None for any other operation."""
        found = _points_of(op)
        mine = self.known.effects[op]
        return None if (mine.inside & mine.writes) - {OUTSIDE} else found

    # ---- what can be merged ----------------------------------------------------------------------

    def _partner(self, number: int) -> tuple[ir.Operation, bool] | None:
        """The first operation that this one can be merged with, and whether it goes down to it."""
        op = self.known.operations.get(number)
        if op is None or op not in self.points:
            return None
        known, points = self.known, self.points
        for k in sorted(known.readers(known.effects[op].touched)):
            other = known.operations[k]
            if k <= number or other not in points or not _are_alike(points[op], points[other]):
                continue
            if not known.are_point_by_point(op, other):
                continue
            if known.may_sink(op, other) and not self._is_kept(op, other):
                return other, True
            if known.rises_with(other, op) is not None and not self._is_early(op, other):
                return other, False
        return None

    def _is_kept(self, op: ir.Operation, place: ir.Operation) -> bool:
        """Whether a temporary would be kept longer, if what reads it moved down."""
        known = self.known
        return self._is_work_between(op, place) and any(
            self._is_temporary(one) and max(known.users([one])) < known.numbers[place]
            for one in known.effects[op].reads
        )

    def _is_early(self, place: ir.Operation, op: ir.Operation) -> bool:
        """Whether a temporary would be kept longer, if what writes it moved up."""
        return self._is_work_between(place, op) and any(
            map(self._is_temporary, self.known.effects[op].writes)
        )

    def _is_work_between(self, first: ir.Operation, last: ir.Operation) -> bool:
        """Whether anything of some size may begin or end between two operations."""
        low, high = (self.known.numbers[op] for op in (first, last))
        between = [op for k, op in self.known.operations.items() if low < k < high]
        return not all(map(self._is_light, between))

    def _is_light(self, op: ir.Operation) -> bool:
        """Whether one moves little memory, or only starts or ends what is there anyway."""
        if op in self.points:
            return prod(self.points[op].work.extents) <= FEW_POINTS
        is_start = op.name in ("linalg.fill", "memref.copy")
        return is_start or not self.known.effects[op].touched

    # ---- merging ---------------------------------------------------------------------------------

    def _join(self, number: int, other: ir.Operation, goes_down: bool) -> None:
        op, known = self.known.operations[number], self.known
        place = other if goes_down else op
        at = known.numbers[place]
        if not goes_down:
            for needed in known.rises_with(other, op) or ():
                needed.move_before(op)
        written = known.effects[other].writes
        left, right = self.points.pop(op), self.points.pop(other)
        for one in (op, other):
            known.forget(one)
        unwanted = {
            one
            for one in (a.memory for a in left.outputs)
            if self._is_temporary(one) and not known.users([one]) and one not in written
        }
        with ir.InsertionPoint(place), place.location:
            made = merge([left, right], unwanted)
        for one in (op, other):
            one.erase()
        for memory in unwanted:
            self._erase(memory)
        known.put(at, made)
        points = self._points(made)
        if points is not None:
            self.points[made] = points

    def _erase(self, memory: ir.Value) -> None:
        """Drop memory and its views, as far as nothing uses them."""
        for user in [use.owner.operation for use in memory.uses]:
            if user.name in VIEWS:
                self._erase(user.results[0])
        op = defining(memory)
        if op is not None and not list(memory.uses):
            self.known.forget(op)
            op.erase()

    def _is_temporary(self, memory: object) -> bool:
        """Whether some memory is there for this block only."""
        op = defining(memory) if isinstance(memory, ir.Value) else None
        return op is not None and op.name == "memref.alloc" and op.block == self.block


# ---- operations ----------------------------------------------------------------------------------


def _points_of(op: ir.Operation) -> Points | None:
    """A map, or a sum of rows in memory, as points; None for any other operation."""
    if op.name != "linalg.generic" or MARK in op.attributes:
        return None
    work = work_of(op)
    if work is None or not all(isinstance(o.value.type, ir.MemRefType) for o in work.outputs):
        return None
    if work.reductions and (not work.outer or work.reductions[0] != 0):
        return None
    found = points_of(work)
    return None if any(map(_jumps, found.outputs)) else found


def _jumps(access: Access) -> bool:
    """Whether neighbouring points do not write side by side: other parts go in between."""
    sides = access.footprint.sides if access.footprint else ()
    return any(abs(step) > 1 for _, step in sides[-1:])


def _are_alike(left: Points, right: Points) -> bool:
    """Whether two operations have the same points, and few enough operands together."""
    a, b = left.work, right.work
    if a.parallel != b.parallel and (a.reductions or b.reductions):
        return False
    is_same = a.extents == b.extents
    if not is_same and (a.reductions or collapsed_extents(a) != collapsed_extents(b)):
        return False
    outputs = {o.key for o in (*left.outputs, *right.outputs)}
    operands = {o.key for o in (*left.reads, *right.reads) if o.operand.amap is not None} | outputs
    count = len(left.body.operations) + len(right.body.operations)
    if len(operands) > MOST_OPERANDS or count > MOST_OPERATIONS:
        return False
    if a.reductions:
        return len(outputs) <= MOST_SUMS
    turns = [turn for turn in (turn_of(a), turn_of(b)) if turn is not None]
    is_one = len({turn.across for turn in turns}) <= 1 and (is_same or not turns)
    return is_one and sum(len(turn.inputs) for turn in turns) <= MOST_TILES
