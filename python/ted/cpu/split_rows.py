"""Sums of rows: some rows go together, so that loops are long and totals stay in registers.

Before: `%out[c] += %x[r, c]` over 20000 rows of 9 columns
After:  `%out[c] += %x[r, k, c]` over 2500 rows of 8 x 9, and rows that are left over by themselves

Of few columns k and c become one loop, as `ted-spread-operands` does it: totals of 72 elements,
which are nine registers, where a row of nine numbers is one and a rest. A total takes fewer terms
one after another, too. Of many columns k becomes the innermost loop, over four rows, and is
unrolled: a total is read and written once for four terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from math import gcd

from ted.cpu.unit_slices import slice_of, sliced
from ted.cpu.work import number_bytes
from ted.linalg.collapsing import Access, Box, fits, put
from ted.machine import Cpu
from ted.mlir import ir, memref
from ted.mlir.affine_forms import dims_used, substitute
from ted.mlir.combining import combiners
from ted.mlir.generic import Generic

# Columns of rows that are short.
MOST_COLUMNS = 32
# Bytes of the totals of a long row: few registers would wait for additions, many are no registers.
LONG_ROW = 256
# Long rows, at least: their totals are joined once more.
LEAST_ROWS = 8
# Rows of many columns that go together.
JAMMED = 4


def rows_together(generic: Generic, cpu: Cpu) -> tuple[int, int] | None:
    """The loop over rows of a sum, and how many go together; None where none should."""
    if generic.extents is None or generic.is_map or combiners(generic) is None:
        return None
    extents = generic.extents
    found = chain(_of_few_columns(generic, extents, cpu), _of_many_columns(generic, extents))
    return next((pair for pair in found if extents[pair[0]] >= LEAST_ROWS * pair[1]), None)


def _of_few_columns(
    generic: Generic, extents: Sequence[int], cpu: Cpu
) -> Iterator[tuple[int, int]]:
    widest = max(number_bytes(v.type) for v in generic.outputs)
    rows = [k for k, summed in enumerate(generic.reductions) if summed]
    columns = [k for k, n in enumerate(extents) if k not in rows and 1 < n <= MOST_COLUMNS]
    for column, row in product(columns, rows):
        if _are_rows(generic, row, column):
            numbers, lanes = LONG_ROW // widest, cpu.lanes(widest)
            yield row, _together(extents[row], extents[column], numbers, lanes)


def _of_many_columns(generic: Generic, extents: Sequence[int]) -> Iterator[tuple[int, int]]:
    *others, last = range(generic.rank)
    if not generic.reductions[last] and extents[last] > MOST_COLUMNS:
        rows = (k for k in reversed(others) if generic.reductions[k])
        yield from ((k, JAMMED) for k in rows if _is_plain(generic, k))


def _is_plain(generic: Generic, loop: int) -> bool:
    """Whether a loop is a subscript by itself wherever it is one."""
    exprs = (e for m in generic.maps for e in m.results if loop in dims_used(e))
    return all(isinstance(e, ir.AffineDimExpr) for e in exprs)


def _together(rows: int, columns: int, numbers: int, lanes: int) -> int:
    """Rows of so many numbers that fill registers, if possible a divisor of all."""
    whole = lanes // gcd(lanes, columns)
    first = -(-numbers // (columns * whole)) * whole
    return next((k for k in range(first, 2 * first, whole) if rows % k == 0), first)


def _are_rows(generic: Generic, row: int, column: int) -> bool:
    """Whether what is read lies in memory row by row, or knows neither, or columns alone."""
    others = [k for k in range(generic.rank) if k not in (row, column)]
    order = [*others, row, column]
    moved: list[ir.AffineExpr] = [
        ir.AffineExpr.get_dim(order.index(k)) for k in range(generic.rank)
    ]
    extents, last = generic.extents or (), generic.rank - 2
    box = Box(tuple(extents[k] for k in order), (True,) * generic.rank, ())
    reads = 0
    for value, amap in zip(generic.operands, generic.maps, strict=True):
        used = dims_used(*amap.results) & {row, column}
        if not used or used == {column}:
            continue
        exprs = [substitute(moved, e) for e in amap.results]
        access = Access(value, ir.AffineMap.get(generic.rank, 0, exprs))
        if used == {row} or not fits(access, box, last):
            return False
        reads += 1
    return reads > 0


def split_rows(generic: Generic, row: int, together: int) -> Generic:
    """The generic over long rows, behind which rows that are left over have one of their own."""
    op, count = generic.op, (generic.extents or ())[row]
    whole = count - count % together
    with ir.InsertionPoint(op), op.location:
        views = _part(generic, row, 0, whole)
        if whole < count:
            with ir.InsertionPoint.after(op):
                sliced(op, _part(generic, row, whole, count - whole), {})
        accesses = [
            _split(value, amap, row, together)
            for value, amap in zip(views, generic.maps, strict=True)
        ]
        extents = [*(generic.extents or ()), together]
        extents[row] = whole // together
        parallel = [not summed for summed in (*generic.reductions, True)]
        put(op, Box(tuple(extents), tuple(parallel), tuple(accesses)))
    return Generic(op)


def _part(generic: Generic, row: int, first: int, size: int) -> list[ir.Value]:
    count = (generic.extents or ())[row]
    if size == count:
        return generic.operands
    pairs = zip(generic.operands, generic.maps, strict=True)
    return [slice_of(v, m, row, first, size, count) for v, m in pairs]


def _split(value: ir.Value, amap: ir.AffineMap, row: int, together: int) -> Access:
    """An operand with rows of rows; the loop over those in one is the last one."""
    last, here = ir.AffineExpr.get_dim(amap.n_dims), ir.AffineExpr.get_dim(row)
    dims: list[ir.AffineExpr] = [ir.AffineExpr.get_dim(k) for k in range(amap.n_dims + 1)]
    dims[row] = here * together + last  # in a subscript that counts rows and columns, if any
    results = [e if e == here else substitute(dims, e) for e in amap.results]
    for place in reversed([k for k, e in enumerate(results) if e == here]):  # a diagonal has two
        results.insert(place + 1, last)
        value = _expanded(value, place, together)
    return Access(value, ir.AffineMap.get(amap.n_dims + 1, 0, results))


def _expanded(value: ir.Value, place: int, together: int) -> ir.Value:
    kind = ir.MemRefType(value.type)
    shape, (strides, offset) = list(kind.shape), kind.get_strides_and_offset()
    groups: list[Sequence[int]] = [[k + (k > place)] for k in range(len(shape))]
    groups[place] = [place, place + 1]
    shape[place : place + 1] = [shape[place] // together, together]
    strides[place : place + 1] = [strides[place] * together, strides[place]]
    layout = ir.StridedLayoutAttr.get(offset, strides)
    is_strided = isinstance(kind.layout, ir.StridedLayoutAttr)
    made = ir.MemRefType.get(
        shape, kind.element_type, layout if is_strided else None, kind.memory_space
    )
    return memref.ExpandShapeOp(made, value, groups, [], shape).result
