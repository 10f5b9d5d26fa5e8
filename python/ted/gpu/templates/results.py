"""Runs of sums from registers to C: bounds, what finishes them, rounding, accumulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ted.gpu.templates import integers
from ted.gpu.templates.integers import Condition, Number, offset
from ted.gpu.templates.kernels import Memory, convert, lane, slice_of, when
from ted.gpu.templates.problem import Layout
from ted.mlir import ir, semiring, vector
from ted.records import dataclass


@dataclass(frozen=True)
class MatrixView:
    """Memory with its layouts along m and n, from the block's batch on; runs of `width` columns."""

    memory: Memory
    base: Number
    rows: Layout
    columns: Layout
    width: int

    def row(self, number: Number) -> Number:
        """Where a row starts."""
        return integers.add(self.base, offset(number, self.rows))


@dataclass(frozen=True)
class Target:
    """C as seen by one block, and what becomes of sums: `body` takes them and the inputs."""

    view: MatrixView
    row_count: int
    column_count: int
    accumulate: bool = False
    body: str = ""
    inputs: tuple[MatrixView, ...] = ()


@dataclass(frozen=True)
class Run:
    """Neighbouring columns of one row: (m, n) of the first and its values."""

    row: Number
    column: Number
    values: ir.Value


# A run of columns that is stored at once: its first column as the sum of the two.
Key = tuple[Number, int]


@dataclass(frozen=True)
class _Columns:
    """A stored run's position in C and in each lane's inputs, and whether it is inside of C."""

    position: Number
    inputs: tuple[tuple[Number, ...], ...]
    fits: Condition


def store_runs(target: Target, runs: Sequence[Run], tile: tuple[int, int]) -> None:
    """Write runs; those of a tile of (rows, columns) that reaches past the end are checked.

    Runs of one row share its number, so that its position and its check are computed once.
    """
    ragged_rows = target.row_count % tile[0] != 0
    columns: dict[Key, _Columns] = {}
    rows: dict[object, list[Run]] = {}
    for run in runs:
        rows.setdefault(run.row, []).append(run)
        for key, count in _parts(run, target.view.width):
            if key not in columns:
                columns[key] = _columns(target, key, count, tile[1])
    epilogue = _finisher(target.body)
    for own in rows.values():
        inside = integers.less(own[0].row, target.row_count) if ragged_rows else True

        def store_row(own: list[Run] = own) -> None:
            position = target.view.row(own[0].row)
            inputs = [view.row(own[0].row) for view in target.inputs]
            for run in own:
                for key, count in _parts(run, target.view.width):
                    values = slice_of(run.values, key[1], count)
                    _store(target, (position, inputs), columns[key], values, epilogue)

        when(inside, store_row)


def _parts(run: Run, width: int) -> Iterator[tuple[Key, int]]:
    count = ir.VectorType(run.values.type).shape[0]
    width = min(width, count)
    for first in range(0, count, width):
        yield (run.column, first), width


def _columns(target: Target, key: Key, count: int, tile: int) -> _Columns:
    column = integers.add(*key)
    inside = integers.less(column, target.column_count) if target.column_count % tile else True
    inputs = tuple(
        tuple(
            offset(integers.add(column, start), view.columns)
            for start in range(0, count, min(count, view.width))
        )
        for view in target.inputs
    )
    return _Columns(offset(column, target.view.columns), inputs, inside)


Finisher = Callable[[list[ir.Value]], ir.Value]


def _finisher(body: str) -> Finisher | None:
    """Puts the operations of a body where it is called, on a sum and the elements of inputs."""
    if not body:
        return None
    module = ir.Module.parse(body)  # lives as long as what refers to it

    def epilogue(values: list[ir.Value]) -> ir.Value:
        block = module.body.operations[0].operation.regions[0].blocks[0]
        known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, values, strict=True))
        *steps, end = [op.operation for op in block.operations]
        for op in steps:
            copy = op.clone()
            for k, operand in enumerate(op.operands):
                copy.operation.operands[k] = known[operand]
            known.update(zip(op.results, copy.operation.results, strict=True))
        return known[end.operands[0]]

    return epilogue


def _store(
    target: Target,
    rows: tuple[Number, list[Number]],
    columns: _Columns,
    values: ir.Value,
    epilogue: Finisher | None,
) -> None:
    def store() -> None:
        memory = target.view.memory
        position = integers.add(rows[0], columns.position)
        result = values
        if target.accumulate:
            held = memory.load(position, ir.VectorType(values.type).shape[0])
            result = semiring.add(convert(held, ir.VectorType(values.type).element_type), result)
        if epilogue is not None:
            result = _finished(target, rows[1], columns, result, epilogue)
        memory.store(convert(result, memory.element), position)

    when(columns.fits, store)


def _finished(
    target: Target,
    rows: list[Number],
    columns: _Columns,
    values: ir.Value,
    epilogue: Finisher,
) -> ir.Value:
    """The epilogue of each value of a run."""
    count = ir.VectorType(values.type).shape[0]
    inputs = [
        _elements(view, row, starts, count)
        for view, row, starts in zip(target.inputs, rows, columns.inputs, strict=True)
    ]
    results = [
        epilogue([lane(values, k), *(elements[k] for elements in inputs)]) for k in range(count)
    ]
    kind = ir.VectorType.get([count], results[0].type)
    return vector.FromElementsOp(kind, results).result


def _elements(
    view: MatrixView, row: Number, starts: tuple[Number, ...], count: int
) -> list[ir.Value]:
    """The elements of an input for a run; one is read for all where columns do not move it."""
    width = min(count, view.width)
    if all(stride == 0 for _, stride in view.columns.groups):
        same = lane(view.memory.load(integers.add(row, starts[0])), 0)
        return [same] * count
    runs = [view.memory.load(integers.add(row, start), width) for start in starts]
    return [lane(run, k) for run in runs for k in range(width)]
