"""The table of strategies: every row may be asked for, declines with a reason, and is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ted
from support.in_process import compile_here
from ted.cpu import ted_choose_loops
from ted.cpu.strategies import TABLE, Decision, decide
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.machine import named_cpu
from ted.mlir import ir

RNG = np.random.default_rng(5)
FILE = Path(__file__).parents[2] / "cpu" / "ted-choose-loops.mlir"
ROW = "avx2"


def programs() -> ir.Module:
    """Those of the IR test."""
    return ir.Module.parse(FILE.read_text())


def decisions(module: ir.Module) -> list[Decision]:
    """All decisions about a module."""
    return list(decide(module, named_cpu(ROW)))


def test_every_row_is_chosen() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        names = [d.choice.row.name for d in decisions(module)]
    assert set(names) == {row.name for row in TABLE}
    assert len({row.name for row in TABLE}) == len(TABLE)


def test_every_row_but_the_last_declines_with_the_property_that_is_missing() -> None:
    with make_context(), ir.Location.unknown():
        module = programs()
        declined = {pair for d in decisions(module) for pair in d.choice.declined}
    assert declined == {
        ("register_tiles", "no claimed contraction of strided memory"),
        ("blocked_sums", "it is no sum over constant extents"),
        ("transposed_tiles", "no element-wise read or write across rows that fills tiles"),
    }


def test_a_matrix_times_a_vector_has_no_register_tiles() -> None:
    a = "affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>"
    text = f"""func.func @f(%a: memref<9x8xf64>, %b: memref<8xf64>, %c: memref<9xf64>) {{
      linalg.generic {{ted.contraction, indexing_maps = [{a}],
          iterator_types = ["parallel", "reduction"]}}
          ins(%a, %b : memref<9x8xf64>, memref<8xf64>) outs(%c : memref<9xf64>) {{
      ^bb0(%x: f64, %y: f64, %o: f64):
        %m = arith.mulf %x, %y : f64
        %s = arith.addf %o, %m : f64
        linalg.yield %s : f64
      }}
      return
    }}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (decision,) = decisions(module)
    assert decision.choice.row.name == "loops"
    assert "too few rows pay for laying an operand out anew" in decision.choice.declined[0][1]


X, W = RNG.normal(size=(40, 30)), RNG.normal(size=(30, 50))
LONG = RNG.normal(size=(500, 40))


def product() -> Any:
    x, w = ted.placeholder((40, 30), "float64"), ted.placeholder((30, 50), "float64")
    return [x, w], [x @ w], [X, W], X @ W


def turned() -> Any:
    x = ted.placeholder((40, 30), "float64")
    return [x], [ted.transpose(x) * 2.0], [X], X.T * 2.0


def columns() -> Any:
    x = ted.placeholder((500, 40), "float64")
    return [x], [ted.sum(x, axis=0)], [LONG], LONG.sum(axis=0)


OBEYED = {
    "loops for register tiles": (product, "register_tiles", '{name = "loops"}'),
    "one row": (product, "register_tiles", '{name = "register_tiles", tile_rows = 1}'),
    "three rows": (product, "register_tiles",
                   '{name = "register_tiles", tile_rows = 3, tile_vectors = 2}'),
    "seven rows": (product, "register_tiles",
                   '{name = "register_tiles", tile_rows = 7, tile_vectors = 1}'),
    "loops for blocked sums": (columns, "blocked_sums", '{name = "loops"}'),
    "shorter chains": (columns, "blocked_sums", '{name = "blocked_sums", most = 3}'),
    "loops for transposed tiles": (turned, "transposed_tiles", '{name = "loops"}'),
}  # fmt: skip


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", OBEYED)
def test_what_is_asked_for_is_obeyed_and_right(case: str, monkeypatch: Any) -> None:
    make, row, wanted = OBEYED[case]
    inputs, outputs, arrays, expected = make()
    code = ted.compile(inputs, outputs).ir("loops")
    asked: list[str] = []

    def annotate(op: ir.Operation, choice: Any) -> None:
        asked.append(choice.row.name)
        if choice.row.name == row:
            op.attributes["ted.strategy"] = ir.Attribute.parse(wanted, op.context)

    compile_here(monkeypatch)
    monkeypatch.setattr(ted_choose_loops, "annotate", annotate)
    f = ted.compile(inputs, outputs)
    assert row in asked, asked
    (found,) = f(*arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert f.ir("loops") != code
    assert "ted.strategy" not in f.ir("loops")


REFUSED = {
    "no row": ("loops", '{name = "tiles"}', "name is one of register_tiles, blocked_sums"),
    "no fit": ("loops", '{name = "register_tiles"}', "got: no claimed contraction"),
    "no sum": ("loops", '{name = "blocked_sums"}', "got: it is no sum over constant extents"),
    "no chain": ("blocked_sums", '{name = "blocked_sums", most = 1}', "takes two terms or more"),
    "no tiles": ("loops", '{name = "transposed_tiles"}', "got: no element-wise read or write"),
    "registers": ("register_tiles", '{name = "register_tiles", tile_rows = 40}',
                  "a tile fits into 16 registers, got tile_rows = 40"),
    "rows": ("register_tiles", '{name = "register_tiles", tile_rows = 41}', "has 1 to 40 rows"),
    "no rows": ("register_tiles", '{name = "register_tiles", tile_rows = 0}', "has 1 to 40 rows"),
    "no vectors": ("register_tiles", '{name = "register_tiles", tile_vectors = 0}', "and vectors"),
    "lanes": ("register_tiles", '{name = "register_tiles", lanes = 2}', "the rest follows from"),
    "another side": ("transposed_tiles", '{name = "transposed_tiles", size = 4}', "follow from"),
    "another type": ("register_tiles", '{name = "register_tiles", swapped = 1}', "got swapped = 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("step", ["ted-choose-loops", "ted-tile-loops"])
def test_what_cannot_be_is_refused(case: str, step: str) -> None:
    row, asked, rule = REFUSED[case]
    with make_context(), ir.Location.unknown():
        module = programs()
        op = next(d.site.op for d in decisions(module) if d.choice.row.name == row)
        op.attributes["ted.strategy"] = ir.Attribute.parse(asked)
        with pytest.raises(ScheduleError, match=rule):
            run_pipeline(module, f"builtin.module({step}{{cpu={ROW}}})")


def test_what_nothing_is_decided_about_is_refused() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("""func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
          memref.copy %a, %b {ted.strategy = {name = "loops"}} : memref<4xf32> to memref<4xf32>
          return
        }""")
        with pytest.raises(ScheduleError, match=r"nothing is decided about memref.copy here"):
            run_pipeline(module, "builtin.module(ted-choose-loops)")


def test_the_user_reads_why() -> None:
    inputs, outputs, *_ = product()
    text = ted.compile(inputs, outputs).explain()
    place = r"^matmul, linalg.generic \(test_strategies.py:\d+\): register_tiles, swapped = "
    assert re.search(place, text, re.M)
    assert "\n  not register_tiles: no claimed contraction of strided memory" in text
