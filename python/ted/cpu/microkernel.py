"""The register tile: rows x vectors accumulators that stay in registers while a chain is summed.

Before: `C[m, n] += A[m, k] * B[k, n]` for one tile. After: one loop over k whose body loads
`vectors` registers of B, broadcasts `rows` scalars of A and does rows x vectors `vector.fma`
(an outer product), with the accumulators as loop-carried values. Sizes that are no multiple of the
register width mask the last vector's loads and stores; the arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast

from ted.cpu.contraction_plan import cut_reduction, is_turned
from ted.cpu.interleaving import every, is_interleaved, register_starts, spread
from ted.cpu.transposed_tiles import transposed
from ted.linalg.strided_contractions import Dim
from ted.mlir import arith, ir, memref, semiring, vector
from ted.mlir.building import Index, add, carried_loop, constant, scale
from ted.mlir.pairs import multiply_add_pairs
from ted.records import dataclass

# Multiply-adds in the body of the innermost loop, so that its counter costs nothing.
UNROLLED_OPERATIONS = 48
Values = Sequence[ir.Value]


def extents_of(dims: Sequence[Dim], first: Index | None) -> list[Index]:
    """Of reduction dims; `first`, where it is given, is that of the outermost one."""
    extents: list[Index] = [dim.extent for dim in dims]
    if first is not None:
        extents[0] = first
    return extents


@dataclass(frozen=True)
class Pointer:
    """An element of a memref seen as one long row: `memory[offset]`."""

    memory: ir.Value
    offset: Index = 0

    def advance(self, index: Index, stride: int = 1) -> Pointer:
        """The element `index * stride` further on."""
        return Pointer(self.memory, add(self.offset, scale(index, stride)))

    def at(self, index: Index) -> ir.Value:
        """The position of the element `index` further on, for a load or a store."""
        return constant(add(self.offset, index))


@dataclass(frozen=True)
class Lanes:
    """`count` neighbouring elements as registers of `width` lanes, the last one maybe masked."""

    count: int
    width: int
    element: ir.Type

    @property
    def type(self) -> ir.VectorType:
        """The type of one register."""
        return ir.VectorType.get([self.width], self.element)

    @property
    def starts(self) -> range:
        """First element of each register."""
        return range(0, self.count, self.width)

    def zero(self) -> ir.Value:
        """A register of zeros."""
        return semiring.zero(self.type)

    def mask(self, start: int) -> ir.Value | None:
        """Which lanes of the register at `start` exist; None for all of them."""
        if start + self.width <= self.count:
            return None
        mask_type = ir.VectorType.get([self.width], ir.IntegerType.get_signless(1))
        return vector.ConstantMaskOp(mask_type, [self.count - start]).result

    def load(self, source: Pointer, start: int, stride: int = 1) -> ir.Value:
        """Read the register at `start`; lanes that do not exist read as zero."""
        if is_interleaved(stride):
            return self._load_interleaved(source.advance(start * stride), start, stride)
        mask = self.mask(start)
        if stride != 1:
            at, steps, mask = self._spread(source, start, stride, mask)
            return vector.GatherOp(self.type, source.memory, [at], steps, mask, self.zero()).result
        if mask is not None:
            return self.load_masked(source.advance(start), mask)
        return vector.LoadOp(self.type, source.memory, [source.at(start)]).result

    def _load_interleaved(self, source: Pointer, start: int, stride: int) -> ir.Value:
        """Read every `stride`-th element of a run of registers; nothing past the last lane."""
        count = min(self.count - start, self.width)
        run = replace(self, count=(count - 1) * stride + 1)
        starts = register_starts(self.width, stride, count)
        return every([run.load(source, at) for at in starts], starts, stride)

    def load_masked(self, source: Pointer, mask: ir.Value) -> ir.Value:
        """Read one register; lanes outside the mask read as zero."""
        at = source.at(0)
        return vector.MaskedLoadOp(self.type, source.memory, [at], mask, self.zero()).result

    def store(self, value: ir.Value, target: Pointer, start: int, stride: int = 1) -> None:
        """Write the lanes that exist of the register at `start`."""
        if is_interleaved(stride):
            count = min(self.count - start, self.width)
            for first, register, mask in spread(value, stride, count):
                at = target.at(start * stride + first)
                vector.MaskedStoreOp(target.memory, [at], mask, register)
            return
        mask = self.mask(start)
        if stride != 1:
            at, steps, mask = self._spread(target, start, stride, mask)
            vector.ScatterOp(None, target.memory, [at], steps, mask, value)
            return
        at = target.at(start)
        if mask is None:
            vector.StoreOp(value, target.memory, [at])
        else:
            vector.MaskedStoreOp(target.memory, [at], mask, value)

    def _spread(
        self, pointer: Pointer, start: int, stride: int, mask: ir.Value | None
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """First position, distances and mask for lanes that lie `stride` apart in memory."""
        index = ir.IndexType.get()
        steps = ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(index, lane * stride) for lane in range(self.width)],
            ir.VectorType.get([self.width], index),
        )
        if mask is None:
            mask_type = ir.VectorType.get([self.width], ir.IntegerType.get_signless(1))
            mask = vector.ConstantMaskOp(mask_type, [self.width]).result
        position = pointer.at(start * stride)
        return position, arith.ConstantOp(steps.type, cast(Any, steps)).result, mask


@dataclass(frozen=True)
class Tile:
    """One register tile: `rows` rows of A against the lanes, summed over the reduction dims.

    `rows_a`, `rows_c` are the distances of two rows in A and C, `lanes_c` of two lanes in C. The
    lanes have the type of the sums; those of A and B are `factor`, the same type or pairs of bf16.
    A sum takes some `chain` terms one after another. Instructions that multiply matrices sum along
    `pairs`, neighbours in A, and all in one chain.
    """

    rows: int
    lanes: Lanes
    rows_a: int
    rows_c: int
    lanes_c: int
    reduction: tuple[Dim, ...]
    starts_at_zero: bool
    factor: ir.Type
    chain: int
    pairs: Dim | None = None

    @property
    def columns(self) -> Lanes:
        """The lanes of B, which may have another type than their sums."""
        return replace(self.lanes, element=self.factor)


def multiply_tile(
    tile: Tile, a: Pointer, b: Pointer, c: Pointer, first_extent: Index | None = None
) -> None:
    """Emit the tile; `first_extent` replaces the extent of the outermost reduction dim."""
    places = [(row, start) for row in range(tile.rows) for start in tile.lanes.starts]
    sums = _chains(tile, extents_of(tile.reduction, first_extent), a, b, len(places))
    values = dict(zip(places, sums, strict=True))
    if is_turned(tile.rows_c, tile.lanes_c):
        _write_turned(tile, values, c)
        return
    for (row, start), value in values.items():
        _write(tile, value, tile.lanes, c.advance(row * tile.rows_c), start, tile.lanes_c)


def _chains(
    tile: Tile, extents: Sequence[Index], a: Pointer, b: Pointer, count: int
) -> Sequence[ir.Value]:
    """The sums, those of the chains of a tile added up; totals wait on the stack meanwhile."""
    outer, inner, _ = cut_reduction(tile.reduction, tile.chain)
    around = len(extents) - len(inner)
    dims = list(zip(tile.reduction, extents, [1] * around + [inner[0].extent], strict=False))
    zeros = [tile.lanes.zero()] * count
    part = replace(tile, reduction=inner)

    def blocks(depth: int, left: Index, a: Pointer, b: Pointer, totals: Values) -> Values:
        if depth == len(outer):
            sums = _reduce(part, [left, *extents[around + 1 :]], 0, a, b, zeros)
            added = zip(totals, sums, strict=True)
            return [semiring.add(total, found) for total, found in added] if outer else sums
        dim, extent, step = dims[depth]

        def block(k: Index, carried: Values) -> Values:
            rest = left if depth < around else _left(extent, k, step)
            return blocks(depth + 1, rest, a.advance(k, dim.a), b.advance(k, dim.b), carried)

        return carried_loop(0, extent, step, totals, block)

    return blocks(0, extents[around], a, b, zeros)


def _left(extent: Index, first: Index, step: int) -> Index:
    """How many of so many steps are left from the first on."""
    if isinstance(extent, int) and extent % step == 0:
        return step
    left = arith.SubIOp(constant(extent), constant(first)).result
    return arith.MinSIOp(left, constant(step)).result


def _write(
    tile: Tile, value: ir.Value, lanes: Lanes, target: Pointer, start: int = 0, stride: int = 1
) -> None:
    if not tile.starts_at_zero:
        value = semiring.add(value, lanes.load(target, start, stride))
    lanes.store(value, target, start, stride)


def _write_turned(tile: Tile, sums: Mapping[tuple[int, int], ir.Value], c: Pointer) -> None:
    """Squares of registers, turned round: each register then has neighbours in memory."""
    width = tile.lanes.width
    for first, start in product(range(0, tile.rows, width), tile.lanes.starts):
        rows = min(width, tile.rows - first)
        square = [sums[first + row, start] for row in range(rows)]
        square += [tile.lanes.zero()] * (width - rows)
        neighbours = Lanes(rows, width, tile.lanes.element)
        for lane, value in enumerate(transposed(square)[: tile.lanes.count - start]):
            target = c.advance(first + (start + lane) * tile.lanes_c)
            _write(tile, value, neighbours, target)


def _reduce(
    tile: Tile,
    extents: Sequence[Index],
    depth: int,
    a: Pointer,
    b: Pointer,
    sums: Sequence[ir.Value],
) -> Sequence[ir.Value]:
    """The loops over the reduction dims from `depth` inwards."""
    dim, extent = tile.reduction[depth], extents[depth]
    if depth + 1 < len(extents):
        return carried_loop(
            0,
            extent,
            1,
            sums,
            lambda k, carried: _reduce(
                tile, extents, depth + 1, a.advance(k, dim.a), b.advance(k, dim.b), carried
            ),
        )
    return _innermost(tile, dim, extent, a, b, sums)


def _innermost(
    tile: Tile, dim: Dim, extent: Index, a: Pointer, b: Pointer, sums: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """The last reduction loop, some steps at a time, then the steps that are left one by one."""

    def steps(count: int, k: Index, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        a_k, b_k = a.advance(k, dim.a), b.advance(k, dim.b)
        for step in range(count):
            carried = _outer_product(
                tile, a_k.advance(step, dim.a), b_k.advance(step, dim.b), carried
            )
        return carried

    unroll = _unroll(len(sums))
    if isinstance(extent, int):
        main = extent - extent % unroll
        if main > unroll:
            sums = carried_loop(0, main, unroll, sums, lambda k, carried: steps(unroll, k, carried))
        elif main:
            sums = steps(unroll, 0, sums)
        return steps(extent % unroll, main, sums)
    # All blocks but the last are multiples of 4, as is every unroll factor's multiple.
    main = arith.SubIOp(extent, arith.RemUIOp(extent, constant(unroll)).result).result
    sums = carried_loop(0, main, unroll, sums, lambda k, carried: steps(unroll, k, carried))
    return carried_loop(main, extent, 1, sums, lambda k, carried: steps(1, k, carried))


def _unroll(accumulators: int) -> int:
    return next(
        factor
        for factor in (4, 2, 1)
        if factor * accumulators <= UNROLLED_OPERATIONS or factor == 1
    )


def _outer_product(
    tile: Tile, a: Pointer, b: Pointer, sums: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """sums[row, vector] + A[row] * B[vector] for one step of the reduction."""
    columns = [tile.columns.load(b, start) for start in tile.lanes.starts]
    times = semiring.multiply_add if tile.factor == tile.lanes.element else multiply_add_pairs
    results: list[ir.Value] = []
    remaining = iter(sums)
    for row in range(tile.rows):
        scalar = memref.LoadOp(a.memory, [a.at(row * tile.rows_a)]).result
        spread = vector.BroadcastOp(tile.columns.type, scalar).result
        results += [times(spread, column, next(remaining)) for column in columns]
    return results
