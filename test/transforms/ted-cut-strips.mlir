// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-cut-strips{few=1000})' --split-input-file --mlir-print-local-scope | filecheck %s

// Scores of a triangle that a product reads are four strips, each as wide as its last row is long;
// sums are over all of a strip, and what reads one asks for masks.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: tensor<32x32xf32>
// CHECK: tensor.empty() : tensor<8x8xf32>
// CHECK: %[[FIRST:.*]] = "ted.compute"(%arg0, %arg1
// CHECK: domain = affine_set<(d0, d1, d2) : (0 == 0)>, extents = array<i64: 8, 8, 4>
// CHECK: tensor.empty() : tensor<8x16xf32>
// CHECK: %[[SECOND:.*]] = "ted.compute"(%arg0, %arg1
// CHECK: domain = affine_set<(d0, d1, d2) : (0 == 0)>, extents = array<i64: 8, 16, 4>
// CHECK-SAME: reads = [affine_map<(d0, d1, d2) -> (d0 + 8, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>]
// CHECK: tensor.empty() : tensor<8x32xf32>
// CHECK: %[[O:.*]] = "ted.compute"(%[[FIRST]], %arg1
// CHECK: domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>, extents = array<i64: 8, 4, 8>
// CHECK-SAME: ted.form = {if_possible = true, name = "masked"}
// CHECK: "ted.compute"(%[[SECOND]], %arg1, %[[O]])
// CHECK: domain = affine_set<(d0, d1, d2) : (d0 - d2 + 8 >= 0)>, extents = array<i64: 8, 4, 16>
// CHECK-SAME: write = affine_map<(d0, d1, d2) -> (d0 + 8, d1)>
// CHECK-NOT: tensor<32x32xf32>
func.func @scores(%q: tensor<32x4xf32>, %k: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = "ted.compute"(%q, %k, %f) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 32, 32, 4>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<32x4xf32>, tensor<32x4xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %e1 = tensor.empty() : tensor<32x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %o = "ted.compute"(%s, %k, %f1) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 32, 4, 32>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<32x32xf32>, tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<32x4xf32>
  func.return %o : tensor<32x4xf32>
}

// -----

// A triangle that is a result stays whole.
// CHECK-LABEL: func.func @result
// CHECK: "ted.compute"
// CHECK-NOT: "ted.compute"
// CHECK-NOT: ted.form
// CHECK: return %{{.*}} : tensor<32x32xf32>
func.func @result(%q: tensor<32x4xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = "ted.compute"(%q, %q, %f) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 32, 32, 4>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<32x4xf32>, tensor<32x4xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  func.return %s : tensor<32x32xf32>
}
