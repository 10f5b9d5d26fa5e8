"""Maps write where they read: the pass `ted-reuse-buffers`.

Before: `linalg.generic ins(%w, %g) outs(%new)`, the last reader of `%g`
After: `linalg.generic ins(%w, %g) outs(%g)`, and what read `%new` reads `%g`

A buffer T is written again as R where the last operation that touches T is the first one that
touches R, each point of it reads T at most at the element of R that it writes, and no other point
writes that element. T is an allocation, never memory of the caller. R is another one, or the memory
of a result, which then holds T from the start. Buffers are taken right before their first use, so
that the peak is what is alive at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ted.mlir import ir
from ted.mlir.aliasing import VIEWS, root
from ted.mlir.generic import Generic
from ted.mlir.locations import mlir_location, source_location, user_name
from ted.mlir.queries import defining, functions, in_block, operands_inside
from ted.records import dataclass

_TAKES, _GIVES, _FILLS = "memref.alloc", "memref.dealloc", "linalg.fill"


@dataclass(frozen=True)
class TedReuseBuffers:
    """Give the results of maps the memory of what they read last."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the top level of every function."""
        for function in functions(module):
            _take_late(function.entry_block)
            _Lifetimes(function.entry_block).join()


def _take_late(block: ir.Block) -> None:
    """Move allocations, and the fills that start them, down to what touches them first."""
    order = _order(block)
    for op in reversed(list(order)):
        if op.name != _TAKES:
            continue
        uses = _users(op.results[0], block, order)
        starts = [op]
        while len(uses) > 1 and uses[0].name == _FILLS:
            starts.append(uses.pop(0))
        for one in starts if uses else ():
            one.move_before(uses[0])


def _order(block: ir.Block) -> dict[ir.Operation, int]:
    return {view.operation: k for k, view in enumerate(block.operations)}


def _users(value: ir.Value, block: ir.Block, order: dict[ir.Operation, int]) -> list[ir.Operation]:
    """What in a block uses a buffer or a view of it, in its order."""
    found, left = set[ir.Operation](), [value]
    while left:
        for use in left.pop().uses:
            op = use.owner.operation
            if op.name in VIEWS:
                left += list(op.results)
            found.add(in_block(op, block))
    return sorted(found, key=order.__getitem__)


class _Lifetimes:
    """When the buffers of a block are used first and last, as they become one."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._order = _order(block)
        self._known: dict[ir.Value, list[ir.Operation]] = {}

    def join(self) -> None:
        """Join every pair of buffers that may be one, in the order of execution."""
        for op in self._order:
            if op.name != "linalg.generic":
                continue
            for old, new in _pairs(Generic(op)):
                if self._may_join(old, new, op):
                    self._join(old, new)
                    break

    def _may_join(self, old: ir.Value, new: ir.Value, op: ir.Operation) -> bool:
        before, after = self._uses(old), self._uses(new)
        if before[-2:-1] != [op] or after[0] != op or not self._is_own(old):
            return False
        return self._is_own(new) or new.owner == self._block

    def _is_own(self, value: ir.Value) -> bool:
        """Whether a buffer is allocated and freed in the block, and nothing else may be in it."""
        maker = defining(value, _TAKES)
        if maker is None or maker.block != self._block:
            return False
        uses = self._uses(value)
        frees = [use for use in uses if use.name == _GIVES]
        return frees == uses[-1:] and not any(use.results and use.name not in VIEWS for use in uses)

    def _uses(self, value: ir.Value) -> list[ir.Operation]:
        if value not in self._known:
            self._known[value] = _users(value, self._block, self._order)
        return self._known[value]

    def _join(self, old: ir.Value, new: ir.Value) -> None:
        """Let both be the older allocation, or the memory of a result."""
        *before, _, free = self._uses(old)
        both = [*before, *self._uses(new)]
        free.erase()
        gone, kept = (new, old) if defining(new) is not None else (old, new)
        maker, other = defining(gone), defining(kept)
        assert maker is not None, "one of both is an allocation"
        if other is not None:
            other.location = _of_both(other.location, maker.location)
        gone.replace_all_uses_with(kept)
        del self._known[gone]
        self._known[kept] = both
        maker.erase()


def _of_both(first: ir.Location, second: ir.Location) -> ir.Location:
    """The place of the first tensor, and the names of both."""
    names = [name for name in (user_name(first), user_name(second)) if name is not None]
    return mlir_location(source_location(first), ", ".join(names) or None, first.context)


def _pairs(generic: Generic) -> Iterator[tuple[ir.Value, ir.Value]]:
    """What is read and what is written, element by element at the same places."""
    old_ones = [old for old in generic.inputs if defining(old, _TAKES) is not None]
    if not old_ones or not generic.is_map:
        return
    loaded = _loaded(generic)
    for k, new in enumerate(generic.outputs, generic.count_inputs):
        if root(new) in loaded or not _is_written_once(generic, k):
            continue
        for old in old_ones:
            if old.type == new.type and old not in loaded and _is_read_in_place(generic, old, k):
                yield old, new


def _is_written_once(generic: Generic, k: int) -> bool:
    """Whether each point writes an element of its own, and does not ask what was there."""
    is_unasked = not list(generic.body.arguments[k].uses)
    is_alone = _meets(generic, k) == [k]
    return is_unasked and generic.maps[k].is_permutation and is_alone


def _is_read_in_place(generic: Generic, old: ir.Value, k: int) -> bool:
    readers = [j for j, value in enumerate(generic.operands) if root(value) == old]
    return all(generic.operands[j] == old and generic.maps[j] == generic.maps[k] for j in readers)


def _meets(generic: Generic, k: int) -> Sequence[int]:
    """The operands in the memory of one."""
    memory = root(generic.operands[k])
    return [j for j, value in enumerate(generic.operands) if root(value) == memory]


def _loaded(generic: Generic) -> set[ir.Value]:
    """The memory that the body reads at places that are no subscripts."""
    inside = [v for op in generic.code for v in operands_inside(op)]
    return {root(v) for v in inside if isinstance(v.type, ir.MemRefType)}
