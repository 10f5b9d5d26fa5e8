"""Operations over the same points -> one with several results: the pass `ted-fuse-siblings`.

Before: `z[i, j] = tanh(x[i, j])`, and behind it `dx[i, j] = dz[i, j] * (1 - z[i, j] * z[i, j])`;
or `dw[j] += dy[i, j] * x[i, j]`, and behind it `db[j] += dy[i, j]`
After: one `linalg.generic` with both results, so that what both read is read once, and what one
makes for the other stays in a register.

Maps, and sums over rows; each is merged with the first one behind it that shares memory with it,
where one of the two can be moved to the other. No temporary lives longer for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from math import prod

from ted.gpu.bodies import work_of
from ted.gpu.collapsing import collapsed_extents
from ted.gpu.contractions import claimed_readers
from ted.gpu.fused_points import Access, Points, merge, points_of
from ted.gpu.ted_resolve_donations import donated_pairs
from ted.gpu.transposes import turn_of
from ted.linalg.contractions import MARK
from ted.mlir import ir
from ted.mlir.aliasing import VIEWS, touched
from ted.mlir.queries import defining, functions, operations

MOST_OPERANDS = 16  # distinct ones, each a pointer and a vector of elements in registers
MOST_OPERATIONS = 400  # of a body
MOST_SUMS = 4  # results of sums
MOST_TILES = 4  # operands of a map that are read across its rows, through shared memory
FEW_POINTS = 1 << 10
_REPORTS = "reports"  # of bad indices, as memory: which of two comes first is seen
# Moved along with an operation that needs them.
_MOVABLE = (*VIEWS, "memref.alloc")
_LOOPS = ("scf.for", "scf.if", "scf.forall")


@dataclass(frozen=True)
class TedFuseSiblings:
    """Merge each map or sum with later ones over the same points, if nothing between needs it."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        for function in functions(module):
            # A result that may be in the memory of an input is that memory.
            names = {result: source for source, result in donated_pairs(function)}
            for block in _blocks(function.entry_block):
                _Block(block, names).merge()


def _blocks(block: ir.Block) -> Iterator[ir.Block]:
    yield block
    for op in block.operations:
        if op.operation.name in _LOOPS:
            for inner in [b for region in op.operation.regions for b in region.blocks]:
                yield from _blocks(inner)


@dataclass(frozen=True)
class _Entry:
    """An operation and the memory that it touches; `points` if it may be merged."""

    op: ir.Operation
    reads: Set[object]
    writes: Set[object]
    points: Points | None = None
    inner_reads: Set[object] = frozenset()  # by loads in the body

    @property
    def is_light(self) -> bool:
        """Whether it moves little memory, or only starts or ends what is there anyway."""
        if self.points is None:
            return self.op.name in ("linalg.fill", "memref.copy")
        return prod(self.points.work.extents) <= FEW_POINTS

    @property
    def box(self) -> Points:
        """The points of what may be merged."""
        assert self.points is not None, "an operation of another form is not merged"
        return self.points


class _Block:
    """The operations of a block that touch memory, by their numbers in its order."""

    def __init__(self, block: ir.Block, names: dict[ir.Value, ir.Value]) -> None:
        self.block = block
        self.names = names
        self.entries: dict[int, _Entry] = {}
        self.readers: dict[object, set[int]] = {}
        self.writers: dict[object, set[int]] = {}

    def merge(self) -> None:
        """Merge what can be merged."""
        found = [o.operation for o in self.block.operations]
        claimed = claimed_readers(found)
        for k, op in enumerate(found):
            if op.name not in _MOVABLE:
                self._put(k, op, may_merge=op not in claimed)
        for k in range(len(found)):
            while (pair := self._partner(k)) is not None:
                self._join(k, *pair)

    # ---- the table -------------------------------------------------------------------------------

    def _put(self, number: int, op: ir.Operation, *, may_merge: bool = True) -> None:
        reads, writes = (self._named(found) for found in touched(op))
        if not reads | writes:
            return
        if operations(op, "func.call"):
            writes |= {_REPORTS}
        points = _points(op) if may_merge else None
        inner = set() if points is None else _touched_inside(points.body)[0]
        entry = _Entry(op, frozenset(reads), frozenset(writes), points, self._named(inner))
        self.entries[number] = entry
        for table, memory in ((self.readers, reads), (self.writers, writes)):
            for one in memory:
                table.setdefault(one, set()).add(number)

    def _take(self, number: int) -> _Entry:
        entry = self.entries.pop(number)
        for table, memory in ((self.readers, entry.reads), (self.writers, entry.writes)):
            for one in memory:
                table[one].discard(number)
        return entry

    def _named(self, memory: set[ir.Value]) -> set[object]:
        return {self.names.get(one, one) for one in memory}

    def _users(self, memory: object) -> set[int]:
        return self.readers.get(memory, set()) | self.writers.get(memory, set())

    # ---- what can be merged ----------------------------------------------------------------------

    def _partner(self, number: int) -> tuple[int, bool] | None:
        """The first operation that this one can be merged with, and whether it goes down to it."""
        entry = self.entries.get(number)
        if entry is None or entry.points is None:
            return None
        shared = entry.reads | entry.writes
        for other in sorted({k for one in shared for k in self.readers.get(one, ()) if k > number}):
            found = self.entries[other]
            if found.points is None or not _are_alike(entry.box, found.box):
                continue
            if not self._are_free(entry, found):
                continue
            if self._may_pass(entry, number, other) and not self._is_kept(entry, number, other):
                return other, True
            if self._may_pass(found, number, other) and self._may_rise(found, number, other):
                return other, False
        return None

    def _are_free(self, left: _Entry, right: _Entry) -> bool:
        """Whether the points of two operations are independent of each other's other points."""
        if left.inner_reads & right.writes or right.inner_reads & left.writes:
            return False
        if _REPORTS in left.writes & right.writes:
            return False
        is_map = not left.box.work.reductions
        pairs = (
            (a, b)
            for first, second in ((left.box, right.box), (right.box, left.box))
            for a in first.outputs
            for b in (*second.reads, *second.outputs)
        )
        return all(
            self.names.get(a.memory, a.memory) != self.names.get(b.memory, b.memory)
            or (is_map and a.place and b.place and a.place.keeps_apart(b.place))
            for a, b in pairs
        )

    def _may_pass(self, entry: _Entry, first: int, last: int) -> bool:
        """Whether an operation may change places with all that is between two numbers."""
        written = {k for one in entry.reads for k in self.writers.get(one, ())}
        touched = {k for one in entry.writes for k in self._users(one)}
        return not any(first < k < last for k in written | touched)

    def _is_kept(self, entry: _Entry, first: int, last: int) -> bool:
        """Whether a temporary would be kept longer, if what reads it moved down."""
        return self._is_work_between(first, last) and any(
            self._is_temporary(one) and max(self._users(one)) < last for one in entry.reads
        )

    def _may_rise(self, entry: _Entry, first: int, last: int) -> bool:
        """Whether all that an operation needs can move up, and no temporary is kept longer."""
        behind = _behind(entry.op, self.entries[first].op)
        is_early = any(self._is_temporary(one) for one in entry.writes)
        return all(_is_movable(op) for op in behind) and not (
            is_early and self._is_work_between(first, last)
        )

    def _is_work_between(self, first: int, last: int) -> bool:
        """Whether anything of some size may begin or end between two numbers."""
        return not all(e.is_light for k, e in self.entries.items() if first < k < last)

    # ---- merging ---------------------------------------------------------------------------------

    def _join(self, number: int, other: int, goes_down: bool) -> None:
        place = self.entries[other if goes_down else number].op
        if not goes_down:
            for op in _behind(self.entries[other].op, place):
                op.move_before(place)
        left, right = self._take(number), self._take(other)
        unwanted = {
            one
            for one in (a.memory for a in left.box.outputs)
            if self._is_temporary(one) and not self._users(one) and one not in right.writes
        }
        with ir.InsertionPoint(place), place.location:
            made = merge([left.box, right.box], unwanted)
        for op in (left.op, right.op):
            op.erase()
        for memory in unwanted:
            _erase(memory)
        self._put(other if goes_down else number, made)

    def _is_temporary(self, memory: object) -> bool:
        """Whether some memory is there for this block only."""
        op = defining(memory) if isinstance(memory, ir.Value) else None
        return op is not None and op.name == "memref.alloc" and op.block == self.block


# ---- operations ----------------------------------------------------------------------------------


def _points(op: ir.Operation) -> Points | None:
    """A map, or a sum of rows, as points; None for any other operation."""
    if op.name != "linalg.generic" or MARK in op.attributes:
        return None
    work = work_of(op)
    if work is None or not all(isinstance(o.value.type, ir.MemRefType) for o in work.outputs):
        return None
    if work.reductions and (not work.outer or work.reductions[0] != 0):
        return None
    found = points_of(work)
    return None if _touched_inside(found.body)[1] or any(map(_jumps, found.outputs)) else found


def _jumps(access: Access) -> bool:
    """Whether neighbouring points do not write side by side: other parts go in between."""
    sides = access.place.sides if access.place else ()
    return any(abs(step) > 1 for _, step in sides[-1:])


def _touched_inside(body: ir.Block) -> tuple[set[ir.Value], set[ir.Value]]:
    """Roots that the operations of a body load from and store to."""
    found = [touched(op.operation) for op in body.operations]
    return {v for reads, _ in found for v in reads}, {v for _, writes in found for v in writes}


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


def _behind(op: ir.Operation, place: ir.Operation) -> list[ir.Operation]:
    """What makes the values that an operation needs, and stands behind a place, in order."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for value in inner.operands:
            owner = defining(value)
            if owner is None or owner.block != place.block or owner.is_before_in_block(place):
                continue
            found.extend(o for o in (*_behind(owner, place), owner) if o not in found)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_movable(op: ir.Operation) -> bool:
    return op.name in _MOVABLE or op.name.startswith(("arith.", "affine."))


def _erase(memory: ir.Value) -> None:
    """Drop memory and its views, as far as nothing uses them."""
    for user in [use.owner.operation for use in memory.uses]:
        if user.name in VIEWS:
            _erase(user.results[0])
    op = defining(memory)
    if op is not None and not list(memory.uses):
        op.erase()
