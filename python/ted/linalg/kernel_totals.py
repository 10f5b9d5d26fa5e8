"""Sums over rows in the loop over these rows: what they begin with, what a row adds, and their end.

Before: `db[j] = sum over i of dy[i, j]`, a total of a kernel whose turns are rows i
After: `%t` filled in front of the loop, `linalg.generic {ted.total}` for `%t[j] += dy'[j]` in each
turn, and `%t` rounded behind it where it has a wider type
"""

from __future__ import annotations

from dataclasses import replace

from ted.linalg.combiners import accumulator_type
from ted.linalg.generics import cast_tensor, filled, totals_of
from ted.linalg.loops import TOTAL
from ted.linalg.memory_places import Places
from ted.linalg.sliced_dims import reads_sliced
from ted.linalg.subdomain import Subdomain, from_compute
from ted.linalg.unit_dims import without_unit_iterations
from ted.mlir import ir
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type, narrowed


def row_of(op: ir.Operation) -> int:
    """The dim of an equation on memory that the loop counts."""
    (row,) = without_unit_iterations(from_compute(op)).reduction_dims
    return row


def begun_total(op: ir.Operation, places: Places) -> ir.Value:
    """Memory of a sum before the first row, wide enough to be rounded once."""
    (result,) = op.results
    memory, start = places.memory[result], places.starts[result]
    places.starts[result] = None
    combiner = ir.StringAttr(op.attributes["combiner"]).value
    kind = accumulator_type(combiner, element_type(memory), repeats=True)
    with op.location:
        number = None if start is None or start.value is None else _here(start.value)
        if number is not None and kind == element_type(memory):
            return filled(memory, number)
        return totals_of(memory, kind, number)


def _here(number: ir.Value) -> ir.Value:
    """A number that may be a constant behind this place."""
    op = defining(number, "arith.constant")
    return number if op is None else op.clone().operation.results[0]


def total_at_row(whole: Subdomain, total: ir.Value, now: ir.Value) -> Subdomain:
    """What a row adds."""
    (row,) = whole.reduction_dims
    sliced = reads_sliced(replace(whole, inits=(total,)), row, now)
    assert sliced is not None, "what is read in a turn are rows"
    wishes = (*sliced.wishes, (TOTAL, ir.UnitAttr.get()))
    return replace(sliced.without_dim(row), wishes=wishes)


def end_total(op: ir.Operation, total: ir.Value, places: Places) -> None:
    """Round a total of a wider type."""
    memory = places.memory[op.results[0]]
    with op.location:
        cast_tensor(total, element_type(memory), narrowed, into=memory)
