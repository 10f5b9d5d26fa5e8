"""How long operations take, roughly: trips of loops, bytes of memory, and what they come to."""

from __future__ import annotations

import pytest

from ted.cpu.work import UNKNOWN_TRIPS, bytes_of, cycles, most_trips, trips
from ted.cpu.work import operations as count_of_operations
from ted.machine import named_cpu
from ted.mlir import arith, ir, memref
from ted.mlir.queries import operations

LOOPS = """
func.func @loops(%n: index, %x: memref<{n}x{n}xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %end = arith.addi %n, %c64 : index
  %least = arith.minsi %end, %n : index
  scf.for %i = %c0 to %c64 step %c3 {{ }}
  scf.for %i = %c3 to %c0 step %c1 {{ }}
  scf.for %i = %n to %end step %c1 {{ }}
  scf.for %i = %n to %least step %c1 {{ }}
  scf.for %i = %c0 to %n step %c1 {{ }}
  scf.for %i = %c0 to %end step %c1 {{ }}
  scf.for %i = %c0 to %c64 step %c1 {{
    scf.for %j = %c3 to %i step %c1 {{ }}
    scf.for %j = %i to %c64 step %c3 {{ }}
  }}
  return
}}"""
MAP = """
func.func @map(%x: memref<{n}x{n}xf32>) {{
  linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}} outs(%x : memref<{n}x{n}xf32>) {{
  ^bb0(%a: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }}
  return
}}"""  # noqa: E501


def test_trips_are_those_of_the_bounds_half_of_the_most_or_a_guess() -> None:
    with ir.Context():
        module = ir.Module.parse(LOOPS.format(n=4))
        loops = operations(module.operation, "scf.for")
        known, guessed = [22, 0, 64, 64], [UNKNOWN_TRIPS, UNKNOWN_TRIPS]
        assert [trips(loop) for loop in loops] == [*known, *guessed, 30, 11, 64]
        assert [most_trips(loop) for loop in loops[-3:]] == [60, 22, 64]
        assert most_trips(loops[4]) is None


def test_four_times_the_points_take_four_times_as_long() -> None:
    row = named_cpu("avx2")
    with ir.Context():
        modules = [ir.Module.parse(MAP.format(n=n)) for n in (64, 128)]
        small, large = (operations(m.operation, "linalg.generic")[0] for m in modules)
        assert cycles(large, row) == 4 * cycles(small, row) > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("memref<3x5xf64>", 120), ("memref<7xi1>", 7), ("memref<?xf32>", 0), ("f32", 0)],
)
def test_bytes_of_memory(text: str, expected: int) -> None:
    with ir.Context():
        assert bytes_of(ir.Type.parse(text)) == expected


def test_operations_are_those_of_the_points() -> None:
    text = MAP.format(n=8).replace(
        "math.exp %a : f32",
        "math.exp %a : f32\n    %1 = arith.mulf %0, %a : f32\n    %2 = math.fma %1, %a, %0 : f32",
    )
    with ir.Context():
        module = ir.Module.parse(text)
        assert count_of_operations(operations(module, "func.func")[0]) == 4 * 8 * 8
        module = ir.Module.parse(LOOPS.format(n=8))
        assert count_of_operations(operations(module, "func.func")[0]) == 0


REPORT = """
func.func private @ted_index_error(i64, i64, i64, i64)
func.func @test(%x: memref<64xf32>, %bad: i1, %n: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.if %bad {
    scf.for %i = %c0 to %c64 step %c1 {
      func.call @ted_index_error(%n, %n, %n, %n) : (i64, i64, i64, i64) -> ()
    }
  } else {
    %a = memref.load %x[%c0] : memref<64xf32>
  }
  return
}"""


def test_a_branch_that_reports_an_index_is_never_taken() -> None:
    row = named_cpu("avx2")
    with ir.Context():
        module = ir.Module.parse(REPORT)
        (branch,) = operations(module.operation, "scf.if")
        (read,) = operations(module.operation, "memref.load")
        assert cycles(branch, row) == cycles(read, row) > 0
        (loop,) = operations(module.operation, "scf.for")
        with ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0]), ir.Location.unknown():
            zero = arith.ConstantOp(ir.F32Type.get(), 0.0).result
            memref.StoreOp(zero, read.operands[0], [loop.operands[0]])
        assert cycles(branch, row) > cycles(read, row), "a branch that writes as well is"
