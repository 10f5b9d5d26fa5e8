"""Lone reductions become loops over rows where a loop reads these rows, and stay elsewhere."""

from __future__ import annotations

import pytest

from ted.gpu.row_reductions import loops_of_reductions
from ted.mlir import ir, make_context
from ted.mlir.queries import functions, operations

SUM_OF_ROWS = """
func.func @f(%x: memref<2x3x8xf32>, %z: memref<2x3x8xf32>, %s: memref<2x3xf32>,
    %y: memref<2x3x8xf32>) {{
  %zero = arith.constant 0.0 : f32
  scf.forall (%i, %j) in (2, 3) {{
    %a = memref.subview {read}[%i, %j, 0] [1, 1, 8] [1, 1, 1]
      : memref<2x3x8xf32> to memref<1x1x8xf32, strided<[24, 8, 1], offset: ?>>
    %b = memref.subview %y[%i, %j, 0] [1, 1, 8] [1, 1, 1]
      : memref<2x3x8xf32> to memref<1x1x8xf32, strided<[24, 8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x1x8xf32, strided<[24, 8, 1], offset: ?>>
      to memref<1x1x8xf32, strided<[24, 8, 1], offset: ?>>
  }}
  linalg.fill ins(%zero : f32) outs(%s : memref<2x3xf32>)
  linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x : memref<2x3x8xf32>) outs(%s : memref<2x3xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }}
  return
}}
"""


@pytest.mark.parametrize(("read", "loops"), [("%x", 2), ("%z", 1)])
def test_a_sum_joins_a_loop_over_the_rows_that_it_reads(read: str, loops: int) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(SUM_OF_ROWS.format(read=read))
        (function,) = functions(module)
        loops_of_reductions(function.entry_block)
        assert module.operation.verify()
        made = operations(module.operation, "scf.forall")
        assert len(made) == loops
        inside = [len(operations(one, "linalg.fill", "linalg.generic")) for one in made]
        assert inside == [0, 2][:loops]
