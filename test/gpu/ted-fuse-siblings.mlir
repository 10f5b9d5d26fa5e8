// Operations over the same points, of which one reads what the other reads or writes, become one.
// RUN: ted-opt %s --ted-fuse-siblings | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#j = affine_map<(i, j) -> (j)>
#i = affine_map<(i) -> (i)>

// CHECK-LABEL: func.func @bias_and_weight
// CHECK: linalg.fill
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%arg2, %arg3
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: linalg.generic
func.func @bias_and_weight(%dy: memref<4x8xf32>, %x: memref<4x8xf32>, %dw: memref<8xf32>,
                           %db: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%dw : memref<8xf32>)
  linalg.generic {indexing_maps = [#ij, #ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%dy, %x : memref<4x8xf32>, memref<4x8xf32>) outs(%dw : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %t, %p : f32
    linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%db : memref<8xf32>)
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%dy : memref<4x8xf32>) outs(%db : memref<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %s = arith.addf %t, %a : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @one_after_the_other
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @one_after_the_other(%x: memref<4x8xf32>, %s: memref<8xf32>, %r: memref<8xf32>) {
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #j, #j], iterator_types = ["reduction", "parallel"]}
    ins(%x, %s : memref<4x8xf32>, memref<8xf32>) outs(%r : memref<8xf32>) {
  ^bb0(%a: f32, %m: f32, %t: f32):
    %d = arith.subf %a, %m : f32
    %u = arith.addf %t, %d : f32
    linalg.yield %u : f32
  }
  return
}

// The value goes from one body to the other; the temporary that nothing else reads is gone, the
// result stays.
// CHECK-LABEL: func.func @value_and_gradient
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%arg2, %arg3
// CHECK: ^bb0(%[[X:.*]]: f32, %[[DY:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: %[[Y:.*]] = math.tanh %[[X]]
// CHECK: %[[S:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK: %[[DX:.*]] = arith.mulf %[[S]], %[[DY]]
// CHECK: linalg.yield %[[Y]], %[[DX]]
// CHECK-NOT: linalg.generic
func.func @value_and_gradient(%x: memref<4x8xf32>, %dy: memref<4x8xf32>, %y: memref<4x8xf32>,
                              %dx: memref<4x8xf32>) {
  %t = memref.alloc() : memref<4x8xf32>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%y : memref<4x8xf32>) outs(%t : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.mulf %a, %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%t, %dy : memref<4x8xf32>, memref<4x8xf32>) outs(%dx : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  }
  return
}

// A point would read what another one writes.
// CHECK-LABEL: func.func @read_at_another_point
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @read_at_another_point(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %z: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : memref<8x8xf32>, memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  }
  return
}

// What stands between reads the first result and makes an operand of the second operation.
// CHECK-LABEL: func.func @kept_apart
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @kept_apart(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %z: memref<8x8xf32>) {
  %s = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
    ins(%y : memref<8x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x, %s : memref<8x8xf32>, memref<8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  }
  return
}

// Halves are different elements, whose writes need no order.
// CHECK-LABEL: func.func @halves
// CHECK: linalg.generic {{.*}} ins(%arg0 : {{.*}}) outs(%{{.*}}, %{{.*}} :
// CHECK-NOT: linalg.generic
func.func @halves(%x: memref<4x8xf32>, %y: memref<4x16xf32>) {
  %left = memref.subview %y[0, 0] [4, 8] [1, 1]
    : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%left : memref<4x8xf32, strided<[16, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  %right = memref.subview %y[0, 8] [4, 8] [1, 1]
    : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%right : memref<4x8xf32, strided<[16, 1], offset: 8>>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.negf %a : f32
    linalg.yield %u : f32
  }
  return
}

// Parts that overlap.
// CHECK-LABEL: func.func @neighbours
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @neighbours(%x: memref<8xf32>, %y: memref<9xf32>) {
  %low = memref.subview %y[0] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
    ins(%x : memref<8xf32>) outs(%low : memref<8xf32, strided<[1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  %high = memref.subview %y[1] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
    ins(%x : memref<8xf32>) outs(%high : memref<8xf32, strided<[1], offset: 1>>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.negf %a : f32
    linalg.yield %u : f32
  }
  return
}

// %arg2 may be the memory of %arg1, which the first operation reads at other points.
// CHECK-LABEL: func.func @donated
// CHECK: linalg.generic {{.*}} outs(%arg3
// CHECK: linalg.generic {{.*}} outs(%arg2
func.func @donated(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %v: memref<8x8xf32>,
                   %y: memref<8x8xf32>) attributes {ted.donated = [array<i64: 1, 2>]} {
  linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%v : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.addf %a, %b : f32
    linalg.yield %u : f32
  }
  return
}

// Rows and one line of the same elements are the same points.
// CHECK-LABEL: func.func @rows_and_a_line
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}}, %{{.*}} : memref<32xf32>
// CHECK-NOT: linalg.generic
func.func @rows_and_a_line(%x: memref<4x8xf32>, %y: memref<32xf32>, %z: memref<32xf32>) {
  %t = memref.alloc() : memref<4x8xf32>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<4x8xf32>) outs(%t : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  }
  %line = memref.collapse_shape %t [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
    ins(%line, %y : memref<32xf32>, memref<32xf32>) outs(%z : memref<32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %u = arith.mulf %a, %b : f32
    linalg.yield %u : f32
  }
  return
}

// A sum joins only if its outermost loop is summed over, and an inner one has results.
// CHECK-LABEL: func.func @row_sum
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @row_sum(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %s: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.addf %a, %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.addf %o, %a : f32
    linalg.yield %u : f32
  }
  return
}

// CHECK-LABEL: func.func @two_sums_of_all
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @two_sums_of_all(%x: memref<8x8xf32>, %s: memref<f32>, %t: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<8x8xf32>) outs(%s : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.addf %o, %a : f32
    linalg.yield %u : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<8x8xf32>) outs(%t : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.mulf %o, %a : f32
    linalg.yield %u : f32
  }
  return
}
