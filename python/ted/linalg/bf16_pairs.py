"""Products of bf16 -> products of pairs, for CPUs that multiply and add two of them at once.

Before: `C[i, j] += extf(A[i, k]) * extf(B[k, j])` over k < 5
After: `A2[i, p]` of i32, `A[i, 2 * p]` in its lower half and `A[i, 2 * p + 1]` in the upper one,
zero behind the last; `B2` alike; `C[i, j] += high(A2) * high(B2) + low(A2) * low(B2)` over p < 3

A pair is an element like any other to all that packs, transposes and tiles. CPUs that multiply
matrices of them want those of one factor to be neighbours; a layout says how they are stored. Where
they are neighbours, `A[i, 2 * p]` and `A[i, 2 * p + 1]` are read in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from ted.domain.linear import Form, dot
from ted.linalg.contraction_factors import have_extents
from ted.linalg.contractions import (
    LinalgContraction,
    added_value,
    contraction_of_factors,
    dense_strides,
    reduction_of,
)
from ted.linalg.slices import extract_slice, insert_slice
from ted.linalg.strided_contractions import Dim
from ted.machine import LINE_BYTES
from ted.mlir import ir, linalg
from ted.mlir.affine_forms import dims_used
from ted.mlir.generic import Generic, empty_generic
from ted.mlir.pairs import pair, product_of_pairs
from ted.mlir.queries import defining
from ted.mlir.scalars import constant, shape_of
from ted.mlir.storage import empty, is_memory
from ted.records import dataclass

Read = tuple[ir.Value, ir.AffineMap]
LINE_ELEMENTS = LINE_BYTES // 4


@dataclass(frozen=True)
class Products:
    """A sum of products of bf16: the operands, which loop is in pairs, and which dims of them."""

    generic: Generic
    factors: tuple[int, int]
    loop: int
    dims: tuple[int, int]
    contraction: LinalgContraction

    @property
    def count(self) -> int:
        """How many pairs there are; the last one may have one half."""
        return ceil(self.contraction.extents[self.loop] / 2)


@dataclass(frozen=True)
class Layout:
    """How pairs are stored: so many, zero behind those there are; the order of factors' dims.

    Rows of a factor, its last dim, are `gaps` elements longer in memory than they have elements.
    Factor `kept` is read in place.
    """

    count: int
    orders: tuple[tuple[int, ...], tuple[int, ...]]
    gaps: tuple[int, int] = (0, 0)
    kept: int | None = None


def products_of_bf16(op: ir.Operation) -> Products | None:
    """The op as a sum of products whose longest loop with subscripts of its own is in pairs."""
    generic = reduction_of(op)
    factors = None if generic is None else _factors(generic.body)
    contraction = contraction_of_factors(generic, *factors) if generic and factors else None
    if generic is None or factors is None or contraction is None:
        return None
    maps = [generic.maps[k] for k in factors]
    longest = max(
        _own_loops(generic, maps), key=lambda found: contraction.extents[found[0]], default=None
    )
    if longest is None or not have_extents([*maps, generic.maps[-1]]):
        return None
    if contraction.extents[longest[0]] == 1:
        return None
    return Products(generic, factors, *longest, contraction)


def as_they_lie(products: Products) -> Layout:
    """The layout of the factors."""
    left, right = (tuple(range(len(m))) for m in products.contraction.maps[:2])
    return Layout(products.count, (left, right))


def for_matrices(products: Products, most: int) -> Iterator[Layout]:
    """Layouts in which pairs of one factor are neighbours, and lanes of the result in the other.

    There are pairs enough for equal groups of at most so many.
    """
    groups = ceil(products.count / most)
    count = groups * ceil(products.count / groups)
    rows, lanes = ([side(products, k) for k in range(2)] for side in (_pairs_last, _lanes_last))
    kept = [k if _are_neighbours(products, k, count) else None for k in range(2)]
    yield Layout(count, (rows[0], lanes[1]), (0, _gap(products, 1, lanes[1])), kept[0])
    yield Layout(count, (lanes[0], rows[1]), (_gap(products, 0, lanes[0]), 0), kept[1])


def _are_neighbours(products: Products, side: int, count: int) -> bool:
    """Whether a factor, as it lies, has so many pairs in each of its rows."""
    value = products.contraction.values[side]
    is_last = products.dims[side] == len(products.contraction.maps[side]) - 1
    return is_last and shape_of(value)[-1] == 2 * count and _lies_in_pairs(value)


def _lies_in_pairs(value: ir.Value) -> bool:
    """Whether neighbours of the last dim are such in memory, and its rows whole pairs apart.

    A tensor will lie as a whole.
    """
    if not is_memory(value):
        return True
    *rows, last = ir.MemRefType(value.type).get_strides_and_offset()[0]
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return last == 1 and unknown not in rows and not any(stride % 2 for stride in rows)


def _gap(products: Products, side: int, order: tuple[int, ...]) -> int:
    """What makes rows an odd number of lines, so that pairs of a lane share no set of a cache."""
    elements = shape_of(products.contraction.values[side])[order[-1]]
    lines = ceil(elements / LINE_ELEMENTS)
    return (lines + 1 - lines % 2) * LINE_ELEMENTS - elements


def _pairs_last(products: Products, side: int) -> tuple[int, ...]:
    paired = products.dims[side]
    return (*(k for k in range(len(products.contraction.maps[side])) if k != paired), paired)


def _lanes_last(products: Products, side: int) -> tuple[int, ...]:
    """The last loop of the result last, pairs before it."""
    result = products.contraction.maps[2]
    along = result[-1].dims if result else frozenset()
    subscripts = products.contraction.maps[side]
    *others, _ = _pairs_last(products, side)
    others.sort(key=lambda k: bool(subscripts[k].dims & along))
    return (*others[:-1], products.dims[side], *others[-1:])


def dims_in_pairs(products: Products, layout: Layout) -> tuple[Dim, ...]:
    """The contraction of a layout as integers."""
    found = products.contraction
    places: list[Form[int]] = []
    for side, order in enumerate(layout.orders):
        shape = list(shape_of(found.values[side]))
        shape[products.dims[side]] = layout.count
        *outer, last = (shape[k] for k in order)
        room = dense_strides([*outer, last + layout.gaps[side]])
        strides = dict(zip(order, room, strict=True))
        places.append(dot(found.maps[side], [strides[k] for k in range(len(order))]))
    places.append(dot(found.maps[2], dense_strides(shape_of(found.values[2]))))
    extents = list(found.extents)
    extents[products.loop] = layout.count
    return tuple(
        Dim(extent, *(place[d] for place in places), reduction=found.reductions[d])
        for d, extent in enumerate(extents)
    )


def in_pairs(op: ir.Operation, products: Products, layout: Layout) -> ir.Operation:
    """The op with pairs in place of factors."""
    generic = products.generic
    with ir.InsertionPoint(op), op.location:
        places = [
            (generic.operands[k], dim, order, layout.count, gap)
            for k, dim, order, gap in zip(
                products.factors, products.dims, layout.orders, layout.gaps, strict=True
            )
        ]
        made_once = dict.fromkeys(p for side, p in enumerate(places) if side != layout.kept)
        paired = {place: _paired(*place) for place in made_once}
        sides = [
            _halves(place[0], generic.maps[k])
            if side == layout.kept
            else [(paired[place], _in_order(generic.maps[k], place[2]))]
            for side, (k, place) in enumerate(zip(products.factors, places, strict=True))
        ]
        reads = [read for side in sides for read in side]
        made = empty_generic(
            [value for value, _ in reads],
            generic.outputs,
            [*(map_ for _, map_ in reads), generic.maps[-1]],
            generic.reductions,
        )
        *factors, out = made.regions[0].blocks[0].arguments
        with ir.InsertionPoint(made.regions[0].blocks[0]):
            count = len(sides[0])
            linalg.YieldOp([product_of_pairs(factors[:count], factors[count:], out)])
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return made


def _halves(value: ir.Value, map_: ir.AffineMap) -> list[Read]:
    """A factor in place: its lower halves, then the upper ones."""
    *outer, last = map_.results
    return [
        (value, ir.AffineMap.get(map_.n_dims, 0, [*outer, last * 2 + half])) for half in range(2)
    ]


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body `out + extf(a) * extf(b)` of bf16 multiplies."""
    added = added_value(block)
    product = None if added is None else defining(added, "arith.mulf")
    casts = [] if product is None else [defining(v, "arith.extf") for v in product.operands]
    sources = [c.operands[0] for c in casts if c is not None]
    arguments: list[ir.Value] = list(block.arguments)
    if len(sources) != 2 or any(s not in arguments for s in sources):
        return None
    if any(not isinstance(s.type, ir.BF16Type) for s in sources):
        return None
    return arguments.index(sources[0]), arguments.index(sources[1])


def _own_loops(
    generic: Generic, maps: Sequence[ir.AffineMap]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Summed loops that are subscripts by themselves of two operands, and of which dims."""
    for loop in (d for d, is_summed in enumerate(generic.reductions) if is_summed):
        left, right = (_subscript(loop, m) for m in maps)
        if left is not None and right is not None:
            yield loop, (left, right)


def _subscript(loop: int, map_: ir.AffineMap) -> int | None:
    """The dim that a loop reads by itself, where no other one depends on the loop."""
    using = [k for k, e in enumerate(map_.results) if loop in dims_used(e)]
    if len(using) != 1 or not isinstance(map_.results[using[0]], ir.AffineDimExpr):
        return None
    return using[0]


def _in_order(map_: ir.AffineMap, order: Sequence[int]) -> ir.AffineMap:
    exprs = list(map_.results)
    return ir.AffineMap.get(map_.n_dims, 0, [exprs[k] for k in order])


def _paired(value: ir.Value, dim: int, order: tuple[int, ...], count: int, gap: int) -> ir.Value:
    """The tensor with neighbours along a dim as so many pairs, and its dims in an order."""
    extent = shape_of(value)[dim]
    shape = [count if k == dim else shape_of(value)[k] for k in order]
    room = [*shape[:-1], shape[-1] + gap]
    result = empty(room, ir.IntegerType.get_signless(32), value)
    whole, rest = divmod(extent, 2)
    if whole:
        halves = [_along(value, dim, start, whole, 2) for start in (0, 1)]
        result = _stored(halves, result, (0, whole), shape, dim, order)
    if rest:
        last = _along(value, dim, 2 * whole, 1, 1)
        result = _stored([last], result, (whole, 1), shape, dim, order)
    if whole + rest < count:
        zeros = (whole + rest, count - whole - rest)
        result = _stored([], result, zeros, shape, dim, order)
    return result if not gap else _along(result, len(order) - 1, 0, shape[-1], 1)


def _along(value: ir.Value, dim: int, start: int, size: int, step: int) -> ir.Value:
    """Elements `start + step * k` along a dim, for so many k."""
    rank = len(shape_of(value))
    offsets = [start if d == dim else 0 for d in range(rank)]
    sizes = [size if d == dim else extent for d, extent in enumerate(shape_of(value))]
    strides = [step if d == dim else 1 for d in range(rank)]
    return extract_slice(value, offsets, sizes, strides)


def _stored(
    halves: Sequence[ir.Value],
    into: ir.Value,
    part: tuple[int, int],
    shape: Sequence[int],
    dim: int,
    order: tuple[int, ...],
) -> ir.Value:
    """Pairs of halves as a part of what is there: first along the dim, how many; 0 for none."""
    (start, size), at = part, order.index(dim)
    offsets = [start if d == at else 0 for d in range(len(order))]
    sizes = [size if d == at else extent for d, extent in enumerate(shape)]
    strides = [1] * len(order)
    goal = extract_slice(into, offsets, sizes, strides)
    identity = ir.AffineMap.get_identity(len(order))
    maps = [identity] * len(halves) + [_in_order(identity, order)]
    made = empty_generic(halves, [goal], maps, [False] * len(order))
    body = made.regions[0].blocks[0]
    with ir.InsertionPoint(body):
        low, high = (*list(body.arguments)[:-1], None, None)[:2]
        value = constant(body.arguments[-1].type, 0) if low is None else pair(low, high)
        linalg.YieldOp([value])
    if is_memory(into):
        return into
    return insert_slice(made.results[0], into, offsets, sizes, strides)
