// Two sums over the same points, of which both read %dy, become one operation.
// RUN: ted-opt %s --ted-merge-sums | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @bias_and_weight
// CHECK: linalg.fill
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1, %arg0 : {{.*}}) outs(%arg2, %arg3
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: linalg.generic
// CHECK-LABEL: func.func @one_after_the_other
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
