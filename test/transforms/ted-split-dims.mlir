// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-split-dims)' --split-input-file --mlir-print-local-scope | filecheck %s

// Quotient and remainder by one constant become two dims.
// CHECK-LABEL: func.func @block_and_position
// CHECK: domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 3, 4>,
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>], write = affine_map<(d0, d1) -> (d0 * 4 + d1)>
func.func @block_and_position(%A: tensor<3xf64>, %B: tensor<4xf64>, %init: tensor<12xf64>) -> tensor<12xf64> {
  %0 = "ted.compute"(%A, %B, %init) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 12>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0 floordiv 4)>, affine_map<(d0) -> (d0 mod 4)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf64>, tensor<4xf64>, tensor<12xf64>) -> tensor<12xf64>
  func.return %0 : tensor<12xf64>
}

// -----

// An extent that is no multiple leaves a constraint on the last block.
// CHECK-LABEL: func.func @uneven_block
// CHECK: domain = affine_set<(d0, d1) : (d0 * -4 - d1 + 9 >= 0)>, extents = array<i64: 3, 4>,
func.func @uneven_block(%A: tensor<3xf64>, %init: tensor<10xf64>) -> tensor<10xf64> {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 10>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0 floordiv 4)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf64>, tensor<10xf64>) -> tensor<10xf64>
  func.return %0 : tensor<10xf64>
}

// -----

// Reduction dims of argmax number the result, so they are not split.
// CHECK-LABEL: func.func @argmax_keeps_its_numbering
// CHECK: extents = array<i64: 12>,
// CHECK-SAME: reads = [affine_map<(d0) -> (d0 floordiv 4)>]
func.func @argmax_keeps_its_numbering(%A: tensor<3xf64>, %v: tensor<f64>) -> tensor<i64> {
  %none = arith.constant -1 : i64
  %e = tensor.empty() : tensor<i64>
  %n = linalg.fill ins(%none : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %0:2 = "ted.compute"(%A, %v, %n) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 12>, iterators = ["reduction"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0 floordiv 4)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> ()>, combiner = "argmax"
  } : (tensor<3xf64>, tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<i64>)
  func.return %0#1 : tensor<i64>
}
