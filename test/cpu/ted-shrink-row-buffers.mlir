// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-shrink-row-buffers)' | filecheck %s

// CHECK-LABEL: func.func @one_row_at_a_time
// CHECK: memref.alloc() {{.*}} : memref<1x16xf32>
// CHECK: memref.subview %{{.*}}[0, 0] [1, 16] [1, 1]
func.func @one_row_at_a_time(%a: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %b = memref.alloc() {alignment = 64 : i64} : memref<8x16xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %row = memref.subview %b[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.fill ins(%z : f32) outs(%row : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}

// A second loop reads what the first one wrote.
// CHECK-LABEL: func.func @rows_outlive_the_loop
// CHECK: memref.alloc() {{.*}} : memref<8x16xf32>
func.func @rows_outlive_the_loop(%a: memref<1x16xf32, strided<[16, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %b = memref.alloc() {alignment = 64 : i64} : memref<8x16xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %row = memref.subview %b[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.fill ins(%z : f32) outs(%row : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  scf.for %j = %c0 to %c8 step %c1 {
    %row = memref.subview %b[%j, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.copy ins(%row : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%a : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}
