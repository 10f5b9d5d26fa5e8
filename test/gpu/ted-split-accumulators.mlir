// Parts of a total that are summed by themselves start from zero, and end, by themselves.
// RUN: ted-opt %s --ted-split-accumulators | filecheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// Even and odd rows are all there is: no fill of the whole is left.
// CHECK-LABEL: func.func @all
// CHECK-NOT: outs(%arg2
// CHECK: %[[EVEN:.*]] = memref.subview %arg2[0, 0] [64, 64] [2, 1]
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[EVEN]]
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[EVEN]]
// CHECK: %[[ODD:.*]] = memref.subview %arg2[1, 0] [64, 64] [2, 1]
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[ODD]]
func.func @all(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %out: memref<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<128x64xf32>)
  %even = memref.subview %out[0, 0] [64, 64] [2, 1] : memref<128x64xf32> to memref<64x64xf32, strided<[128, 1]>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%even : memref<64x64xf32, strided<[128, 1]>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  %odd = memref.subview %out[1, 0] [64, 64] [2, 1] : memref<128x64xf32> to memref<64x64xf32, strided<[128, 1], offset: 64>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%y, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%odd : memref<64x64xf32, strided<[128, 1], offset: 64>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The other rows are zero, so the whole is filled too.
// CHECK-LABEL: func.func @some
// CHECK: linalg.fill {{.*}} outs(%arg2 : memref<128x64xf32>)
// CHECK: linalg.fill {{.*}} strided
func.func @some(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %out: memref<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<128x64xf32>)
  %even = memref.subview %out[0, 0] [64, 64] [2, 1] : memref<128x64xf32> to memref<64x64xf32, strided<[128, 1]>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%even : memref<64x64xf32, strided<[128, 1]>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// Parts that share rows are one total.
// CHECK-LABEL: func.func @overlapping
// CHECK: linalg.fill {{.*}} outs(%arg2 : memref<96x64xf32>)
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @overlapping(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %out: memref<96x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<96x64xf32>)
  %low = memref.subview %out[0, 0] [64, 64] [1, 1] : memref<96x64xf32> to memref<64x64xf32, strided<[64, 1]>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%low : memref<64x64xf32, strided<[64, 1]>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  %high = memref.subview %out[32, 0] [64, 64] [1, 1] : memref<96x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 2048>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%y, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%high : memref<64x64xf32, strided<[64, 1], offset: 2048>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// What follows on all of the total follows on each part, at its rows.
// CHECK-LABEL: func.func @finished
// CHECK: %[[ONE:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[ONE]]
// CHECK: linalg.generic {{.*}} outs(%[[ONE]]
// CHECK: %[[TWO:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK: linalg.generic {{.*}} outs(%[[TWO]]
// CHECK: %[[BIAS:.*]] = memref.subview %arg2[0] [64] [1]
// CHECK: %[[PLACE:.*]] = memref.subview %arg3[0, 0] [64, 64] [2, 1]
// CHECK: linalg.generic {{.*}} ins(%[[ONE]], %[[BIAS]] {{.*}} outs(%[[PLACE]]
// CHECK: %[[PLACE:.*]] = memref.subview %arg3[1, 0] [64, 64] [2, 1]
// CHECK: linalg.generic {{.*}} ins(%[[TWO]], {{.*}} outs(%[[PLACE]]
func.func @finished(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %bias: memref<64xf32>, %out: memref<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<128x64xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<128x64xf32>)
  %even = memref.subview %t[0, 0] [64, 64] [2, 1] : memref<128x64xf32> to memref<64x64xf32, strided<[128, 1]>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%even : memref<64x64xf32, strided<[128, 1]>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  %odd = memref.subview %t[1, 0] [64, 64] [2, 1] : memref<128x64xf32> to memref<64x64xf32, strided<[128, 1], offset: 64>>
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%y, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%odd : memref<64x64xf32, strided<[128, 1], offset: 64>>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t, %bias : memref<128x64xf32>, memref<64xf32>) outs(%out : memref<128x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}
