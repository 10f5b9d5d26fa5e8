"""Operations that write parts of the same memory, one after the other -> one group.

Before: a fill of `%m`, then `linalg.generic`s into `%m[0::2]`, `%m[1::2]` and the last element
After: `Pieces`: each a work and the region of `%m` that it writes, in the order of the program

Gradients of strided reads are like that, and paddings and concatenations. No operation of a group
reads what another one writes, except the element that it writes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import lcm, prod

from ted.gpu.bodies import Work, work_of
from ted.gpu.dead_fills import structured
from ted.gpu.reductions import Plan, choose
from ted.gpu.strided_boxes import Region, region_of
from ted.mlir import ir
from ted.mlir.aliasing import ANYWHERE, root
from ted.mlir.combining import combiners
from ted.mlir.dependences import Dependences
from ted.mlir.effects import Effects
from ted.mlir.queries import defining, operations
from ted.records import dataclass

MOST_PIECES = 64
MOST_PLACES = 32  # of a row that is a cell
MOST_PASSED = 64  # operations between those of a group
Starts = tuple["ir.Value | None", ...]


@dataclass(frozen=True)
class Piece:
    """Results of a work, by position, that go to one region each, all of one form."""

    op: ir.Operation
    work: Work
    results: tuple[int, ...]
    regions: tuple[Region, ...]

    @property
    def sides(self) -> tuple[object, ...]:
        """The places of all regions."""
        return self.regions[0].sides

    @property
    def start(self) -> ir.Value | None:
        """The value of all elements, if this fills memory."""
        source = self.work.inputs[0] if self.work.inputs else None
        is_fill = self.work.body is None and source is not None and source.amap is None
        return source.value if is_fill and source is not None else None


@dataclass(frozen=True)
class Pieces:
    """A group, and the operations that it replaces, the last of which is where it goes."""

    pieces: tuple[Piece, ...]
    ops: tuple[ir.Operation, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the memory."""
        return self.pieces[0].regions[0].shape

    @property
    def memories(self) -> list[ir.Value]:
        """What is written."""
        return list(dict.fromkeys(r.memory for p in self.pieces for r in p.regions))

    def regions(self, memory: ir.Value) -> list[Region]:
        """The parts of a memory, in order."""
        return [r for p in self.pieces for r in p.regions if r.memory == memory]

    @property
    def is_disjoint(self) -> bool:
        """Whether no element is written twice."""
        return not any(
            a.meets(b) for m in self.memories for a, b in combinations(self.regions(m), 2)
        )

    @property
    def is_covering(self) -> bool:
        """Whether every element of every memory is written, as far as that is known."""
        total = prod(self.shape)
        parts = [self.regions(m) for m in self.memories]
        return all(any(r.is_whole for r in rs) for rs in parts) or (
            self.is_disjoint and all(sum(r.size for r in rs) == total for rs in parts)
        )

    @property
    def is_chain(self) -> bool:
        """Whether the order of the pieces of an element is all that matters."""
        return self.is_disjoint or all(self.regions(m)[0].is_whole for m in self.memories)

    @property
    def cells(self) -> list[int]:
        """For each dim the places after which the steps of all pieces begin anew."""
        regions = [r for p in self.pieces for r in p.regions]
        sides = list(zip(*(r.sides for r in regions), strict=True))
        found = [lcm(*(s.step for s in dim if s.extent > 1)) for dim in sides]
        parts = [r.sides[-1] for r in regions if not r.is_whole]
        # Pieces of one place each: a row of them is a cell.
        if self.shape[-1] <= MOST_PLACES and parts and all(s.extent == 1 for s in parts):
            found[-1] = self.shape[-1]
        return found

    def without_fills(self) -> list[tuple[ir.Operation, Starts]] | None:
        """Operations that write all, each element once, and what their results start from.

        Fills of what the others write all of are left out; None if there is another overlap.
        """
        fills = [p for p in self.pieces if p.start is not None and p.regions[0].is_whole]
        others = replace(self, pieces=tuple(p for p in self.pieces if p not in fills))
        filled = {p.regions[0].memory: p.start for p in fills}
        is_written = others.is_disjoint and set(filled) <= set(others.memories)
        if not is_written or not (others.is_covering or not fills):
            return None
        works = {p.op: p.work for p in others.pieces}
        return [(op, _started(work, filled)) for op, work in works.items()]


def _started(work: Work, filled: Mapping[ir.Value, ir.Value | None]) -> Starts:
    known = work.starts or (None,) * len(work.outputs)
    return tuple(filled.get(root(o.value), s) for o, s in zip(work.outputs, known, strict=True))


def pieces_from(
    op: ir.Operation,
    later: Sequence[ir.Operation],
    known: Dependences,
    starts: Mapping[ir.Operation, Starts],
    is_other: Callable[[ir.Operation], bool],
) -> Pieces | None:
    """The group that begins with an operation; None if nothing goes with it.

    `is_other` tells what has another kernel already, or needs none.
    """
    group = _Group(known, starts, is_other)
    if not group.take(op):
        return None
    if all(p.start is None and p.regions[0].is_whole for p in group.pieces):
        return None
    passed = 0
    for other in later:
        if group.take(other):
            continue
        passed += structured(other)
        if passed > MOST_PASSED or not group.may_skip(other):
            break
    return group.found()


class _Group:
    def __init__(
        self,
        known: Dependences,
        starts: Mapping[ir.Operation, Starts],
        is_other: Callable[[ir.Operation], bool],
    ) -> None:
        self.known = known
        self.starts = starts
        self.is_other = is_other
        self.pieces: list[Piece] = []
        self.ops: list[ir.Operation] = []
        self.effects = Effects()
        self.fills: list[ir.Operation] = []  # passed by, of memory that may come to the group

    def take(self, op: ir.Operation) -> bool:
        """Add an operation, if it writes parts of the memory of the group."""
        if not structured(op) or self.is_other(op) or len(self.pieces) > MOST_PIECES:
            return False
        mine = self.known.effects[op]
        if self.ops and not mine.writes & self.effects.writes:
            return False
        fills = [f for f in self.fills if self.known.effects[f].writes & mine.writes]
        effects = reduce(
            Effects.__or__, (self.known.effects[f] for f in fills), self.effects | mine
        )
        if ANYWHERE in effects.touched or effects.reads & effects.writes:
            return False
        found = [_pieces_of(o, self.starts.get(o, ())) for o in (*fills, op)]
        parts = [p for ps in found if ps is not None for p in ps]
        shape = (self.pieces or parts or [None])[0]
        if None in found or shape is None:
            return False
        if any(r.shape != shape.regions[0].shape for p in parts for r in p.regions):
            return False
        self.pieces += parts
        self.ops += [*fills, op]
        self.fills = [f for f in self.fills if f not in fills]
        self.effects = effects
        return True

    def may_skip(self, op: ir.Operation) -> bool:
        """Whether an operation may come before the group, which moves behind it."""
        found = self.known.effects[op]
        if not found.touched:
            return True
        if not self.effects.may_swap(found):
            return False
        # A fill goes along only past what has nothing to do with its memory.
        self.fills = [f for f in self.fills if self.known.effects[f].may_swap(found)]
        if op.name == "linalg.fill":  # with a wish, too, which each has once it is chosen
            if not self.is_other(op):
                self.fills.append(op)
            return True
        # What the group reads stays as long as it did.
        return all(isinstance(m, ir.BlockArgument) for m in self.effects.reads)

    def found(self) -> Pieces | None:
        """What was taken, if it is more than one operation."""
        return Pieces(tuple(self.pieces), tuple(self.ops)) if len(self.ops) > 1 else None


def _pieces_of(op: ir.Operation, starts: Starts) -> list[Piece] | None:
    """The regions that an operation writes; results with the same one are one piece."""
    work = work_of(op)
    if work is None or operations(op, "func.call", "memref.store") or not _is_serial(work):
        return None
    work = replace(work, starts=starts)
    regions = [region_of(o, work.extents) for o in work.outputs]
    found: dict[object, list[int]] = {}
    for k, region in enumerate(regions):
        if region is None or any(s.dim in work.reductions for s in region.sides):
            return None
        if sum(s.dim is not None for s in region.sides) < sum(
            work.extents[d] > 1 for d in work.outer
        ):
            return None
        found.setdefault(region.sides, []).append(k)
    pieces = [
        Piece(op, work, tuple(ks), tuple(r for k in ks if (r := regions[k]) is not None))
        for ks in found.values()
    ]
    # Points of one piece must not ask for what points of another one write.
    is_twice = any(len(set(p.regions)) < len(p.regions) for p in pieces)
    return None if is_twice or not all(map(_is_apart, pieces)) else pieces


def _is_apart(piece: Piece) -> bool:
    """Whether the values of a piece need nothing that the other results of the work hold."""
    work = piece.work
    if work.body is None or len(piece.results) == len(work.outputs):
        return True
    held = list(work.body.arguments)[len(work.inputs) :]
    others = {value for k, value in enumerate(held) if k not in piece.results}
    left = [work.body.operations[-1].operands[k] for k in piece.results]
    seen: set[ir.Value] = set()
    while left:
        value = left.pop()
        if value in others:
            return False
        op = defining(value)
        if op is not None and value not in seen:
            seen.add(value)
            left += [v for inner in _inside(op) for v in inner.operands]
    return True


def _inside(op: ir.Operation) -> list[ir.Operation]:
    """An operation and all in its regions."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_serial(work: Work) -> bool:
    """Whether one thread sums each result."""
    if not work.reductions or combiners(work) is None:
        return True
    return choose(work) == Plan()
