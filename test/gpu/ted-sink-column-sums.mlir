// A sum over rows goes down to its first use, unless what it reads is overwritten.
// RUN: ted-opt %s --ted-sink-column-sums | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @down
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: return %[[S]], %[[Y]]
func.func @down(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %o: tensor<4x8xf32>)
    -> (tensor<8xf32>, tensor<4x8xf32>) {
  %0 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %1 = arith.addf %t, %a : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %t: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  return %0, %2 : tensor<8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @overwritten
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
func.func @overwritten(%x: tensor<4x8xf32>, %s: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<4x8xf32>) {
  %0 = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %1 = arith.addf %t, %a : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]}
    outs(%x : tensor<4x8xf32>) {
  ^bb0(%t: f32):
    %1 = arith.addf %t, %t : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %0, %2 : tensor<8xf32>, tensor<4x8xf32>
}
