"""How many threads work on what: plans over shapes, and that their shares make up the whole."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from math import prod

import pytest

from ted import dialects
from ted.gpu import reductions
from ted.gpu.bodies import work_of
from ted.gpu.reductions import LONG_ROW, SHORT_ROW, Plan, by_columns, by_teams, choose, counts
from ted.gpu.row_groups import POINTS_OF_A_THREAD, THREADS_OF_LONG_ROWS, WARPS, team_of
from ted.gpu.transposes import LONGEST, POINTS, _sides, turn_of
from ted.machine import FULL_THREADS, MOST_THREADS, WARP
from ted.mlir import ir
from ted.mlir.combining import combiners
from ted.mlir.queries import operations

SIZES = (1, 2, 7, 16, 17, 33, 256, 1023, 1024, 5000, 100_000)
THREADS = 256


def sums(rows: int, columns: int, along: str) -> ir.Module:
    """Sums of the rows or the columns of a matrix."""
    count, kept = (rows, "i") if along == "j" else (columns, "j")
    kinds = {"i": '["reduction", "parallel"]', "j": '["parallel", "reduction"]'}[along]
    return ir.Module.parse(f"""
      func.func @f(%x: memref<{rows}x{columns}xf32>, %s: memref<{count}xf32>) {{
        linalg.generic {{iterator_types = {kinds},
            indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ({kept})>]}}
          ins(%x : memref<{rows}x{columns}xf32>) outs(%s : memref<{count}xf32>) {{
        ^bb0(%a: f32, %t: f32):
          %u = arith.addf %t, %a : f32
          linalg.yield %u : f32
        }}
        return
      }}""")


@pytest.mark.parametrize("along", ["i", "j"])
def test_plans_of_sums_fill_the_device_and_no_more(along: str) -> None:
    kinds = set()
    with dialects.session():
        for rows, columns in product(SIZES, SIZES):
            module = sums(rows, columns, along)
            (op,) = operations(module.operation, "linalg.generic")
            work = work_of(op)
            assert work is not None
            results, points = counts(work)
            assert (results, points) == ((rows, columns) if along == "j" else (columns, rows))
            plan = choose(work)
            kinds.add((plan.team > 1, plan.chunks > 1, plan.columns > 0))
            _check(plan, results, points)
            if points > 1:
                _check(by_columns(work), results, points)
                _check(by_teams(work), results, points)
            found = combiners(work)
            assert found is not None
            whole = reductions.whole_sum(work, found, run=1)
            for n in (plan.chunks, 3):
                length = reductions._length(whole, Plan(chunks=n))
                assert length * n >= points
                assert length * (n - 1) < points or points % length == 0
            del work, op, whole, found, module
    assert (False, False, False) in kinds, "one thread for each result"
    assert {kind[1] for kind in kinds} == {True, False}
    assert {kind[2] for kind in kinds} == ({True, False} if along == "i" else {False})


def _check(plan: Plan, results: int, points: int) -> None:
    assert all(getattr(plan, f.name) >= 0 for f in fields(plan))
    assert plan.team & (plan.team - 1) == 0
    assert plan.team <= max(points, THREADS // max(plan.columns, 1))
    if plan.columns:
        assert plan.team * plan.columns == THREADS
        assert plan.columns <= WARP
    groups = -(-results // plan.columns) * THREADS if plan.columns else results * plan.team
    assert plan.chunks == 1 or groups * plan.chunks <= FULL_THREADS
    if plan == Plan():
        assert points <= SHORT_ROW or results >= FULL_THREADS
    if plan.team > WARP and not plan.columns:
        assert points >= LONG_ROW


MAP = """func.func @f(%x: memref<{shape}xf32>) {{
  %c = arith.constant 0.0 : f32
  linalg.fill ins(%c : f32) outs(%x : memref<{shape}xf32>)
  return
}}"""


@pytest.mark.parametrize("points", [1, 31, 256, 257, 1000, 4096, 10**6])
@pytest.mark.parametrize("rows", [1, WARPS, WARPS + 1, 1000])
def test_teams_of_rows_grow_with_the_row(points: int, rows: int) -> None:
    with dialects.session():
        module = ir.Module.parse(MAP.format(shape=points))
        ops = operations(module.operation, "linalg.fill")
        teams, threads = team_of(ops, rows)
        del ops, module
    assert threads & (threads - 1) == 0
    assert WARP <= teams * threads <= MOST_THREADS
    is_long = points > MOST_THREADS * POINTS_OF_A_THREAD
    assert threads * POINTS_OF_A_THREAD >= points or (is_long and threads == THREADS_OF_LONG_ROWS)
    assert threads == WARP or threads // 2 * POINTS_OF_A_THREAD < points
    assert (teams == WARPS) == (points <= WARP * POINTS_OF_A_THREAD and rows > WARPS)


TURNED = """func.func @f(%x: memref<{n}x{m}xf32>, %y: memref<{m}x{n}xf32>) {{
  linalg.generic {{iterator_types = ["parallel", "parallel"],
      indexing_maps = [affine_map<(i, j) -> ({read})>, affine_map<(i, j) -> (i, j)>]}}
    ins(%x : memref<{n}x{m}xf32>) outs(%y : memref<{m}x{n}xf32>) {{
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }}
  return
}}"""
SIDES = (1, 2, 3, 5, 8, 15, 16, 31, 32, 33, 100, 256, 1000)


def test_reads_across_rows_are_turned_in_tiles_that_fit() -> None:
    turned = set()
    with dialects.session():
        for m, n in product(SIDES, SIDES):
            module = ir.Module.parse(TURNED.format(m=m, n=n, read="j, i"))
            (op,) = operations(module.operation, "linalg.generic")
            work = work_of(op)
            assert work is not None
            turn = turn_of(work)
            if turn is not None:
                turned.add((m, n))
                assert (turn.across, turn.inputs) == (0, (0,))
                sides = _sides(work, 0)
                assert prod(sides) <= POINTS
                assert max(sides) <= LONGEST
            del work, op, module
        module = ir.Module.parse(TURNED.format(m=64, n=64, read="i, j"))
        (op,) = operations(module.operation, "linalg.generic")
        work = work_of(op)
        assert work is not None
        assert turn_of(work) is None, "it reads in order"
        del work, op, module
    assert {(32, 32), (1000, 1000), (16, 100)} <= turned
    assert not {(m, n) for m, n in turned if min(m, n) < 2}
