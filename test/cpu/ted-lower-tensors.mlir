// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-lower-tensors{cpu=avx2})' | filecheck %s

// Linalg of other tools is on memory then, with a buffer for the result.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: memref<8x8xf32> {llvm.noalias}, %[[B:.*]]: memref<8x8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x8xf32> {llvm.noalias}) {
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : memref<8x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : memref<8x8xf32>, memref<8x8xf32>) outs(%[[OUT]] : memref<8x8xf32>)
// CHECK-NOT: tensor<
func.func @product(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// -----

// Rows that a sum and its reader share are one loop, which has no result.
// CHECK-LABEL: func.func @centred_rows
// CHECK: scf.for
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}memref<1x32xf32
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}}memref<1x32xf32
// CHECK: {ted.parallel}
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
func.func @centred_rows(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x32xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %y = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<8x32xf32>, tensor<8xf32>) outs(%y : tensor<8x32xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %u = arith.subf %a, %m : f32
    linalg.yield %u : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// -----

// What equations have become is on memory, and stays.
// CHECK-LABEL: func.func @kernels
// CHECK: %[[UNUSED:.*]] = arith.constant
// CHECK: linalg.fill
// CHECK: return
func.func @kernels(%x: memref<8xf32>) {
  %unused = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%x : memref<8xf32>)
  return
}
