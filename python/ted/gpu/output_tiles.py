"""Pieces of a memory -> one kernel along the memory, so that neighbours write side by side.

Before: a kernel writes elements 0, 2, 4, .. and another one 1, 3, 5, ..
After: a thread has a cell of both, finds for each element the piece that it is of, and stores the
cell as a vector. Where cells are no vectors, a block puts its cells into shared memory, waits, and
its threads store element by element in the order of the memory.

Residues of other dims than the last one are the slowest dims of the grid: neighbouring threads
take the same way, except where a piece ends inside a row.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ted.gpu.bodies import Values
from ted.gpu.cooperative_groups import Team
from ted.gpu.disjoint_stores import Piece, Pieces
from ted.gpu.flat_views import flat_view_of
from ted.gpu.launching import Launch, launch, only_if
from ted.gpu.maps import THREADS, linear_thread
from ted.gpu.points import below, delinearized, plus, times
from ted.gpu.reductions import sums_at
from ted.gpu.strided_boxes import Side
from ted.machine import ACCESS_BYTES, STATIC_SHARED_BYTES, WARP
from ted.mlir import arith, ir, memref, vector
from ted.mlir.building import constant
from ted.mlir.scalars import byte_width, conditional
from ted.records import dataclass

MOST_ELEMENTS = 32  # of a cell along the last dim
MOST_CLASSES = 64  # residues of the other dims
_PLACE_BYTES = 4
_BITS = 8  # of the smallest element of a vector
Test = ir.Value | None  # None: always


def fits_cells(group: Pieces) -> bool:
    """Whether a thread can take whole cells."""
    *outer, last = group.cells
    fits = WARP * _bytes_of_cell(group) <= STATIC_SHARED_BYTES
    return group.is_chain and fits and last <= MOST_ELEMENTS and prod(outer) <= MOST_CLASSES


def map_cells(group: Pieces) -> None:
    """Build the kernel of a group at the insertion point."""
    *outer, last = group.cells
    counts = [-(-e // c) for e, c in zip(group.shape, group.cells, strict=True)]
    items = prod(outer) * prod(counts)
    is_direct = last == 1 or _are_vectors(group)
    threads, size = min(THREADS, -(-items // WARP) * WARP), _bytes_of_cell(group)
    while not is_direct and threads > WARP and threads * size > STATIC_SHARED_BYTES:
        threads //= 2
    blocks = -(-items // threads)
    with launch(blocks, threads) as kernel:
        item = linear_thread(kernel)
        inside = None if blocks * threads == items else below(item, items)
        numbers = delinearized(item, [*outer, *counts])
        cell = _Cell(group, numbers[len(outer) :], numbers[: len(outer)], inside)
        if is_direct:
            cell.store()
        else:
            _store_together(cell, kernel)


def _bytes_of_cell(group: Pieces) -> int:
    values = sum(byte_width(_element(m)) for m in group.memories)
    return group.cells[-1] * (values + _PLACE_BYTES * len(group.memories))


def _are_vectors(group: Pieces) -> bool:
    """Whether each cell is a vector in memory, all of which is written."""
    last = group.cells[-1]
    if any(getattr(_element(m), "width", 64) < _BITS for m in group.memories):
        return False  # vectors of truth values are bits, those in memory are bytes
    sizes = [last * byte_width(_element(m)) for m in group.memories]
    is_even = group.is_covering and group.shape[-1] % last == 0 and last & (last - 1) == 0
    return is_even and all(
        size <= ACCESS_BYTES and prod(group.shape) * size >= ACCESS_BYTES * last for size in sizes
    )


def _element(memory: ir.Value) -> ir.Type:
    return ir.MemRefType(memory.type).element_type


def _line(memory: ir.Value) -> ir.Value:
    flat = flat_view_of(memory)
    assert flat is not None, "the memory of a region has a flat view"
    return flat.pointer()


@dataclass(frozen=True)
class _Cell:
    """A thread's elements: along the last dim from a place on, in one row of the other dims."""

    group: Pieces
    numbers: Values  # of the cell along each dim
    residues: Values  # of its row, in each dim but the last
    inside: Test

    @property
    def first(self) -> ir.Value:
        """Where the cell begins in the flat view of a memory."""
        total, stride = None, 1
        places = zip(self.group.shape, self.group.cells, self.numbers, strict=True)
        for k, (extent, size, number) in reversed(list(enumerate(places))):
            place = times(number, size)
            if k < len(self.residues) and size > 1:
                place = arith.AddIOp(place, self.residues[k]).result
            place = times(place, stride)
            total = place if total is None else arith.AddIOp(total, place).result
            stride *= extent
        assert total is not None, "a memory of several elements has a dim"
        return total

    def store(self) -> None:
        """Store the cell from the thread itself."""
        length = self.group.cells[-1]
        found = [self.element(j) for j in range(length)]
        first = self.first
        for memory in self.group.memories:
            values, tests = zip(*(f[memory] for f in found), strict=True)
            with only_if(tests[0]):
                if length == 1:
                    memref.StoreOp(values[0], _line(memory), [first])
                    continue
                kind = ir.VectorType.get([length], _element(memory))
                whole = vector.FromElementsOp(kind, values).result
                size = length * byte_width(_element(memory))
                vector.StoreOp(whole, _line(memory), [first], alignment=size)

    def element(self, last: int) -> dict[ir.Value, tuple[ir.Value, Test]]:
        """The values of an element of the cell, and whether there is one."""
        values: dict[ir.Value, ir.Value] = {}
        tests: dict[ir.Value, Test] = {}
        for piece in self.group.pieces:
            point = self._point(piece, last)
            if point is None:
                continue
            test, dims = point
            memories = [r.memory for r in piece.regions]
            olds = [values.get(m) for m in memories]
            new = _values_if(test, piece, dims, olds, is_first=self.group.is_disjoint)
            for memory, value in zip(memories, new, strict=True):
                values[memory] = value
                before = tests.get(memory, test)
                tests[memory] = _any(before, test)
        for memory in self.group.memories:
            if memory not in values:
                values[memory], tests[memory] = _zero(_element(memory)), _never()
            elif self.group.is_covering:
                tests[memory] = self._is_element(last)
        return {m: (values[m], tests[m]) for m in values}

    def _is_element(self, last: int) -> Test:
        """Whether there is such an element in the memory."""
        test = self.inside
        places = zip(self.group.shape, self.group.cells, self.numbers, strict=True)
        for k, (extent, size, number) in enumerate(places):
            if extent % size:
                residue = self.residues[k] if k < len(self.residues) else constant(last)
                place = arith.AddIOp(times(number, size), residue).result
                test = _all(test, below(place, extent))
        return test

    def _point(self, piece: Piece, last: int) -> tuple[Test, Values] | None:
        """The point of a piece that writes the element, and when; None if there never is one."""
        dims: Values = [constant(0)] * len(piece.work.extents)
        test = self.inside
        places = zip(piece.regions[0].sides, self.group.shape, self.group.cells, strict=True)
        for k, (side, extent, size) in enumerate(places):
            residue = self.residues[k] if k < len(self.residues) else last
            found = _along(side, extent, size, self.numbers[k], residue)
            if found is None:
                return None
            for one in found[1]:
                test = _all(test, one)
            if side.dim is not None:
                dims[side.dim] = found[0]
        return test, dims


def _along(
    side: Side, extent: int, size: int, number: ir.Value, residue: ir.Value | int
) -> tuple[ir.Value, Values] | None:
    """Which point of a side is at place `number * size + residue`, and tests that it is one."""
    step = side.step if side.extent > 1 else size
    if step == size:
        begin, rest = divmod(side.start, size)
        if isinstance(residue, int) and residue != rest:
            return None
        tests = [] if isinstance(residue, int) or size == 1 else [_is(residue, rest)]
        point = plus(number, -begin)
        is_all = begin == 0 and side.extent >= -(-extent // size)
        return point, tests if is_all else [*tests, below(point, side.extent)]
    if isinstance(residue, int):
        if (residue - side.start) % step:
            return None
        point = plus(times(number, size // step), (residue - side.start) // step)
        tests = []
    else:
        place = plus(arith.AddIOp(times(number, size), residue).result, -side.start)
        point = place if step == 1 else arith.DivUIOp(place, constant(step)).result
        tests = [] if step == 1 else [_is(arith.RemUIOp(place, constant(step)).result, 0)]
    # Places below the start are numbers past 2^63, of which the step may divide some.
    is_above = side.start == 0 or (isinstance(residue, int) and side.start < step)
    is_all = is_above and side.extent * step == extent and extent % size == 0
    return point, tests if is_all else [*tests, below(point, side.extent)]


def _values_if(
    test: Test, piece: Piece, dims: Values, olds: list[ir.Value | None], *, is_first: bool
) -> list[ir.Value]:
    """The results of a point where it is one, else what was there before.

    The piece that `is_first` at all its points starts from what is in memory.
    """
    starts = list(piece.work.starts or (None,) * len(piece.work.outputs))
    for k, old in zip(piece.results, olds, strict=True):
        starts[k] = starts[k] if is_first else old or starts[k]
    work = replace(piece.work, starts=tuple(starts))

    def made() -> Values:
        found = sums_at(work, dims)
        return [found[k] for k in piece.results]

    if test is None:
        return made()
    kinds = [_element(r.memory) for r in piece.regions]
    others = [o or _zero(kind) for o, kind in zip(olds, kinds, strict=True)]
    return conditional(test, kinds, made, lambda: others)


def _store_together(cell: _Cell, kernel: Launch) -> None:
    """Put cells into shared memory, and store them in the order of the memory."""
    team = Team(kernel)
    length = cell.group.cells[-1]
    i32 = ir.IntegerType.get_signless(32)
    shape = [kernel.threads * length]
    tiles = {m: team.shared(shape, _element(m)) for m in cell.group.memories}
    places = {m: team.shared(shape, i32) for m in cell.group.memories}
    first = cell.first
    nowhere = arith.ConstantOp(i32, -1).result
    own = times(kernel.thread, length)
    for j in range(length):
        at = plus(own, j)
        place = arith.IndexCastOp(i32, plus(first, j)).result
        for memory, (value, test) in cell.element(j).items():
            memref.StoreOp(value, tiles[memory], [at])
            known = place if test is None else arith.SelectOp(test, place, nowhere).result
            memref.StoreOp(known, places[memory], [at])
    team.wait()
    for j in range(length):
        at = plus(kernel.thread, j * kernel.threads)
        for memory in cell.group.memories:
            place = memref.LoadOp(places[memory], [at]).result
            zero = arith.ConstantOp(i32, 0).result
            with only_if(arith.CmpIOp(arith.CmpIPredicate.sge, place, zero).result):
                value = memref.LoadOp(tiles[memory], [at]).result
                index = arith.IndexCastOp(ir.IndexType.get(), place).result
                memref.StoreOp(value, _line(memory), [index])


def _all(left: Test, right: ir.Value) -> ir.Value:
    return right if left is None else arith.AndIOp(left, right).result


def _any(left: Test, right: Test) -> Test:
    if left is None or right is None:
        return None
    return left if left == right else arith.OrIOp(left, right).result


def _is(value: ir.Value, number: int) -> ir.Value:
    return arith.CmpIOp(arith.CmpIPredicate.eq, value, constant(number)).result


def _never() -> ir.Value:
    return arith.ConstantOp(ir.IntegerType.get_signless(1), 0).result


def _zero(kind: ir.Type) -> ir.Value:
    is_float = isinstance(kind, ir.FloatType)
    value = ir.FloatAttr.get(kind, 0.0) if is_float else ir.IntegerAttr.get(kind, 0)
    return ir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": value}
    ).results[0]
