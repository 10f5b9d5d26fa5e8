// RUN: ted-opt --pass-pipeline='builtin.module(ted-schedule-contractions{cpu=avx512})' %s | filecheck %s

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#k = affine_map<(i, j, k) -> (k)>

// CHECK-LABEL: func.func @matrix_product
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16x32xf32>)
// CHECK-SAME: ted.contraction
func.func @matrix_product(%A: tensor<8x16xf32>, %B: tensor<16x32xf32>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x16xf32>, tensor<16x32xf32>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @convolution
// CHECK: linalg.generic
// CHECK-SAME: ted.contraction
func.func @convolution(%A: tensor<1x6x6x3xf32>, %B: tensor<3x3x3x8xf32>, %C: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%A, %B : tensor<1x6x6x3xf32>, tensor<3x3x3x8xf32>) outs(%C : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %r : tensor<1x4x4x8xf32>
}

// The tanh is computed once per element of A, not once per product, in memory that CSE leaves its own.
// CHECK-LABEL: func.func @inlined_producer
// CHECK: tensor.empty()
// CHECK: %[[X:.*]] = linalg.generic {{.*}}["parallel", "parallel"]
// CHECK: math.tanh
// CHECK: linalg.generic {{.*}} ins(%[[X]], %{{.*}} : tensor<8x16xf32>, tensor<16x32xf32>)
// CHECK-SAME: ted.contraction
// CHECK-NOT: math.tanh
// CHECK: return
func.func @inlined_producer(%A: tensor<8x16xf32>, %B: tensor<16x32xf32>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.generic {indexing_maps = [#ik, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : tensor<8x16xf32>, tensor<16x32xf32>) outs(%C : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = math.tanh %a : f32
    %p = arith.mulf %t, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// A weight per reduction step goes to the smaller side.
// CHECK-LABEL: func.func @three_factors
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0, %arg2 : {{.*}} outs(%{{.*}} : tensor<8x16xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]], %{{[a-z0-9_]+}} :
// CHECK-SAME: ted.contraction
func.func @three_factors(%A: tensor<8x16xf32>, %B: tensor<16x32xf32>, %w: tensor<16xf32>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.generic {indexing_maps = [#ik, #kj, #k, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B, %w : tensor<8x16xf32>, tensor<16x32xf32>, tensor<16xf32>) outs(%C : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %v: f32, %c: f32):
    %q = arith.mulf %a, %v : f32
    %p = arith.mulf %q, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @row_sums_are_not_claimed
// CHECK-NOT: ted.contraction
// CHECK: return
func.func @row_sums_are_not_claimed(%A: tensor<8x16xf32>, %C: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<8x16xf32>) outs(%C : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @integers
// CHECK: ted.contraction
// CHECK: return
func.func @integers(%A: tensor<8x16xi32>, %B: tensor<16x32xi32>, %C: tensor<8x32xi32>) -> tensor<8x32xi32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x16xi32>, tensor<16x32xi32>) outs(%C : tensor<8x32xi32>) -> tensor<8x32xi32>
  return %r : tensor<8x32xi32>
}

// Half precision is widened once per element, then contracted in single precision.
// CHECK-LABEL: func.func @half_precision
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16x32xf32>)
// CHECK-SAME: ted.contraction
// CHECK: return
func.func @half_precision(%A: tensor<8x16xf16>, %B: tensor<16x32xf16>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x16xf16>, tensor<16x32xf16>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// A matrix times one vector stays a loop over k, which may be summed in lanes.
// CHECK-LABEL: func.func @matrix_vector
// CHECK-NOT: ted.contraction
// CHECK: arith.addf {{.*}} fastmath<reassoc,contract>
// CHECK: return
func.func @matrix_vector(%A: tensor<8x16xf32>, %x: tensor<16xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.matvec ins(%A, %x : tensor<8x16xf32>, tensor<16xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @scalar_operand
// CHECK-NOT: ted.contraction
// CHECK: return
func.func @scalar_operand(%A: tensor<8x16xf32>, %x: f32, %C: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> ()>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%A, %x : tensor<8x16xf32>, f32) outs(%C : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @dynamic_shape
// CHECK-NOT: ted.contraction
// CHECK: return
func.func @dynamic_shape(%A: tensor<?x16xf32>, %B: tensor<16x32xf32>, %C: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<?x16xf32>, tensor<16x32xf32>) outs(%C : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @no_points
// CHECK-NOT: ted.contraction
// CHECK: return
func.func @no_points(%A: tensor<8x0xf32>, %B: tensor<0x32xf32>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x0xf32>, tensor<0x32xf32>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

#ki = affine_map<(i, j, k) -> (k, i)>

// What a step of a tile reads is 4096 bytes from the step before: it is copied once, for both products.
// CHECK-LABEL: func.func @sums_across_far_rows
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<512x1024xf32>) outs(%{{.*}} : tensor<1024x512xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[T]], %arg1 : tensor<1024x512xf32>, tensor<512x256xf32>)
// CHECK-SAME: ted.contraction
// CHECK-NOT: ["parallel", "parallel"]
// CHECK: linalg.generic {{.*}} ins(%[[T]], %arg2 : tensor<1024x512xf32>, tensor<512x256xf32>)
// CHECK: return
func.func @sums_across_far_rows(%A: tensor<512x1024xf32>, %B: tensor<512x256xf32>, %D: tensor<512x256xf32>, %C: tensor<1024x256xf32>) -> (tensor<1024x256xf32>, tensor<1024x256xf32>) {
  %r = linalg.matmul indexing_maps = [#ki, #kj, #ij] ins(%A, %B : tensor<512x1024xf32>, tensor<512x256xf32>) outs(%C : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %s = linalg.matmul indexing_maps = [#ki, #kj, #ij] ins(%A, %D : tensor<512x1024xf32>, tensor<512x256xf32>) outs(%C : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  return %r, %s : tensor<1024x256xf32>, tensor<1024x256xf32>
}

// The first cache has room for all steps, so tiles wait less than a copy takes.
// CHECK-LABEL: func.func @sums_across_few_rows
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<64x1000xf32>, tensor<64x256xf32>)
// CHECK-SAME: ted.contraction
func.func @sums_across_few_rows(%A: tensor<64x1000xf32>, %B: tensor<64x256xf32>, %C: tensor<1000x256xf32>) -> tensor<1000x256xf32> {
  %r = linalg.matmul indexing_maps = [#ki, #kj, #ij] ins(%A, %B : tensor<64x1000xf32>, tensor<64x256xf32>) outs(%C : tensor<1000x256xf32>) -> tensor<1000x256xf32>
  return %r : tensor<1000x256xf32>
}

// CHECK-LABEL: func.func @a_copy_that_is_asked_for
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}} outs(%{{.*}} : tensor<1000x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %arg1 : tensor<1000x64xf32>, tensor<64x256xf32>)
// CHECK-NOT: ted.layout
// CHECK: return
func.func @a_copy_that_is_asked_for(%A: tensor<64x1000xf32>, %B: tensor<64x256xf32>, %C: tensor<1000x256xf32>) -> tensor<1000x256xf32> {
  %r = linalg.generic {indexing_maps = [#ki, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"], ted.layout = {name = "transposed"}}
      ins(%A, %B : tensor<64x1000xf32>, tensor<64x256xf32>) outs(%C : tensor<1000x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<1000x256xf32>
  return %r : tensor<1000x256xf32>
}

// One tensor is both factors, of which one is read across.
// CHECK-LABEL: func.func @both_factors
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2000x512xf64>) outs(%{{.*}} : tensor<512x2000xf64>)
// CHECK: linalg.generic {{.*}} ins(%[[T]], %arg0 : tensor<512x2000xf64>, tensor<2000x512xf64>)
// CHECK-SAME: ted.contraction
func.func @both_factors(%A: tensor<2000x512xf64>, %C: tensor<512x512xf64>) -> tensor<512x512xf64> {
  %r = linalg.matmul indexing_maps = [#ki, #kj, #ij] ins(%A, %A : tensor<2000x512xf64>, tensor<2000x512xf64>) outs(%C : tensor<512x512xf64>) -> tensor<512x512xf64>
  return %r : tensor<512x512xf64>
}
