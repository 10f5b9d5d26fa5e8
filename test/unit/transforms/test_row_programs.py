"""The parts of a program over a batch: phases, totals, numbers of rows, what is computed again."""

from __future__ import annotations

from typing import Any

import ted
from ted.domain import parameters
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT32, FLOAT64
from ted.ir.equations import Equation, System, Tensor
from ted.ir.scalar import const, dim, load
from ted.transforms.row_programs import RowPrograms, row_programs

N = ted.size("n", min=2, multiple_of=2)
SYMBOL = N.symbols[0]


def _x(*shape: int, dtype: str = "float64") -> Any:
    return ted.placeholder((N, *shape), dtype, name="x")


def _programs(inputs: Any, *outputs: Any) -> RowPrograms:
    return row_programs(system_of(inputs, outputs), SYMBOL)


def _made(programs: RowPrograms) -> list[tuple[bool, list[str]]]:
    return [(p.by_rows, [t.name for t in p.outputs]) for p in programs.programs]


def test_a_map_is_one_program_of_rows_that_promises_nothing() -> None:
    x = _x(3)
    programs = _programs([x], ted.tanh(x) + 1)
    (program,) = programs.programs
    assert program.by_rows
    (rows,) = program.system.inputs[0].shape[0].symbols
    assert (rows.name, rows.minimum, rows.multiple_of) == ("n", 0, 1)
    assert all(e.is_box for t in program.system.tensors() for e in t.equations)


def test_what_all_rows_make_starts_from_an_input_and_ends_a_phase() -> None:
    x = _x(3)
    total = ted.sum(x, axis=0)
    programs = _programs([x], x / total)
    first, second = programs.programs
    ((made, start),) = first.totals
    assert programs.starts == {start: 0}
    assert start in first.inputs
    assert [e.combiner for e in first.system.outputs[0].equations] == ["set", "add"]
    assert set(second.inputs) == {x.node, made}
    assert not second.totals


def test_work_on_weights_is_done_once_and_cheap_work_by_every_program() -> None:
    x, w = _x(16), ted.placeholder((16, 16), "float64", name="w")
    scale = ted.placeholder((), "float64", name="scale")
    y = x @ ted.tanh(w) * ted.exp(scale)
    assert _made(_programs([x, w, scale], y)) == [(False, ["tanh"]), (True, [y.name])]


def test_rows_that_a_later_phase_reads_are_kept() -> None:
    x = _x(3)
    y = ted.exp(x)
    z = y / ted.sum(y)
    assert _made(_programs([x], z)) == [(True, [y.name, "sum"]), (True, [z.name])]


def test_the_number_of_rows_is_an_input() -> None:
    x = _x(3)
    programs = _programs([x], ted.mean(x), x * ted.cast(3 * N, "float64"))
    assert [str(n) for n in programs.numbers.values()] == ["3*n"]


def test_totals_of_halves_are_kept_in_float32() -> None:
    x = _x(dtype="float16")
    programs = _programs([x], ted.sum(x))
    ((made, start),) = programs.programs[0].totals
    assert (made.dtype, start.dtype) == (FLOAT32, FLOAT32)
    assert [t.dtype.name for t in programs.outputs] == ["float16"]


def test_a_total_that_starts_from_an_array_and_goes_on_after_the_rows() -> None:
    x, s = _x(3), ted.placeholder((3,), "float64", name="s")
    total = ted.sum(x, axis=0, init=ted.exp(s) * ted.exp(2 * s) * ted.exp(3 * s) * ted.exp(4 * s))
    programs = _programs([x, s], total)
    assert [by_rows for by_rows, _ in _made(programs)] == [False, True]


def test_work_of_a_row_counts_what_each_strip_does() -> None:
    x, w = _x(8), ted.placeholder((8, 4), "float64", name="w")
    assert _programs([x, w], x @ w).work == 8 * 4 * 2
    assert _programs([x, w], x @ w, ted.sum(w)).work == 8 * 4 * 2


def test_what_a_cheap_tensor_reads_is_made_for_the_programs_that_compute_it_again() -> None:
    x, w = _x(16), ted.placeholder((16, 16), "float64", name="w")
    corner = ted.tanh(w)[0, 0] * 2
    first, second = _programs([x, w], x * corner).programs
    assert [t.name for t in first.outputs] == ["tanh"]
    assert set(second.inputs) == {x.node, *first.outputs}


def test_equations_before_and_after_the_rows_stay_in_order() -> None:
    rows = Tensor("x", (N,), FLOAT64)
    doubled = Equation((), 0, parameters.box(()), (), "mul", const(2.0, FLOAT64))
    joined = Equation((N,), 0, parameters.box((N,)), (), "add", load(rows, (dim(0),)))
    total = Tensor("total", (), FLOAT64, 3, (doubled, joined, doubled))
    programs = row_programs(System((rows,), (total,)), SYMBOL)
    before, strip, after = programs.programs
    assert [p.by_rows for p in programs.programs] == [False, True, False]
    assert before.outputs[0].fill == 3
    assert [e.combiner for e in before.outputs[0].equations] == ["mul"]
    assert strip.totals == ((strip.outputs[0], before.outputs[0]),)
    assert [e.combiner for e in after.outputs[0].equations] == ["set", "mul"]
