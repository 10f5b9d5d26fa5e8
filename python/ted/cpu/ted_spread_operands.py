"""`ted-spread-operands`: small operands that tell neighbouring dims apart get both dims.

Before: `%y[n, h, w, g, c] = %x[n, h, w, g, c] - %mean[n, g]` with four channels `c` in a group
After: `%s[n, g, c] = %mean[n, g]` on the stack, and `%y[...] = %x[...] - %s[n, g, c]`, in which g
and c are one loop

An innermost loop of four points fills no vector. A total over such a dim is spread, too: it becomes
totals for each point of the dim, which are joined at the end. So do sums of rows of few columns,
of which some go together (`split_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from math import prod

from ted.cpu.kernel_memory import STACK_BYTES, on_stack
from ted.cpu.partial_totals import join_totals, without_dim
from ted.cpu.split_rows import rows_together, split_rows
from ted.cpu.ted_unroll_small_loops import UNROLLED_TRIPS
from ted.cpu.work import number_bytes
from ted.linalg.collapsing import Access, Box, fits, merged, put
from ted.linalg.contractions import MARK, address_in
from ted.machine import DEFAULT, Cpu, named_cpu
from ted.mlir import ir, linalg
from ted.mlir.affine_forms import dims_used, down, substitute
from ted.mlir.combining import combiners
from ted.mlir.filling import build_fill
from ted.mlir.generic import Generic, empty_generic
from ted.mlir.queries import operations
from ted.mlir.strategies import ATTRIBUTE
from ted.records import dataclass

# Longer innermost loops fill their vectors well enough.
MOST_POINTS = 32
# Registers full of points, behind which some that fill none do not matter.
MOST_REMAINDER = 4
# How often an element of a copy is read, at least.
LEAST_READS = 8


@dataclass(frozen=True)
class _Copy:
    """Of an operand, with a dim more at `place`; `amap` is where a point meets it."""

    shape: tuple[int, ...]
    place: int
    amap: ir.AffineMap


@dataclass(frozen=True)
class TedSpreadOperands:
    """Spread the operands of each operation that claims no layout of its own.

    `cpu` is a row of `ted.machine.CPUS`.
    """

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite every `linalg.generic` on memory that gains."""
        cpu = named_cpu(self.cpu)
        with module.context:
            for op in operations(module.operation, "linalg.generic"):
                generic = Generic(op)
                if MARK in op.attributes or ATTRIBUTE in op.attributes or generic.asks_where:
                    continue
                rows = rows_together(generic, cpu)
                if rows is not None:
                    generic = split_rows(generic, *rows)
                found = (_Spread.of(generic, *pair) for pair in _pairs(generic, cpu))
                spread = next(filter(None, found), None)
                if spread is not None:
                    with op.location:
                        spread.emit()


def _pairs(generic: Generic, cpu: Cpu) -> Iterator[tuple[int, int]]:
    """Two loops that fill vectors together, of which the inner one is too short to do so."""
    lanes = min(cpu.lanes(number_bytes(v.type)) for v in generic.outputs)
    extents = generic.extents or ()
    for p, q in permutations(range(len(extents)), 2):
        points = extents[p] * extents[q]
        fills = points % lanes == 0 or points >= MOST_REMAINDER * lanes
        if fills and extents[p] > 1 < extents[q] <= MOST_POINTS and points > UNROLLED_TRIPS:
            yield p, q


@dataclass(frozen=True)
class _Spread:
    """A generic whose loops are those of `box`, of which the last two become one by copies."""

    generic: Generic
    box: Box
    copies: Mapping[int, _Copy]

    @staticmethod
    def of(generic: Generic, p: int, q: int) -> _Spread | None:
        """Loops p and q as the last ones; None where they cannot be one, or nothing is gained."""
        extents, rank = generic.extents or (), generic.rank
        order = [*(k for k in range(rank) if k not in (p, q)), p, q]
        moved: list[ir.AffineExpr] = [ir.AffineExpr.get_dim(order.index(k)) for k in range(rank)]
        accesses = tuple(
            Access(v, ir.AffineMap.get(rank, 0, [substitute(moved, e) for e in m.results]))
            for v, m in zip(generic.operands, generic.maps, strict=True)
        )
        parallel = tuple(not generic.reductions[k] for k in order)
        box = Box(tuple(extents[k] for k in order), parallel, accesses)
        copies = _copies(box)
        if copies is None:
            return None
        found = _Spread(generic, box, copies)
        return found if found._may_be() and found._gains() else None

    def _may_be(self) -> bool:
        """Whether totals are joined in a known way, where one of the two loops is summed."""
        first = self.generic.count_inputs
        totals = sum(k >= first for k in self.copies)
        *_, p, q = self.box.parallel
        if p == q:
            return totals == 0
        return totals == len(self.generic.outputs) and combiners(self.generic) is not None

    def _gains(self) -> bool:
        """Whether rows of memory become longer, by copies that are small and often read."""
        points, size = prod(self.box.extents), 0
        for k, copy in self.copies.items():
            if min(copy.shape) < 0 or points < LEAST_READS * prod(copy.shape):
                return False
            size += prod(copy.shape) * number_bytes(self.box.accesses[k].value.type)
        rest = [a for k, a in enumerate(self.box.accesses) if k not in self.copies]
        reached = [self._reached(a) for a in rest]
        largest = [a for a, n in zip(rest, reached, strict=True) if n == max(reached)]
        return 0 < size <= STACK_BYTES and all(map(_goes_along_rows, largest))

    def _reached(self, access: Access) -> int:
        """How many points meet elements of their own, of what is no scalar."""
        used = dims_used(*access.amap.results) if access.amap else set[int]()
        return prod(self.box.extents[k] for k in used)

    def emit(self) -> None:
        """Rewrite the generic."""
        op, accesses = self.generic.op, list(self.box.accesses)
        parallel = list(self.box.parallel)
        joined, after = combiners(self.generic), ir.InsertionPoint.after(op)
        for k, copy in self.copies.items():
            value, number = accesses[k].value, k - self.generic.count_inputs
            memory = self._memory(value, copy.shape)
            accesses[k] = Access(memory, copy.amap)
            if number >= 0:
                assert joined is not None, "asked before"
                parallel[-2:] = [True, True]
                with ir.InsertionPoint(op):
                    build_fill(joined[number].identity(), memory)
                with after:
                    join_totals(memory, value, joined[number], copy.place)
            elif list(self.generic.body.arguments[k].uses):
                with ir.InsertionPoint(op):
                    _copy(value, memory, copy.place)
        box = Box(self.box.extents, tuple(parallel), tuple(accesses))
        with ir.InsertionPoint(op):
            put(op, merged(box, len(parallel) - 2))

    def _memory(self, value: ir.Value, shape: tuple[int, ...]) -> ir.Value:
        kind = ir.MemRefType.get(list(shape), ir.MemRefType(value.type).element_type)
        return on_stack(kind, self.generic.op.block)


def _copies(box: Box) -> dict[int, _Copy] | None:
    """What must be copied so that the last two loops are one; None where that is not enough."""
    rank = len(box.extents)
    pair = {rank - 2, rank - 1}
    copies: dict[int, _Copy] = {}
    for k, access in enumerate(box.accesses):
        if not isinstance(access.value.type, ir.MemRefType):
            continue
        used = dims_used(*access.amap.results) & pair if access.amap else set()
        if len(used) == 1:
            (mine,), (other,) = used, pair - used
            copy = _with_dim(access, mine, other, box.extents[other])
            if copy is None:
                return None
            copies[k] = copy
        elif not fits(access, box, rank - 2):
            return None
    return copies


def _with_dim(access: Access, used: int, other: int, extent: int) -> _Copy | None:
    """A copy with a dim more, beside the one that an operand has as a subscript."""
    assert access.amap is not None, "memory has a map"
    results = list(access.amap.results)
    places = [k for k, e in enumerate(results) if used in dims_used(e)]
    if len(places) != 1 or not isinstance(down(results[places[0]]), ir.AffineDimExpr):
        return None
    shape, place = list(ir.MemRefType(access.value.type).shape), places[0] + (other > used)
    shape.insert(place, extent)
    results.insert(place, ir.AffineExpr.get_dim(other))
    return _Copy(tuple(shape), place, ir.AffineMap.get(access.amap.n_dims, 0, results))


def _goes_along_rows(access: Access) -> bool:
    """Whether neighbours of the last loop are neighbours in memory."""
    if access.amap is None:
        return False
    address = address_in(access.value.type, access.amap)
    return address is not None and address[access.amap.n_dims - 1] == 1


def _copy(value: ir.Value, memory: ir.Value, place: int) -> None:
    rank = len(ir.MemRefType(memory.type).shape)
    op = empty_generic(
        [value],
        [memory],
        [without_dim(rank, place), ir.AffineMap.get_identity(rank)],
        [False] * rank,
    )
    with ir.InsertionPoint(op.regions[0].blocks[0]):
        linalg.YieldOp([op.regions[0].blocks[0].arguments[0]])
