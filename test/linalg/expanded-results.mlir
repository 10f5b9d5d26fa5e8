// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-split-dims,convert-ted-to-linalg,canonicalize)' --split-input-file --mlir-print-local-scope | filecheck %s

// A flattened write becomes a plain operation on a view of the result with more dims.
// CHECK-LABEL: func.func @flatten
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2, 3]] output_shape [6, 4, 4, 32]
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK-NOT: tensor.extract
// CHECK: tensor.collapse_shape %[[R]] {{\[\[}}0], [1, 2, 3]] : tensor<6x4x4x32xf32> into tensor<6x512xf32>
func.func @flatten(%A: tensor<6x4x4x32xf32>) -> tensor<6x512xf32> {
  %init = tensor.empty() : tensor<6x512xf32>
  %C = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 6, 512>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1 floordiv 128, (d1 floordiv 32) mod 4, d1 mod 32)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<6x4x4x32xf32>, tensor<6x512xf32>) -> tensor<6x512xf32>
  func.return %C : tensor<6x512xf32>
}

// -----

// The gradient of a pool: an accumulation that covers its zeros is a plain write.
// CHECK-LABEL: func.func @pool_gradient
// CHECK-NOT: linalg.fill
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [4, 2]
// CHECK-NEXT: linalg.generic
// CHECK-NOT: arith.addf
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<4x2xf32> into tensor<8xf32>
func.func @pool_gradient(%D: tensor<4xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %C = "ted.compute"(%D, %init) ({
  ^bb0(%d: f32):
    "ted.yield"(%d) : (f32) -> ()
  }) {
    extents = array<i64: 4, 2>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 * 2 + d1)>, combiner = "add"
  } : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %C : tensor<8xf32>
}

// -----

// A part of a dim is a slice, wherever it begins.
// CHECK-LABEL: func.func @part
// CHECK: %[[PART:.*]] = tensor.extract_slice %{{.*}}[0, 33] [6, 32] [1, 1]
// CHECK: tensor.expand_shape %[[PART]] {{\[\[}}0], [1, 2]] output_shape [6, 4, 8]
// CHECK: linalg.generic
// CHECK-NOT: tensor.extract
// CHECK: tensor.collapse_shape
// CHECK: tensor.insert_slice %{{.*}}[0, 33] [6, 32] [1, 1]
func.func @part(%A: tensor<6x4x8xf32>, %init: tensor<6x96xf32>) -> tensor<6x96xf32> {
  %C = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 6, 4, 8>, iterators = ["parallel", "parallel", "parallel"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1 * 8 + d2 + 33)>, combiner = "add"
  } : (tensor<6x4x8xf32>, tensor<6x96xf32>) -> tensor<6x96xf32>
  func.return %C : tensor<6x96xf32>
}

// -----

// Strides that leave gaps have no view of more dims.
// CHECK-LABEL: func.func @gaps
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @gaps(%D: tensor<4x2xf32>, %init: tensor<11xf32>) -> tensor<11xf32> {
  %C = "ted.compute"(%D, %init) ({
  ^bb0(%d: f32):
    "ted.yield"(%d) : (f32) -> ()
  }) {
    extents = array<i64: 4, 2>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 * 3 + d1)>, combiner = "set"
  } : (tensor<4x2xf32>, tensor<11xf32>) -> tensor<11xf32>
  func.return %C : tensor<11xf32>
}
