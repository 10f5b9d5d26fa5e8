// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-scatter-to-gather)' --split-input-file --mlir-print-local-scope | filecheck %s

// Windows that overlap: even elements have two sources, odd ones one.
// CHECK-LABEL: func.func @overlapping_windows
// CHECK: domain = affine_set<(d0, d1) : (-d0 - d1 + 4 >= 0, d0 + d1 - 1 >= 0)>, extents = array<i64: 5, 2>,
// CHECK-SAME: iterators = ["parallel", "reduction"],
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d0 + d1 - 1)>, affine_map<(d0, d1) -> (d1 * -2 + 2)>],
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0 * 2)>
// CHECK: extents = array<i64: 4>,
// CHECK-SAME: iterators = ["parallel"], reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (1)>],
// CHECK-SAME: write = affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK-NOT: ted.compute
func.func @overlapping_windows(%dY: tensor<4xf64>, %W: tensor<3xf64>, %zero: tensor<9xf64>) -> tensor<9xf64> {
  %0 = "ted.compute"(%dY, %W, %zero) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 4, 3>, iterators = ["reduction", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 * 2 + d1)>, combiner = "add"
  } : (tensor<4xf64>, tensor<3xf64>, tensor<9xf64>) -> tensor<9xf64>
  func.return %0 : tensor<9xf64>
}

// -----

// A diagonal is written along the diagonal, not searched for in the square.
// CHECK-LABEL: func.func @diagonal
// CHECK: extents = array<i64: 5>,
// CHECK-SAME: iterators = ["parallel"], reads = [affine_map<(d0) -> (d0)>], write = affine_map<(d0) -> (d0, d0)>
// CHECK-NOT: ted.compute
func.func @diagonal(%dy: tensor<5xf64>, %zero: tensor<5x5xf64>) -> tensor<5x5xf64> {
  %0 = "ted.compute"(%dy, %zero) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 5>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0, d0)>, combiner = "add"
  } : (tensor<5xf64>, tensor<5x5xf64>) -> tensor<5x5xf64>
  func.return %0 : tensor<5x5xf64>
}

// -----

// A quotient gathers one block for each element.
// CHECK-LABEL: func.func @clamp_by_division
// CHECK: extents = array<i64: 3, 4>,
// CHECK-SAME: iterators = ["parallel", "reduction"], reads = [affine_map<(d0, d1) -> (d0 * 4 + d1)>],
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0)>
func.func @clamp_by_division(%dy: tensor<12xf64>, %zero: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "ted.compute"(%dy, %zero) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 12>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 floordiv 4)>, combiner = "add"
  } : (tensor<12xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %0 : tensor<3xf64>
}

// -----

// A skewed write on a triangle.
// CHECK-LABEL: func.func @skewed_under_a_guard
// CHECK: domain = affine_set<(d0, d1) : (-d0 - d1 + 3 >= 0)>
// CHECK-SAME: iterators = ["parallel", "reduction"], reads = [affine_map<(d0, d1) -> (d0 + d1, d1)>],
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0)>
func.func @skewed_under_a_guard(%dy: tensor<4x4xf64>, %zero: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "ted.compute"(%dy, %zero) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["reduction", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 - d1)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// -----

// A product of dims is no affine index: the scatter stays.
// CHECK-LABEL: func.func @product_of_dims_stays
// CHECK: iterators = ["reduction", "reduction"]
// CHECK-SAME: write = affine_map<(d0, d1)[s0] -> (s0)>
func.func @product_of_dims_stays(%dy: tensor<4x4xf64>, %zero: tensor<10xf64>) -> tensor<10xf64> {
  %0 = "ted.compute"(%dy, %zero) ({
  ^bb0(%a: f64):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %k = arith.muli %i, %j : index
    "ted.yield"(%a, %k) : (f64, index) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["reduction", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1)[s0] -> (s0)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<10xf64>) -> tensor<10xf64>
  func.return %0 : tensor<10xf64>
}
