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

// What is written across rows, and read along them, is made in the tile, which is turned behind it.
// CHECK-LABEL: func.func @ragged_pairs
// CHECK: %[[TILE:.*]] = memref.alloca() {{.*}} : memref<16x16xi32>
// CHECK: linalg.generic {{.*}} outs(%[[TILE]] : memref<16x16xi32>)
// CHECK-COUNT-16: vector.load %[[TILE]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK: linalg.generic
// CHECK-SAME: memref<20x8xi32
// CHECK: linalg.generic
// CHECK-SAME: memref<4x32xi32
func.func @ragged_pairs(%a: memref<40x20xi16, strided<[40, 2]>>, %b: memref<40x20xi16, strided<[40, 2]>>, %c: memref<20x40xi32>) {
  linalg.generic {indexing_maps = [#ij, #ij, #ji], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : memref<40x20xi16, strided<[40, 2]>>, memref<40x20xi16, strided<[40, 2]>>) outs(%c : memref<20x40xi32>) {
  ^bb0(%x: i16, %y: i16, %o: i32):
    %0 = arith.extui %x : i16 to i32
    %1 = arith.extui %y : i16 to i32
    %2 = arith.muli %0, %1 : i32
    linalg.yield %2 : i32
  }
  return
}

// CHECK-LABEL: func.func @adds_to_what_is_there
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @adds_to_what_is_there(%a: memref<32x32xf32>, %c: memref<32x32xf32>) {
  linalg.generic {indexing_maps = [#ij, #ji], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<32x32xf32>) outs(%c : memref<32x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %x, %o : f32
    linalg.yield %0 : f32
  }
  return
}

// Nothing is read along what is written across: each element goes to a column.
// CHECK-LABEL: func.func @spreads_a_column
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @spreads_a_column(%a: memref<32xf32>, %c: memref<32x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #ji], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<32xf32>) outs(%c : memref<32x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// The loop that only the result has goes around tiles, which do not know it.
// CHECK-LABEL: func.func @same_for_all_planes
// CHECK: %[[TILE:.*]] = memref.alloca() {{.*}} : memref<16x16xf32>
// CHECK: scf.for
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]{{.*}} outs(%[[TILE]] : memref<16x16xf32>)
// CHECK: vector.shuffle
func.func @same_for_all_planes(%a: memref<32xf32>, %b: memref<32xf32>, %c: memref<32x4x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(p, i, j) -> (i)>, affine_map<(p, i, j) -> (j)>,
                                   affine_map<(p, i, j) -> (j, p, i)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : memref<32xf32>, memref<32xf32>) outs(%c : memref<32x4x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  }
  return
}
