// Named and generic contractions are claimed; other reductions are not.
// RUN: ted-opt %s --ted-mark-contractions | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK: linalg.generic {{.*}} attrs = {ted.contraction}
func.func @matmul(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>)
    outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @row_sum
// CHECK-NOT: ted.contraction
func.func @row_sum(%a: tensor<4x5xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : tensor<4x5xf32>) outs(%c : tensor<4xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
