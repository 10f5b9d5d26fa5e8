// Contractions read what their padded or reversed factors are copies of.
// RUN: ted-opt %s --ted-forward-copies | filecheck %s

#x = affine_map<(n, h, w, r, s, c, o) -> (n, h + r, w + s, c)>
#w = affine_map<(n, h, w, r, s, c, o) -> (r, s, c, o)>
#y = affine_map<(n, h, w, r, s, c, o) -> (n, h, w, o)>
#turned = affine_map<(n, h, w, r, s, c, o) -> (o, r, s, c)>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#back = affine_map<()[s] -> (2 - s)>

// The fill, the copy and the padded buffer are gone.
// CHECK-LABEL: func.func @padding
// CHECK-NOT: memref.alloc
// CHECK: %[[P:.*]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [2, 10, 10, 16], strides: [1024, 128, 16, 1] {ted.padded = [array<i64: 0, 1, 1, 0>, array<i64: 2, 8, 8, 16>]}
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} ins(%[[P]], %arg1
func.func @padding(%x: memref<2x8x8x16xf32>, %w: memref<3x3x16x16xf32>, %y: memref<2x8x8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2x8x8x16xf32>)
  %p = memref.alloc() : memref<2x10x10x16xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<2x10x10x16xf32>)
  %inner = memref.subview %p[0, 1, 1, 0] [2, 8, 8, 16] [1, 1, 1, 1]
    : memref<2x10x10x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  memref.copy %x, %inner : memref<2x8x8x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  linalg.generic {ted.contraction, indexing_maps = [#x, #w, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%p, %w : memref<2x10x10x16xf32>, memref<3x3x16x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// Weights in reverse are a view with negative steps.
// CHECK-LABEL: func.func @reversal
// CHECK: %[[W:.*]] = memref.reinterpret_cast %arg1 to offset: [2048], sizes: [16, 3, 3, 16], strides: [16, -768, -256, 1]
// CHECK-NOT: memref.load
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[W]]
func.func @reversal(%x: memref<2x10x10x16xf32>, %w: memref<3x3x16x16xf32>, %y: memref<2x8x8x16xf32>) {
  %t = memref.alloc() : memref<16x3x3x16xf32>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    outs(%t : memref<16x3x3x16xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = linalg.index 3 : index
    %4 = affine.apply #back()[%1]
    %5 = affine.apply #back()[%2]
    %6 = memref.load %w[%4, %5, %0, %3] : memref<3x3x16x16xf32>
    linalg.yield %6 : f32
  }
  linalg.generic {ted.contraction, indexing_maps = [#x, #turned, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%x, %t : memref<2x10x10x16xf32>, memref<16x3x3x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The source is overwritten before the product reads it.
// CHECK-LABEL: func.func @overwritten
// CHECK: memref.copy
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @overwritten(%x: memref<2x8x8x16xf32>, %w: memref<3x3x16x16xf32>, %y: memref<2x8x8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x10x10x16xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<2x10x10x16xf32>)
  %inner = memref.subview %p[0, 1, 1, 0] [2, 8, 8, 16] [1, 1, 1, 1]
    : memref<2x10x10x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  memref.copy %x, %inner : memref<2x8x8x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  linalg.fill ins(%zero : f32) outs(%x : memref<2x8x8x16xf32>)
  linalg.generic {ted.contraction, indexing_maps = [#x, #w, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%p, %w : memref<2x10x10x16xf32>, memref<3x3x16x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// At the caller's wish the result is in the memory of the input.
// CHECK-LABEL: func.func @donated
// CHECK: memref.copy
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @donated(%x: memref<2x8x8x16xf32>, %w: memref<3x3x16x16xf32>, %y: memref<2x8x8x16xf32>)
    attributes {ted.donated = [array<i64: 0, 2>]} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x10x10x16xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<2x10x10x16xf32>)
  %inner = memref.subview %p[0, 1, 1, 0] [2, 8, 8, 16] [1, 1, 1, 1]
    : memref<2x10x10x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  memref.copy %x, %inner : memref<2x8x8x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  linalg.generic {ted.contraction, indexing_maps = [#x, #w, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%p, %w : memref<2x10x10x16xf32>, memref<3x3x16x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The border is not zero, and something else reads the copy.
// CHECK-LABEL: func.func @other
// CHECK: memref.copy
// CHECK: memref.copy
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @other(%x: memref<2x8x8x16xf32>, %w: memref<3x3x16x16xf32>, %y: memref<2x8x8x16xf32>, %z: memref<2x10x10x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %p = memref.alloc() : memref<2x10x10x16xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<2x10x10x16xf32>)
  %inner = memref.subview %p[0, 1, 1, 0] [2, 8, 8, 16] [1, 1, 1, 1]
    : memref<2x10x10x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  memref.copy %x, %inner : memref<2x8x8x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  linalg.generic {ted.contraction, indexing_maps = [#x, #w, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%p, %w : memref<2x10x10x16xf32>, memref<3x3x16x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  memref.copy %p, %z : memref<2x10x10x16xf32> to memref<2x10x10x16xf32>
  %q = memref.alloc() : memref<2x10x10x16xf32>
  linalg.fill ins(%one : f32) outs(%q : memref<2x10x10x16xf32>)
  %part = memref.subview %q[0, 1, 1, 0] [2, 8, 8, 16] [1, 1, 1, 1]
    : memref<2x10x10x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  memref.copy %x, %part : memref<2x8x8x16xf32> to memref<2x8x8x16xf32, strided<[1600, 160, 16, 1], offset: 176>>
  linalg.generic {ted.contraction, indexing_maps = [#x, #w, #y], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]}
    ins(%q, %w : memref<2x10x10x16xf32>, memref<3x3x16x16xf32>) outs(%y : memref<2x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// Sums are added to the copy.
// CHECK-LABEL: func.func @added_to
// CHECK: memref.copy
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @added_to(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %y: memref<66x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66x64xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<66x64xf32>)
  %inner = memref.subview %p[1, 0] [64, 64] [1, 1] : memref<66x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 64>>
  memref.copy %x, %inner : memref<64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 64>>
  linalg.generic {ted.contraction, indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%y, %w : memref<66x64xf32>, memref<64x64xf32>) outs(%p : memref<66x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The copy is made again and again, in a loop of the host.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: memref.copy
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @in_a_loop(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %y: memref<66x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %p = memref.alloc() : memref<66x64xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<66x64xf32>)
  %inner = memref.subview %p[1, 0] [64, 64] [1, 1] : memref<66x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 64>>
  scf.for %t = %c0 to %c4 step %c1 {
    memref.copy %x, %inner : memref<64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 64>>
  }
  linalg.generic {ted.contraction, indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %w : memref<66x64xf32>, memref<64x64xf32>) outs(%y : memref<66x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}
