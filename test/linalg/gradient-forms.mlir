// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate,ted-scatter-to-gather,ted-simplify,convert-ted-to-linalg)' --split-input-file --mlir-print-local-scope | filecheck %s

// The gradients of a matmul are matmuls whose maps transpose one operand.
// CHECK-LABEL: func.func private @matmul_vjp
// CHECK: linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: outs({{.*}} : tensor<16x32xf32>)
// CHECK: linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: outs({{.*}} : tensor<32x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @matmul(%A: tensor<16x32xf32>, %B: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %C = "ted.compute"(%A, %B, %init) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 16, 8, 32>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  func.return %C : tensor<16x8xf32>
}
func.func private @matmul_vjp(tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x32xf32>, tensor<32x8xf32>) attributes {ted.vjp_of = @matmul}

// -----

// The input gradient of a strided window is one dense contraction per residue class, written in
// place through a strided slice; the weight gradient is one contraction. No class loops over holes.
// CHECK-LABEL: func.func private @window_vjp
// CHECK: tensor.extract_slice {{.*}}[0, 0, 0] [2, 9, 4] [1, 2, 1]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK: tensor.insert_slice {{.*}}[0, 0, 0] [2, 9, 4] [1, 2, 1]
// CHECK: tensor.extract_slice {{.*}}[0, 1, 0] [2, 8, 4] [1, 2, 1]
// CHECK: tensor.insert_slice {{.*}}[0, 1, 0] [2, 8, 4] [1, 2, 1]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK-NOT: scf.
// CHECK: return
func.func @window(%X: tensor<2x17x4xf32>, %W: tensor<3x4x5xf32>) -> tensor<2x8x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x8x5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  %C = "ted.compute"(%X, %W, %init) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 2, 8, 5, 3, 4>,
    iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"],
    domain = affine_set<(d0, d1, d2, d3, d4) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d4)>,
             affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>],
    guards = [affine_set<(d0, d1, d2, d3, d4) : (0 == 0)>,
              affine_set<(d0, d1, d2, d3, d4) : (0 == 0)>],
    write = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, combiner = "add"
  } : (tensor<2x17x4xf32>, tensor<3x4x5xf32>, tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  func.return %C : tensor<2x8x5xf32>
}
func.func private @window_vjp(tensor<2x17x4xf32>, tensor<3x4x5xf32>, tensor<2x8x5xf32>)
    -> (tensor<2x8x5xf32>, tensor<2x17x4xf32>, tensor<3x4x5xf32>) attributes {ted.vjp_of = @window}
