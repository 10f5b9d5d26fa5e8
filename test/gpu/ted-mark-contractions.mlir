// Named and generic contractions are claimed; other reductions are not.
// RUN: ted-opt %s --ted-mark-contractions | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK: linalg.generic {{.*}} attrs = {ted.contraction}
func.func @matmul(%a: memref<4x5xf32>, %b: memref<5x6xf32>, %c: memref<4x6xf32>) {
  linalg.matmul ins(%a, %b : memref<4x5xf32>, memref<5x6xf32>)
    outs(%c : memref<4x6xf32>)
  return
}

// CHECK-LABEL: func.func @row_sum
// CHECK-NOT: ted.contraction
func.func @row_sum(%a: memref<4x5xf32>, %c: memref<4xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : memref<4x5xf32>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  }
  return
}
