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
func.func @short_rows(%x: tensor<16x3xf32>, %m: tensor<16xf32>, %o: tensor<16x3xf32>)
    -> tensor<16x3xf32> {
  %0 = linalg.generic {indexing_maps = [#ji, #row, #ji], iterator_types = ["parallel", "parallel"]}
    ins(%x, %m : tensor<16x3xf32>, tensor<16xf32>) outs(%o : tensor<16x3xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %c = arith.subf %a, %b : f32
    %j = linalg.index 0 : index
    %k = arith.index_cast %j : index to i32
    %f = arith.sitofp %k : i32 to f32
    %r = arith.addf %c, %f : f32
    linalg.yield %r : f32
  } -> tensor<16x3xf32>
  return %0 : tensor<16x3xf32>
}

// CHECK-LABEL: func.func @results_in_two_orders
// CHECK: linalg.generic {indexing_maps = [#[[BOTH]], #[[TURNED]], #[[BOTH]]]
func.func @results_in_two_orders(%x: tensor<4x8xf32>, %o: tensor<8x4xf32>, %p: tensor<4x8xf32>)
    -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %0:2 = linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%o, %p : tensor<8x4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32, %s: f32, %t: f32):
    linalg.yield %a, %a : f32, f32
  } -> (tensor<8x4xf32>, tensor<4x8xf32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @sum_over_rows
// CHECK: linalg.generic {indexing_maps = [#[[BOTH]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]}
func.func @sum_over_rows(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %r = arith.addf %t, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
