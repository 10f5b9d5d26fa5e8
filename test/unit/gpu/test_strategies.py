"""The table of strategies: every row may be asked for, declines with a reason, and is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from support.ptx_programs import run_manifest
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.gpu import ted_choose_kernels
from ted.gpu.contractions import Contractions
from ted.gpu.strategies import TABLE, Decision, decide, every
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir
from ted.mlir.queries import functions, operations

RNG = np.random.default_rng(5)
FILE = Path(__file__).parents[2] / "gpu" / "ted-choose-kernels.mlir"
PIPELINE = "builtin.module(ted-choose-kernels,ted-map-to-gpu)"


def programs() -> ir.Module:
    """Those of the IR test."""
    return ir.Module.parse(FILE.read_text())


def decisions(module: ir.Module, deterministic: bool = True) -> list[tuple[str, Decision]]:
    """All decisions about a module, each with its function."""
    found: list[tuple[str, Decision]] = []
    for function in functions(module):
        made = decide(
            function.entry_block, Contractions(module, "sm_80"), deterministic=deterministic
        )
        found += [(function.name.value, decision) for decision in every(made)]
    return found


def test_every_row_is_chosen_and_its_function_is_named_after_it() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        found = [*decisions(module), *decisions(module, deterministic=False)]
    chosen = {d.choice.row.name for _, d in found}
    assert chosen == {row.name for row in TABLE}
    assert len(TABLE) == len(chosen), "two rows of one name"


# In a function of the IR test, a row that declines, and the property that it misses.
DECLINED = {
    "start": ("points", "no fill that the next kernel starts from"),
    "pieces_apart": ("pieces_in_cells", "turns in the last dim, every 2 elements"),
    "pieces_in_cells": ("points", "no other operation writes the same memory"),
    "host_copy": ("copies_of_memory", "no copy of dense memory"),
    "contraction_with_epilogue": ("contraction", "or its result starts from something"),
    "rows": ("points", "no loop over rows"),
    "contraction": ("points", "no claimed contraction"),
    "reduction_by_chunks": ("reduction_by_teams", "640 results of 100 points go to teams"),
    "reduction_by_columns": ("reduction_by_threads", "64 results of 8 points go to threads"),
    "reduction_by_teams": ("reduction_by_threads", "64 results of 8 points go to threads"),
    "reduction_by_threads": ("points", "no box of points that are summed"),
    "transposed_tiles": ("points", "no input is read across its rows"),
    "points": ("loop_points", "no map"),
    "shared_time": ("point_loop", "no prefix scan of many steps"),
    "point_loop": ("prefix_scan", "no loop over time whose points do not meet"),
    "host_loop": ("loop_points", "no loop or condition around other kernels"),
    "host": ("loop_points", "it computes"),
    "prefix_scan": ("loop_points", "no prefix scan of many steps"),
    "atomics": ("owners", "the order of updates must not depend on chance"),
    "copies": ("chains", "9000 updates of 50000 elements: copies cost more"),
    "chains": ("owners", "90 updates, from 256 on"),
    "owners": ("loop_points", "no write at data that threads can share"),
}


def test_every_row_that_can_declines_with_the_property_that_is_missing() -> None:
    assert set(DECLINED) == {row.name for row in TABLE[:-1]}, "the last row takes the rest"
    with make_context(), ir.Location.unknown():
        module = programs()
        found = [(name, *pair) for name, d in decisions(module) for pair in d.choice.declined]
    for row, (function, reason) in DECLINED.items():
        reasons = [why for name, of, why in found if (name, of) == (function, row)]
        assert any(reason in why for why in reasons), (row, reasons)


@pytest.mark.slow
def test_looking_for_a_plan_changes_nothing() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        for name, decision in decisions(module):
            before = str(module)
            for row in TABLE:
                row.match(decision.site)
                assert str(module) == before, (name, row.name)


BUFFER_INSIDE = """func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 8 : index
  scf.for %i = %begin to %end step %step {
    %kept = memref.alloc() : memref<f32>
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %kept[] : memref<f32>
    %w = memref.load %kept[] : memref<f32>
    memref.store %w, %y[%i] : memref<8xf32>
  }
  return
}"""


def test_the_host_makes_the_buffers_of_a_loop_that_is_a_kernel() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(BUFFER_INSIDE)
        (found,) = [d for _, d in decisions(module) if d.choice.row.name == "loop_points"]
        (buffer,) = operations(module, "memref.alloc")
        assert (found.site.op.name, buffer.parent.name) == ("scf.for", "func.func")
        run_pipeline(module, PIPELINE)
        (kernel,) = operations(module, "gpu.launch")
        assert not operations(kernel, "memref.alloc")


HOST_CONDITION_FIRST = """func.func @f(%c: i1, %x: memref<8x64xf32>, %y: memref<64xf32>) {
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  %end = arith.constant 8 : index
  scf.for %i = %begin to %end step %step {
    scf.if %c {
      scf.for %j = %begin to %end step %step {
        %row = memref.subview %x[%j, 0] [1, 64] [1, 1]
            : memref<8x64xf32> to memref<64xf32, strided<[1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
            iterator_types = ["parallel"]}
            ins(%row : memref<64xf32, strided<[1], offset: ?>>) outs(%y : memref<64xf32>) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          linalg.yield %s : f32
        }
      }
    }
  }
  return
}"""


def test_a_loop_of_the_host_may_begin_with_a_condition() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(HOST_CONDITION_FIRST)
        found = {d.site.op.name for _, d in decisions(module) if d.choice.row.name == "host_loop"}
        assert "scf.if" in found
        run_pipeline(module, PIPELINE)
        assert operations(module, "gpu.launch")
        assert "linalg" not in str(module)


def test_what_is_asked_for_is_taken_away_with_the_operation() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        run_pipeline(module, PIPELINE)
        assert "ted.strategy" not in str(module)


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the operation that would get one row ask for another."""

    def ask(row: str, wanted: str) -> None:
        def annotate(op: ir.Operation, choice: Any) -> None:
            text = wanted if choice.row.name == row else f'{{name = "{choice.row.name}"}}'
            if choice.row.name != "start":  # which is what others start from
                op.attributes["ted.strategy"] = ir.Attribute.parse(text, op.context)
            asked.append(choice.row.name)

        asked: list[str] = []
        compile_here(monkeypatch)
        monkeypatch.setattr(ted_choose_kernels, "annotate", annotate)
        monkeypatch.setattr(ask, "asked", asked, raising=False)

    return ask


def summed(rows: int, points: int, axis: int) -> Any:
    x = ted.placeholder((rows, points), "float64", name="x")
    a = RNG.normal(size=(rows, points))
    return [x], [ted.sum(x, axis=axis)], [a], a.sum(axis)


def mapped() -> Any:
    x = ted.placeholder((160, 128), "float64", name="x")
    a = RNG.normal(size=(160, 128))
    return [x], [ted.sin(x)], [a], np.sin(a)


def turned() -> Any:
    x = ted.placeholder((96, 64), "float64", name="x")
    a = RNG.normal(size=(96, 64))
    return [x], [ted.transpose(x) * 2.0], [a], a.T * 2.0


def softmax() -> Any:
    x = ted.placeholder((40, 30), "float64", name="x")
    a = RNG.normal(size=(40, 30))
    e = np.exp(a - a.max(1, keepdims=True))
    return [x], [ted.nn.softmax(x)], [a], e / e.sum(1, keepdims=True)


def totals(steps: int) -> Any:
    x = ted.placeholder((steps, 3), "float64", name="x")
    a = RNG.normal(size=(steps, 3))
    return [x], [ted.cumsum(x, 0)], [a], np.cumsum(a, 0)


def counted(updates: int, bins: int) -> Any:
    i, x = ted.placeholder((updates,), "int64"), ted.placeholder((updates,), "float64")
    places, a = RNG.integers(0, bins, updates), RNG.normal(size=updates)
    wanted = np.zeros(bins)
    np.add.at(wanted, places, a)
    return [i, x], [ted.segment_sum(x, i, bins)], [places, a], wanted


OBEYED = {
    "threads for teams": (lambda: summed(20, 90, 1), "reduction_by_teams",
                          '{name = "reduction_by_threads"}'),
    "a sum in a loop": (lambda: summed(20, 90, 1), "reduction_by_teams", '{name = "loop_points"}'),
    "a block for a result": (lambda: summed(20, 90, 1), "reduction_by_teams",
                             '{name = "reduction_by_teams", team = 256}'),
    "more threads than points": (lambda: summed(64, 8, 1), "reduction_by_threads",
                               '{name = "reduction_by_teams", team = 64}'),
    "columns for teams": (lambda: summed(20, 90, 1), "reduction_by_teams",
                          '{name = "reduction_by_columns", columns = 8, team = 32}'),
    "other columns": (lambda: summed(100, 40, 0), "reduction_by_columns",
                      '{name = "reduction_by_columns", columns = 4, team = 64}'),
    "other chunks": (lambda: summed(2, 40000, 1), "reduction_by_chunks",
                     '{name = "reduction_by_chunks", chunks = 3, team = 64}'),
    "fewer lanes": (mapped, "points", '{name = "points", lanes = 1}'),
    "a map for tiles": (turned, "transposed_tiles", '{name = "points"}'),
    "two rows a block": (softmax, "rows", '{name = "rows", teams = 2, threads = 32}'),
    "a block for a row": (softmax, "rows", '{name = "rows", teams = 1, threads = 64}'),
    "a thread for a running total": (lambda: totals(80), "shared_time", '{name = "point_loop"}'),
    "a thread for a total": (lambda: counted(400, 1), "prefix_scan", '{name = "loop_points"}'),
    "chains for copies": (lambda: counted(900, 5), "copies", '{name = "chains"}'),
    "owners for chains": (lambda: counted(400, 300), "chains", '{name = "owners"}'),
    "three owners": (lambda: counted(90, 50), "owners", '{name = "owners", parts = 3}'),
    "one thread": (lambda: counted(90, 50), "owners", '{name = "loop_points"}'),
}  # fmt: skip


@pytest.mark.fast(3)
@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed_and_right(case: str, asking: Any) -> None:
    make, row, wanted = OBEYED[case]
    inputs, outputs, arrays, expected = make()
    asking(row, wanted)
    manifest = ted.compile(inputs, outputs, target="cuda:sm_80").manifest
    assert row in asking.asked, asking.asked
    (found,) = run_manifest(manifest, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_other_parameters_are_other_kernels(asking: Any) -> None:
    inputs, outputs, *_ = summed(20, 90, 1)
    before = ted.compile(inputs, outputs, target="cuda:sm_80").ptx
    asking("reduction_by_teams", '{name = "reduction_by_teams", team = 256}')
    assert ted.compile(inputs, outputs, target="cuda:sm_80").ptx != before


# What a function of the IR test asks for, and the rule that it breaks.
REFUSED = {
    "no row": ("points", '{name = "tiles"}', "name is one of start, pieces_apart"),
    "another form": ("points", '"points"', r'is \{name = "\.\.\."\}'),
    "no name": ("points", "{lanes = 2}", r'is \{name = "\.\.\."\}'),
    "no fit": ("points", '{name = "rows"}', "rows fits its operation, got: no loop over rows"),
    "no sum": ("points", '{name = "reduction_by_teams"}', "no box of points that are summed"),
    "unknown parameter": ("points", '{name = "points", team = 3}',
                          r"points takes lanes: int, got team = 3"),
    "another type": ("points", '{name = "points", lanes = true}', "got lanes = True"),
    "lanes": ("points", '{name = "points", lanes = 3}', "lanes divide 4, got lanes = 3"),
    "no lanes": ("points", '{name = "points", lanes = 0}', "lanes divide 4, got lanes = 0"),
    "team": ("reduction_by_teams", '{name = "reduction_by_teams", team = 48}',
             "powers of two up to 256, got team = 48"),
    "columns": ("reduction_by_columns", '{name = "reduction_by_columns", columns = 8}',
                "columns times the threads of each are 256, got columns = 8"),
    "no chunk": ("reduction_by_teams", '{name = "reduction_by_teams", chunks = 0}', "a chunk"),
    "tiles": ("contraction", '{name = "contraction", rows = 16}', "that its costs choose"),
    "threads": ("rows", '{name = "rows", threads = 48}', "a power of two of threads from 32"),
    "many threads": ("rows", '{name = "rows", teams = 64}', "a block has at most 1024 threads"),
    "teams": ("rows", '{name = "rows", teams = 2, threads = 64}', "teams of a block are warps"),
    "parts": ("owners", '{name = "owners", parts = 0}', "parts are 1 to 256, got parts = 0"),
    "no condition": ("contraction", '{name = "copies"}', "it does not only update"),
}  # fmt: skip


@pytest.mark.fast(10)
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("step", ["ted-choose-kernels", "ted-map-to-gpu"])
def test_what_cannot_be_is_refused(case: str, step: str) -> None:
    row, asked, rule = REFUSED[case]
    with make_context(), ir.Location.unknown():
        module = programs()
        op = next(d.site.op for f, d in decisions(module) if f == d.choice.row.name == row)
        op.attributes["ted.strategy"] = ir.Attribute.parse(asked)
        with pytest.raises(ScheduleError, match=rule):
            run_pipeline(module, f"builtin.module({step})")


def found_in(module: ir.Module, function: str, name: str) -> list[ir.Operation]:
    """The operations of a name in a function."""
    (body,) = [f for f in functions(module) if f.name.value == function]
    return operations(body, name)


def test_what_a_kernel_would_also_do_may_ask_for_its_own() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        consumer = found_in(module, "contraction_with_epilogue", "linalg.generic")[-1]
        consumer.attributes["ted.strategy"] = ir.Attribute.parse('{name = "points"}')
        second = found_in(module, "pieces_in_cells", "linalg.generic")[-1]
        second.attributes["ted.strategy"] = ir.Attribute.parse('{name = "points"}')
        named = [(f, d.choice.row.name) for f, d in decisions(module)]
    rows = [(f, row) for f, row in named if row != "host"]
    assert [r for f, r in rows if f == "contraction_with_epilogue"] == [
        "start", "contraction", "points"
    ]  # fmt: skip
    assert [r for f, r in rows if f == "pieces_in_cells"] == ["points", "points"]


SCALARS = """func.func @scalars(%a: memref<f32>, %b: memref<f32>) {
  %x = memref.load %a[] : memref<f32>
  %y = math.exp %x : f32
  memref.store %y, %b[] {ted.strategy = {name = "loop_points"}} : memref<f32>
  return
}"""
COPIED = """func.func @copied(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>) {
  scf.if %c {
    memref.copy %a, %b {ted.strategy = {name = "host_copy"}} : memref<4xf32> to memref<4xf32>
  }
  return
}"""
ROW = """func.func @row(%a: memref<8x4xf32>) {
  %c = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    %r = memref.subview %a[%i, 0] [1, 4] [1, 1]
        : memref<8x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.fill {ted.strategy = {name = "points"}} ins(%c : f32)
        outs(%r : memref<4xf32, strided<[1], offset: ?>>)
  }
  return
}"""
MEMORY = """func.func @memory() {
  %a = memref.alloc() {ted.strategy = {name = "loop_points"}} : memref<4xf32>
  return
}"""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (SCALARS, "stands at the first operation of a kernel, memref.load, got memref.store"),
        (COPIED, "host_copy fits its operation, got: inside of a condition"),
        (ROW, "nothing is decided about linalg.fill here"),
        (MEMORY, "loop_points fits its operation, got: no scalars or loops"),
    ],
)
def test_what_is_part_of_another_thing_is_refused(text: str, rule: str) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with pytest.raises(ScheduleError, match=rule):
            run_pipeline(module, PIPELINE)


def test_the_user_reads_why() -> None:
    x = ted.placeholder((20, 90), name="x")
    total = ted.sum(ted.exp(x), axis=1)
    text = ted.compile([x], total, target="cuda:sm_80").explain()
    place = r"^sum, linalg.generic \(test_strategies.py:\d+\): reduction_by_teams, team = 32"
    assert re.search(place, text, re.M)
    assert "\n  not reduction_by_columns: 20 results of 90 points go to teams" in text


@pytest.mark.parametrize(("bins", "row"), [(60_000, "copies"), (90_000, "chains")])
def test_copies_of_many_parts_cost_more(bins: int, row: str) -> None:
    """Each part of a copy, what fits into shared memory, looks at every update: at most 16."""
    i, x = ted.placeholder((600_000,), "int64", name="i"), ted.placeholder((600_000,), "float64")
    f = ted.compile([i, x], [ted.segment_sum(x, i, bins)], target="cuda:sm_80")
    chosen = re.findall(r"^\S+, scf.for.*: (\w+)", f.explain(), re.M)
    assert chosen == [row], f.explain()
