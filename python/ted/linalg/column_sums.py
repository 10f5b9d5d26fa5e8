"""Sums over rows, of which a loop over these rows can do one step at a time."""

from __future__ import annotations

from ted.linalg.contractions import MARK
from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.mlir.queries import position


def is_column_sum(op: ir.Operation) -> bool:
    """A sum over the outermost loop only, whose operands use that loop as their first subscript."""
    generic = generic_of(op)
    if generic is None or MARK in op.attributes:
        return False
    if generic.reductions != (True, *[False] * (generic.rank - 1)) or generic.rank < 2:
        return False
    if generic.asks_where or generic.dims is None:
        return False
    return any(map(is_by_row, generic.maps)) and all(map(_rows_first, generic.maps))


def is_by_row(amap: ir.AffineMap) -> bool:
    """Whether an operand moves along with the rows."""
    return any(position(e) == 0 for e in amap.results)


def _rows_first(amap: ir.AffineMap) -> bool:
    return all(position(e) != 0 for e in list(amap.results)[1:])
