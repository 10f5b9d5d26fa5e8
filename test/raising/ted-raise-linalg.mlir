// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-raise-linalg)' --split-input-file --mlir-print-local-scope | filecheck %s

// A named operation on top of what it adds to: a sum of products from there on.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[A:[^:]*]]: tensor<4x5xf32>, %[[B:[^:]*]]: tensor<5x6xf32>, %[[C:[^:]*]]: tensor<4x6xf32>
// CHECK-NEXT: %[[D:.*]] = "ted.compute"(%[[A]], %[[B]], %[[C]])
// CHECK: arith.mulf
// CHECK-NEXT: "ted.yield"
// CHECK: combiner = "add", {{.*}} extents = array<i64: 4, 6, 5>
// CHECK-SAME: reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>]
// CHECK-NEXT: return %[[D]]
func.func @product(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A choice of the greater one is a maximum, which NaN does not enter here; the reduction goes last.
// CHECK-LABEL: func.func @greatest
// CHECK: arith.cmpf une
// CHECK: arith.select
// CHECK: combiner = "max", {{.*}} extents = array<i64: 4, 3>
// CHECK-SAME: iterators = ["parallel", "reduction"], reads = [affine_map<(d0, d1) -> (d1, d0)>]
func.func @greatest(%x: tensor<3x4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>, affine_map<(r, i) -> (i)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<3x4xf32>) outs(%s : tensor<4xf32>) {
  ^bb0(%a: f32, %t: f32):
    %g = arith.cmpf ogt, %a, %t : f32
    %v = arith.select %g, %a, %t : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A slice is a write at an offset with a stride; the callee's equations are the caller's.
// CHECK-LABEL: func.func @caller
// CHECK-NOT: call
// CHECK: write = affine_map<(d0) -> (1, d0 * 2)>
// CHECK-NOT: call
func.func @caller(%x: tensor<3xf32>, %y: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %0 = call @put(%x, %y) : (tensor<3xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}
func.func private @put(%x: tensor<3xf32>, %y: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %0 = tensor.insert_slice %x into %y[1, 0] [1, 3] [1, 2] : tensor<3xf32> into tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

// A loop is a scan.
// CHECK-LABEL: func.func @loop
// CHECK: "ted.scan"
// CHECK: math.sin
// CHECK-NOT: scf
func.func @loop(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = scf.for %i = %c0 to %c9 step %c1 iter_args(%h = %x) -> (tensor<3xf32>) {
    %1 = math.sin %h : tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

// StableHLO goes by its own pass to linalg, and on from there.
// CHECK-LABEL: func.func @stable
// CHECK: math.tanh
// CHECK: combiner = "max"
// CHECK-NOT: stablehlo
func.func @stable(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<4x3xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
