// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-tile-loops{cpu=avx512})' | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func @ragged_transpose
// CHECK: %[[TILE:.*]] = memref.alloca() {{.*}} : memref<16x16xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-16: vector.load
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store {{.*}} %[[TILE]]
// CHECK: linalg.generic {{.*}} ins(%[[TILE]] : memref<16x16xf32>)
// CHECK: linalg.generic
// CHECK-SAME: memref<8x70xf32
// CHECK: linalg.generic
// CHECK-SAME: memref<32x6xf32
func.func @ragged_transpose(%a: memref<70x40xf32>, %c: memref<40x70xf32>) {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<70x40xf32>) outs(%c : memref<40x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: func.func @too_small_for_a_tile
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @too_small_for_a_tile(%a: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}
