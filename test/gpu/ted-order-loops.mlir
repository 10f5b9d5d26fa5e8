// Loops of maps run in the order of the result; those of sums stay.
// RUN: ted-opt %s --ted-order-loops | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(j, i) -> (i, j)>
#row = affine_map<(j, i) -> (i)>
#j = affine_map<(i, j) -> (j)>

// CHECK-DAG: #[[BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[TURNED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @short_rows
// CHECK: linalg.generic {indexing_maps = [#[[BOTH]], #[[ROW]], #[[BOTH]]]
// CHECK: linalg.index 1
func.func @short_rows(%x: memref<16x3xf32>, %m: memref<16xf32>, %o: memref<16x3xf32>) {
  linalg.generic {indexing_maps = [#ji, #row, #ji], iterator_types = ["parallel", "parallel"]}
    ins(%x, %m : memref<16x3xf32>, memref<16xf32>) outs(%o : memref<16x3xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %c = arith.subf %a, %b : f32
    %j = linalg.index 0 : index
    %k = arith.index_cast %j : index to i32
    %f = arith.sitofp %k : i32 to f32
    %r = arith.addf %c, %f : f32
    linalg.yield %r : f32
  }
  return
}

// CHECK-LABEL: func.func @results_in_two_orders
// CHECK: linalg.generic {indexing_maps = [#[[BOTH]], #[[TURNED]], #[[BOTH]]]
func.func @results_in_two_orders(%x: memref<4x8xf32>, %o: memref<8x4xf32>, %p: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%o, %p : memref<8x4xf32>, memref<4x8xf32>) {
  ^bb0(%a: f32, %s: f32, %t: f32):
    linalg.yield %a, %a : f32, f32
  }
  return
}

// CHECK-LABEL: func.func @sum_over_rows
// CHECK: linalg.generic {indexing_maps = [#[[BOTH]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]}
func.func @sum_over_rows(%x: memref<4x8xf32>, %s: memref<8xf32>) {
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %r = arith.addf %t, %a : f32
    linalg.yield %r : f32
  }
  return
}
