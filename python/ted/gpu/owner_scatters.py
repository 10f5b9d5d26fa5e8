"""Writes at data -> owners: threads that have a part of the result each, and look at every write.

Before: one thread adds `g[i]` to `out[index[i]]` for all i, one after the other
After: thread s looks at all i in the same order, and adds where `index[i]` is in its part

No two threads write one element, and each element gets its terms in the order of the program: no
atomics, and the same bits in every run. Reading indices many times costs less than waiting for
memory once for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ted.gpu.dead_fills import STRUCTURED
from ted.gpu.points import times
from ted.gpu.ted_record_index_errors import error_flag
from ted.machine import BUSY_THREADS
from ted.mlir import arith, ir, scf
from ted.mlir.aliasing import root
from ted.mlir.building import constant
from ted.mlir.queries import computed_from, defining, operations
from ted.records import dataclass

MOST_PARTS = 256


@dataclass(frozen=True)
class Write:
    """The one write at data: what to do there, the index, how many values that has."""

    work: tuple[ir.Operation, ...]
    index: ir.Value
    extent: int


@dataclass(frozen=True)
class Element:
    """The one element that a point updates, at data: the store, its loads, the index."""

    store: ir.Operation
    loads: tuple[ir.Operation, ...]
    index: ir.Value
    extent: int


def element_at_data(nest: Sequence[ir.Operation]) -> Element | None:
    """What a nest writes; None if it writes elsewhere too, reads elsewhere there, or has no data.

    The error flag is not counted.
    """
    flag = error_flag(nest[0])
    found = [s for op in nest for s in operations(op, "memref.store")]
    stores = [s for s in found if flag is None or s.operands[1] != flag]
    if len(stores) != 1:
        return None
    store = stores[0]
    target, subscripts = store.operands[1], list(store.operands)[2:]
    loads = [
        load
        for op in nest
        for load in operations(op, "memref.load")
        if root(load.operands[0]) == root(target)
    ]
    if not all(x.block == store.block and list(x.operands)[1:] == subscripts for x in loads):
        return None
    for index, extent in zip(subscripts, ir.MemRefType(target.type).shape, strict=True):
        if _is_data(index):
            return Element(store, tuple(loads), index, extent)
    return None


def write_at_data(nest: Sequence[ir.Operation]) -> Write | None:
    """The write of a nest that owners can share; None if there is none, or it has another form."""
    element = element_at_data(nest)
    if element is None:
        return None
    work = _guarded(element) or _unguarded(element)
    return Write(work, element.index, element.extent) if work else None


def _guarded(element: Element) -> tuple[ir.Operation, ...]:
    """All that is done under the check of an index that was known before it."""
    around, owner = element.store.parent, defining(element.index)
    if around is None or around.operation.name != "scf.if" or len(around.operation.results):
        return ()
    if owner is None or owner.block == element.store.block:
        return ()
    return tuple(o.operation for o in element.store.block.operations)[:-1]


def _unguarded(element: Element) -> tuple[ir.Operation, ...]:
    """What reads an element, combines and stores it, if that is all that its values are for."""
    combine = defining(element.store.operands[0])
    if combine is None or combine.block != element.store.block or len(element.loads) != 1:
        return ()
    (load,) = element.loads
    uses = [list(op.results[0].uses) for op in (load, combine)]
    is_chain = all(len(u) == 1 for u in uses) and uses[0][0].owner.operation == combine
    return (load, combine, element.store) if is_chain else ()


def _is_data(value: ir.Value) -> bool:
    """Whether a value comes from memory."""
    return any(defining(v, "memref.load") is not None for v in computed_from([value]))


def has_memory_of_its_own(nest: Sequence[ir.Operation]) -> bool:
    """Whether iterations share a buffer, or operations whose writes are not stores."""
    names = (*STRUCTURED, "memref.alloc", "memref.copy")
    return any(operations(op, *names) for op in nest)


def parts_of(write: Write, threads: int) -> int:
    """Into how many parts the result is cut, where other dims have so many threads already."""
    return max(1, min(write.extent, MOST_PARTS, BUSY_THREADS // max(threads, 1)))


def keep_to_part(write: Write, part: ir.Value, parts: int) -> None:
    """Let the write happen only where the index lies in the part."""
    length = -(-write.extent // parts)
    last = write.work[-1]  # behind what the others use
    with ir.InsertionPoint(last), last.location:
        start = times(part, length)
        distance = arith.SubIOp(write.index, start).result
        own = arith.CmpIOp(arith.CmpIPredicate.ult, distance, constant(length)).result
        branch = scf.IfOp(own)
        with ir.InsertionPoint(branch.then_block):
            inner = scf.YieldOp([]).operation
    for op in write.work:
        op.move_before(inner)
