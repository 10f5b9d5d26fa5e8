// Work on a total that groups are summed into is done over the dims of the sums.
// RUN: ted-opt %s --ted-expand-epilogues | filecheck %s

#a = affine_map<(i, g, j, k) -> (i, g, k)>
#b = affine_map<(i, g, j, k) -> (g, k, j)>
#c = affine_map<(i, g, j, k) -> (i, g, j)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @groups
// CHECK: %[[T:.*]] = memref.alloc() : memref<8x2x16xf32>
// CHECK: linalg.generic {{.*}} outs(%[[T]]
// CHECK-DAG: %[[BIAS:.*]] = memref.expand_shape %arg2 {{\[}}[0, 1]]
// CHECK-DAG: %[[OUT:.*]] = memref.expand_shape %arg3 {{\[}}[0], [1, 2]]
// CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[LAST]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[T]], %[[BIAS]] {{.*}} outs(%[[OUT]]
func.func @groups(%x: memref<8x2x4xf32>, %y: memref<2x4x16xf32>, %bias: memref<32xf32>, %out: memref<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x32xf32>
  %e = memref.expand_shape %t [[0], [1, 2]] output_shape [8, 2, 16] : memref<8x32xf32> into memref<8x2x16xf32>
  linalg.fill ins(%zero : f32) outs(%e : memref<8x2x16xf32>)
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<8x2x4xf32>, memref<2x4x16xf32>) outs(%e : memref<8x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t, %bias : memref<8x32xf32>, memref<32xf32>) outs(%out : memref<8x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// Another reader wants the total as it is.
// CHECK-LABEL: func.func @read_twice
// CHECK: memref.expand_shape %{{.*}} {{\[}}[0], [1, 2]]
// CHECK-NOT: memref.expand_shape
// CHECK: memref.copy
func.func @read_twice(%x: memref<8x2x4xf32>, %y: memref<2x4x16xf32>, %out: memref<8x32xf32>, %sum: memref<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x32xf32>
  %e = memref.expand_shape %t [[0], [1, 2]] output_shape [8, 2, 16] : memref<8x32xf32> into memref<8x2x16xf32>
  linalg.fill ins(%zero : f32) outs(%e : memref<8x2x16xf32>)
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<8x2x4xf32>, memref<2x4x16xf32>) outs(%e : memref<8x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : memref<8x32xf32>) outs(%out : memref<8x32xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  }
  memref.copy %t, %sum : memref<8x32xf32> to memref<8x32xf32>
  return
}
