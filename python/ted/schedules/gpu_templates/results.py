"""Runs of sums from registers to C: bounds, rounding to C's type, accumulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ted.mlir import ir
from ted.schedules import ring
from ted.schedules.gpu_templates import numbers
from ted.schedules.gpu_templates.kernels import Memory, convert, slice_of, when
from ted.schedules.gpu_templates.numbers import Condition, Number, offset
from ted.schedules.gpu_templates.problem import Layout


@dataclass(frozen=True)
class Target:
    """C as seen by one block: where it lies, its layouts along m and n, the widest store."""

    memory: Memory
    base: Number
    rows: Layout
    columns: Layout
    row_count: int
    column_count: int
    width: int
    accumulate: bool


@dataclass(frozen=True)
class Run:
    """Neighbouring columns of one row: (m, n) of the first and its values."""

    row: Number
    column: Number
    values: ir.Value


def store_runs(target: Target, runs: Sequence[Run], tile: tuple[int, int]) -> None:
    """Write runs; those of a tile of (rows, columns) that reaches past the end are checked.

    Runs of one row have to follow each other: its position and its check are shared.
    """
    ragged_rows = target.row_count % tile[0] != 0
    columns: dict[object, tuple[Number, Condition]] = {}
    rows: dict[object, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.row, []).append(run)
        for column, _ in _parts(run, target.width):
            if column not in columns:
                columns[column] = _column(target, column, tile[1])
    for own in rows.values():
        inside = numbers.less(own[0].row, target.row_count) if ragged_rows else True

        def store_row(row: Number = own[0].row, own: list[Run] = own) -> None:
            position = numbers.add(target.base, offset(row, target.rows))
            for run in own:
                for column, values in _parts(run, target.width):
                    at, fits = columns[column]
                    _store(target, numbers.add(position, at), fits, values())

        when(inside, store_row)


def _parts(run: Run, width: int):
    count = ir.VectorType(run.values.type).shape[0]
    width = min(width, count)
    for first in range(0, count, width):
        key = (run.column, first)
        yield key, lambda first=first: slice_of(run.values, first, width)


def _column(target: Target, key: tuple[Number, int], tile: int) -> tuple[Number, Condition]:
    column = numbers.add(*key)
    inside = numbers.less(column, target.column_count) if target.column_count % tile else True
    return offset(column, target.columns), inside


def _store(target: Target, position: Number, fits: Condition, values: ir.Value) -> None:
    def store() -> None:
        result = values
        if target.accumulate:
            width = ir.VectorType(values.type).shape[0]
            held = target.memory.load(position, width)
            result = ring.add(convert(held, ir.VectorType(values.type).element_type), result)
        target.memory.store(convert(result, target.memory.element), position)

    when(fits, store)
