"""`Generic` against the text of operations: what it reads, and what `empty_generic` builds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ted import dialects
from ted.mlir import ir
from ted.mlir.generic import Generic, empty_generic, generic_of, set_maps, set_reductions
from ted.mlir.queries import functions, operations

PRODUCT = """
func.func @f(%a: memref<4x6xf32>, %b: memref<6x5xf32>, %c: memref<4x5xf32>, %s: f32) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> ()>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b, %s : memref<4x6xf32>, memref<6x5xf32>, f32) outs(%c : memref<4x5xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %w, %p : f32
    linalg.yield %q : f32
  }
  return
}"""
WINDOW = """
func.func @f(%a: memref<9xf32>, %c: memref<4x?xi64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<9xf32>) outs(%c : memref<4x?xi64>) {
  ^bb0(%x: f32, %w: i64):
    %i = linalg.index 0 : index
    %q = arith.index_cast %i : index to i64
    linalg.yield %q : i64
  }
  return
}"""


@pytest.fixture(autouse=True)
def _session() -> Iterator[None]:
    with dialects.session():
        yield


def _only(module: ir.Module) -> Generic:
    (op,) = operations(module.operation, "linalg.generic")
    return Generic(op)


def test_a_product() -> None:
    module = ir.Module.parse(PRODUCT)
    seen = _only(module)
    (function,) = functions(module)
    a, b, c, s = function.entry_block.arguments
    assert (seen.inputs, seen.outputs, seen.count_inputs) == ([a, b, s], [c], 3)
    assert (seen.rank, seen.reductions, seen.is_map) == (3, (False, False, True), False)
    assert seen.dims == [[0, 2], [2, 1], [], [0, 1]]
    assert seen.extents == (4, 5, 6)
    assert [op.name for op in seen.code] == ["arith.mulf", "arith.addf", "linalg.yield"]
    assert seen.yielded == [seen.code[1].results[0]]
    assert not seen.asks_where


def test_a_window_has_no_dims_and_an_unknown_size_no_extents() -> None:
    module = ir.Module.parse(WINDOW)
    seen = _only(module)
    assert (seen.dims, seen.extents) == (None, None)
    assert (seen.is_map, seen.asks_where) == (True, True)
    assert [str(amap) for amap in seen.maps] == ["(d0, d1) -> (d0 + d1)", "(d0, d1) -> (d0, d1)"]


def test_only_generics_have_the_view() -> None:
    module = ir.Module.parse(PRODUCT)
    assert generic_of(None) is None
    assert generic_of(operations(module.operation, "func.func")[0]) is None
    assert generic_of(_only(module).op) == _only(module)


def test_loops_in_another_order() -> None:
    module = ir.Module.parse(PRODUCT)
    op = _only(module).op
    k, i, j = (ir.AffineDimExpr.get(n) for n in range(3))
    set_maps(op, [ir.AffineMap.get(3, 0, exprs) for exprs in ([i, k], [k, j], [], [i, j])])
    set_reductions(op, (True, False, False))
    assert module.operation.verify()
    assert _only(module).dims == [[1, 0], [0, 2], [], [1, 2]]
    assert _only(module).extents == (6, 4, 5)
    assert _only(module).reductions == (True, False, False)


@pytest.mark.parametrize("shaped", ["memref<4x6xf32>", "tensor<4x6xf32>"])
def test_what_is_built_is_what_is_read(shaped: str) -> None:
    module = ir.Module.parse(f"func.func @f(%a: {shaped}, %s: i64, %c: {shaped}) {{ return }}")
    (function,) = functions(module)
    a, s, c = function.entry_block.arguments
    whole, none = ir.AffineMap.get_identity(2), ir.AffineMap.get(2, 0, [])
    with ir.InsertionPoint.at_block_begin(function.entry_block), ir.Location.unknown():
        op = empty_generic([a, s], [c], [whole, none, whole], (False, True))
    seen = Generic(op)
    assert (seen.inputs, seen.outputs) == ([a, s], [c])
    assert seen.maps == [whole, none, whole]
    assert seen.reductions == (False, True)
    assert [str(x.type) for x in seen.body.arguments] == ["f32", "i64", "f32"]
    assert [str(r.type) for r in op.results] == ([shaped] if "tensor" in shaped else [])
