// RUN: ted-opt --pass-pipeline='builtin.module(ted-schedule-contractions{cpu=avx512_bf16})' %s | filecheck %s
// RUN: ted-opt --pass-pipeline='builtin.module(ted-schedule-contractions{cpu=avx512})' %s | filecheck %s --check-prefix=SINGLE
// RUN: ted-opt --pass-pipeline='builtin.module(ted-schedule-contractions{cpu=avx512_amx})' %s | filecheck %s --check-prefix=MATRIX

// Products of bf16 are of pairs where the CPU multiplies those. The fifth step has no neighbour, and zero for it.
// CHECK-LABEL: func.func @matrix_product
// CHECK: tensor.extract_slice %arg0[0, 0] [8, 2] [1, 2] : tensor<8x5xbf16>
// CHECK: tensor.extract_slice %arg0[0, 1] [8, 2] [1, 2] : tensor<8x5xbf16>
// CHECK: arith.ori
// CHECK: tensor.extract_slice %arg0[0, 4] [8, 1] [1, 1] : tensor<8x5xbf16>
// CHECK: tensor.extract_slice %arg1[0, 0] [2, 32] [2, 1] : tensor<5x32xbf16>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x3xi32>, tensor<3x32xi32>) outs(%arg2 : tensor<8x32xf32>)
// CHECK-SAME: ted.contraction
// CHECK: arith.andi
// CHECK: arith.shli
// CHECK: return
// SINGLE-LABEL: func.func @matrix_product
// SINGLE: ins(%{{.*}}, %{{.*}} : tensor<8x5xf32>, tensor<5x32xf32>)
// SINGLE-SAME: ted.contraction
func.func @matrix_product(%A: tensor<8x5xbf16>, %B: tensor<5x32xbf16>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x5xbf16>, tensor<5x32xbf16>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Of a convolution the channels are in pairs: a window overlaps the next one.
// CHECK-LABEL: func.func @convolution
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<1x6x6x2xi32>, tensor<3x3x2x8xi32>)
// CHECK-SAME: ted.contraction
func.func @convolution(%A: tensor<1x6x6x4xbf16>, %B: tensor<3x3x4x8xbf16>, %C: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%A, %B : tensor<1x6x6x4xbf16>, tensor<3x3x4x8xbf16>) outs(%C : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %r : tensor<1x4x4x8xf32>
}

// With one step there is no pair, with one channel only windows are left, f16 has no such instruction.
// CHECK-LABEL: func.func @one_step
// CHECK: : tensor<8x1xf32>, tensor<1x32xf32>)
func.func @one_step(%A: tensor<8x1xbf16>, %B: tensor<1x32xbf16>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x1xbf16>, tensor<1x32xbf16>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @one_channel
// CHECK-NOT: xi32>
// CHECK: return
func.func @one_channel(%A: tensor<1x6x6x1xbf16>, %B: tensor<3x3x1x8xbf16>, %C: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%A, %B : tensor<1x6x6x1xbf16>, tensor<3x3x1x8xbf16>) outs(%C : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %r : tensor<1x4x4x8xf32>
}

// CHECK-LABEL: func.func @half
// CHECK: : tensor<8x4xf32>, tensor<4x32xf32>)
func.func @half(%A: tensor<8x4xf16>, %B: tensor<4x32xf16>, %C: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<8x4xf16>, tensor<4x32xf16>) outs(%C : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Matrices of pairs: those of A are neighbours (here it is transposed). Of 35 pairs there are 36, three groups
// of 12 for three instructions, the last pair zero. Rows of B are 7 lines of 64 bytes apart, which is odd. What is small
// stays in f32.
// MATRIX-LABEL: func.func @matrix_product
// MATRIX: ins(%{{.*}}, %{{.*}} : tensor<8x5xf32>, tensor<5x32xf32>)
// MATRIX-LABEL: func.func @transposed
// MATRIX: %[[A:.*]] = tensor.empty() : tensor<70x36xi32>
// MATRIX: linalg.generic {indexing_maps = [#[[SAME:.*]], #[[SAME]], #[[TURNED:.*]]],
// MATRIX: linalg.generic {indexing_maps = [#[[SAME]], #[[TURNED]]],
// MATRIX: linalg.generic {indexing_maps = [#[[TURNED]]],
// MATRIX: linalg.yield %{{.*}} : i32
// MATRIX: tensor.empty() : tensor<36x112xi32>
// MATRIX: ins(%{{.*}}, %{{.*}} : tensor<70x36xi32>, tensor<36x96xi32>) outs(%arg2 : tensor<70x96xf32>)
// MATRIX-SAME: ted.contraction
func.func @transposed(%A: tensor<69x70xbf16>, %B: tensor<69x96xbf16>, %C: tensor<70x96xf32>) -> tensor<70x96xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : tensor<69x70xbf16>, tensor<69x96xbf16>) outs(%C : tensor<70x96xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<70x96xf32>
  return %r : tensor<70x96xf32>
}

// Pairs that are neighbours already are read in place.
// MATRIX-LABEL: func.func @in_place
// MATRIX: ins(%arg0, %arg0, %{{.*}} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<32x64xi32>) outs(%arg2 : tensor<64x64xf32>)
// MATRIX-SAME: ted.contraction
// CHECK-LABEL: func.func @in_place
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<64x32xi32>, tensor<32x64xi32>)
func.func @in_place(%A: tensor<64x64xbf16>, %B: tensor<64x64xbf16>, %C: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.matmul ins(%A, %B : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%C : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// A slice lies as what it is cut out of: here rows are an odd number of halves apart, or halves are no neighbours.
// MATRIX-LABEL: func.func @slices
// MATRIX: ins(%{{.*}}, %{{.*}} : memref<64x32xi32>, memref<32x64xi32, {{.*}}>) outs(%arg3
// MATRIX: ins(%{{.*}}, %{{.*}} : memref<64x32xi32>, memref<32x64xi32, {{.*}}>) outs(%arg3
// MATRIX: ins(%[[EVEN:.*]], %[[EVEN]], %{{.*}} : memref<64x64xbf16, strided<[128, 1], offset: 1>>, memref<64x64xbf16, strided<[128, 1], offset: 1>>, memref<32x64xi32, {{.*}}>) outs(%arg3
func.func @slices(%A: memref<64x65xbf16>, %S: memref<64x128xbf16>, %B: memref<64x64xbf16>, %C: memref<64x64xf32>) {
  %odd = memref.subview %A[0, 1] [64, 64] [1, 1] : memref<64x65xbf16> to memref<64x64xbf16, strided<[65, 1], offset: 1>>
  linalg.matmul ins(%odd, %B : memref<64x64xbf16, strided<[65, 1], offset: 1>>, memref<64x64xbf16>) outs(%C : memref<64x64xf32>)
  %apart = memref.subview %S[0, 0] [64, 64] [1, 2] : memref<64x128xbf16> to memref<64x64xbf16, strided<[128, 2]>>
  linalg.matmul ins(%apart, %B : memref<64x64xbf16, strided<[128, 2]>>, memref<64x64xbf16>) outs(%C : memref<64x64xf32>)
  %even = memref.subview %S[0, 1] [64, 64] [1, 1] : memref<64x128xbf16> to memref<64x64xbf16, strided<[128, 1], offset: 1>>
  linalg.matmul ins(%even, %B : memref<64x64xbf16, strided<[128, 1], offset: 1>>, memref<64x64xbf16>) outs(%C : memref<64x64xf32>)
  return
}
