"""What operations of a block need of each other: who may move where, what stays, what is lost.

Before: `%b = f(%a)`, `%c = g(%b)`, `%d = h(%a)`, each in memory
After: the third may go in front of the first, the second may not; `%a` stays as it is

Every pass that moves, merges, forwards or drops work on memory asks here. A result that the caller
may put into the memory of an input is that memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod
from typing import TypeAlias

from ted.mlir import ir
from ted.mlir.aliasing import ANYWHERE, VIEWS, Memory, donated_pairs, function_of, memories
from ted.mlir.effects import Effects, Names, effects_of
from ted.mlir.footprints import Footprint
from ted.mlir.queries import defining, users_in

# What the points of an operation read and write, with the footprints there; None for an
# operation of another form.
Met: TypeAlias = "Sequence[tuple[ir.Value, Footprint | None]]"
Footprints: TypeAlias = "Callable[[ir.Operation], tuple[Met, Met] | None]"
# What moves up with an operation that needs it, as arithmetic does.
_MOVABLE = (*VIEWS, "memref.alloc", "affine.apply", "affine.max", "affine.min")


class Dependences:
    """The operations of a block that touch memory, by their numbers in its order.

    `footprints` says which elements operations meet, where that is known: without, all of a memory.
    """

    def __init__(
        self, block: ir.Block, footprints: Footprints = lambda _: None, names: Names | None = None
    ) -> None:
        if names is None:
            names = {result: source for source, result in donated_pairs(function_of(block))}
        self.block, self.footprints, self.names = block, footprints, names
        self.operations = {k: o.operation for k, o in enumerate(block.operations)}
        self.numbers = {op: k for k, op in self.operations.items()}
        self.effects: dict[ir.Operation, Effects] = {}
        self._met: dict[ir.Operation, tuple[Met, Met] | None] = {}
        self._readers: dict[Memory, set[int]] = {}
        self._writers: dict[Memory, set[int]] = {}
        for number, op in self.operations.items():
            self.put(number, op)

    # ---- the table -------------------------------------------------------------------------------

    def put(self, number: int, op: ir.Operation) -> None:
        """Note an operation that stands at a number."""
        self.operations[number], self.numbers[op] = op, number
        found = self.effects[op] = effects_of(op, self.names)
        for table, memory in ((self._readers, found.reads), (self._writers, found.writes)):
            for one in memory:
                table.setdefault(one, set()).add(number)

    def forget(self, op: ir.Operation) -> None:
        """Drop an operation, before it is erased."""
        if op not in self.numbers:  # a view that was made since
            return
        number, found = self.numbers.pop(op), self.effects.pop(op)
        del self.operations[number]
        self._met.pop(op, None)
        for one in found.touched:
            self._readers.get(one, set()).discard(number)
            self._writers.get(one, set()).discard(number)

    def named(self, values: Iterable[ir.Value]) -> set[Memory]:
        """The memory that values are in."""
        return {self.names.get(m, m) for value in values for m in memories(value)}

    def met(self, op: ir.Operation) -> tuple[Met, Met] | None:
        """Where the points of an operation read and write; None if that is not known."""
        if op not in self._met:
            self._met[op] = self.footprints(op)
        return self._met[op]

    def readers(self, memory: Iterable[Memory]) -> set[int]:
        """Which operations may read some memory."""
        return _found(self._readers, memory)

    def writers(self, memory: Iterable[Memory]) -> set[int]:
        """Which operations may write some memory."""
        return _found(self._writers, memory)

    def users(self, memory: Collection[Memory]) -> set[int]:
        """Which operations may touch some memory."""
        return self.readers(memory) | self.writers(memory)

    def behind(self, op: ir.Operation, memory: Collection[Memory]) -> list[ir.Operation]:
        """The operations behind one that may touch some memory, in order."""
        number = self.numbers[op]
        return [self.operations[k] for k in sorted(self.users(memory)) if k > number]

    # ---- what may move ---------------------------------------------------------------------------

    def may_pass(self, op: ir.Operation, place: ir.Operation) -> bool:
        """Whether an operation may change places with all between it and another."""
        first, last = sorted((self.numbers[op], self.numbers[place]))
        mine = self.effects[op]
        met = self.writers(mine.reads) | self.users(mine.writes)
        return not any(first < k < last for k in met)

    def may_sink(self, op: ir.Operation, place: ir.Operation) -> bool:
        """Whether an operation may stand directly in front of a later one."""
        end = self.numbers[place]
        is_there = all(self.numbers[user] >= end for user in users_in(op, self.block))
        return is_there and self.numbers[op] < end and self.may_pass(op, place)

    def rises_with(self, op: ir.Operation, place: ir.Operation) -> list[ir.Operation] | None:
        """What moves in front of a place for an operation to stand directly behind it, in order.

        That is what makes the values that it needs; None where it must stay.
        """
        needed = _needs(op, place)
        is_behind = self.numbers[place] < self.numbers[op] and place not in needed
        may_move = is_behind and all(map(_is_movable, needed))
        return needed if may_move and self.may_pass(op, place) else None

    # ---- what memory keeps -----------------------------------------------------------------------

    def keeps(self, values: Iterable[ir.Value], first: ir.Operation, last: ir.Operation) -> bool:
        """Whether no operation behind the first, up to and with the last, writes some memory."""
        low, high = self.numbers[first], self.numbers[last]
        return not any(low < k <= high for k in self.writers(self.named(values)))

    def is_overwritten(self, op: ir.Operation) -> bool:
        """Whether all memory that an operation writes is written anew before anything reads it."""
        written = effects_of(op).writes  # another name may be other memory
        return bool(written) and all(self._is_lost(op, memory) for memory in written)

    def _is_lost(self, op: ir.Operation, memory: Memory) -> bool:
        if not isinstance(memory, ir.Value):
            return False
        left, parts = prod(ir.MemRefType(memory.type).shape), list[Footprint]()
        for user in self.behind(op, self.named([memory])):
            found = self.effects[user]
            if {*self.named([memory]), ANYWHERE} & (found.reads | found.asks):
                return False
            _, writes = self.met(user) or ((), ())
            for value, place in writes:
                if place is None or memories(value) != {memory} or not place.keeps_apart(place):
                    continue
                if all(map(place.is_beside, parts)):
                    parts.append(place)
                    left -= place.size
            if left == 0:
                return True
        return False

    def are_point_by_point(self, left: ir.Operation, right: ir.Operation) -> bool:
        """Whether operations over the same points may do all for a point before the next one.

        They meet what one of them writes at the same point only.
        """
        ours, theirs = self.effects[left], self.effects[right]
        mine, others = self.met(left), self.met(right)
        if ours.inside & theirs.writes or theirs.inside & ours.writes:
            return False
        if ANYWHERE in ours.touched | theirs.touched or not mine or not others:
            return ours.may_swap(theirs)
        return all(
            not self.named([value]) & self.named([other]) or (a and b and a.keeps_apart(b))
            for (_, writes), (reads, written) in ((mine, others), (others, mine))
            for value, a in writes
            for other, b in (*reads, *written)
        )


def _needs(op: ir.Operation, place: ir.Operation) -> list[ir.Operation]:
    """What makes the values that an operation needs and does not stand before a place, in order."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for value in inner.operands:
            owner = defining(value)
            if owner is None or owner.block != place.block or owner.is_before_in_block(place):
                continue
            found.extend(o for o in (*_needs(owner, place), owner) if o not in found)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_movable(op: ir.Operation) -> bool:
    return op.name in _MOVABLE or op.name.startswith("arith.")


def _found(table: dict[Memory, set[int]], memory: Iterable[Memory]) -> set[int]:
    names = {*memory}
    asked = table if ANYWHERE in names else [*names, ANYWHERE] if names else []
    return {k for one in asked for k in table.get(one, ())}
