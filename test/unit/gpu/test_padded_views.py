"""Views with a padding that is not in memory: no kernel reads them without its bounds."""

from __future__ import annotations

import pytest

from ted.errors import CompileError
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir, make_context

FEW_PRODUCTS = """
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %y: memref<6x4xf32>) {
  %p = memref.reinterpret_cast %x to offset: [0], sizes: [6, 8], strides: [8, 1]
    {ted.padded = [array<i64: 1, 0>, array<i64: 4, 8>]}
    : memref<4x8xf32> to memref<6x8xf32, strided<[8, 1], offset: 0>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %w : memref<6x8xf32, strided<[8, 1], offset: 0>>, memref<8x4xf32>)
    outs(%y : memref<6x4xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}
"""


def test_what_no_template_takes_is_refused() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(FEW_PRODUCTS)
        with pytest.raises(CompileError, match="only templates read a padding"):
            run_pipeline(module, "builtin.module(ted-map-to-gpu)")


def test_copies_that_no_template_would_read_stay() -> None:
    with make_context(), ir.Location.unknown():
        text = FEW_PRODUCTS[: FEW_PRODUCTS.index("  %p =")]
        text += """
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<6x8xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<6x8xf32>)
  %s = memref.subview %p[1, 0] [4, 8] [1, 1]
    : memref<6x8xf32> to memref<4x8xf32, strided<[8, 1], offset: 8>>
  memref.copy %x, %s : memref<4x8xf32> to memref<4x8xf32, strided<[8, 1], offset: 8>>
"""
        rest = FEW_PRODUCTS[FEW_PRODUCTS.index("  linalg.generic") :].replace("%s", "%t")
        text += rest.replace(", strided<[8, 1], offset: 0>", "")
        module = ir.Module.parse(text)
        run_pipeline(module, "builtin.module(ted-forward-copies)")
        assert "reinterpret_cast" not in str(module)
        assert "memref.copy" in str(module)
