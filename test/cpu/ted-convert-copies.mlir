// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-convert-copies)' | filecheck %s

// CHECK-LABEL: func.func @strided
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%{{.*}} : memref<4xf32, strided<[2]>>) outs(%{{.*}} : memref<4xf32>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: linalg.yield %[[IN]] : f32
func.func @strided(%a: memref<4xf32, strided<[2]>>, %b: memref<4xf32>) {
  memref.copy %a, %b : memref<4xf32, strided<[2]>> to memref<4xf32>
  return
}

// Copies of one tensor read it once, if nothing stands between them and their memory is apart.
// CHECK-LABEL: func.func @of_one_tensor
// CHECK: linalg.generic {{.*}} ins(%[[A:[a-z0-9]+]] : {{.*}}) outs(%{{.*}}, %{{.*}} : memref<4xf32>, memref<4xf32>)
// CHECK: linalg.yield %[[IN:.*]], %[[IN]] : f32, f32
// CHECK: memref.store
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}}) outs(%{{[a-z0-9]+}} : memref<4xf32>)
// CHECK: return
func.func @of_one_tensor(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %x: f32) {
  %zero = arith.constant 0 : index
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %a, %c : memref<4xf32> to memref<4xf32>
  memref.store %x, %a[%zero] : memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func @into_one_memory
// CHECK-COUNT-2: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
func.func @into_one_memory(%a: memref<4xf32>, %b: memref<5xf32>) {
  %head = memref.subview %b[0] [4] [1] : memref<5xf32> to memref<4xf32, strided<[1]>>
  %tail = memref.subview %b[1] [4] [1] : memref<5xf32> to memref<4xf32, strided<[1], offset: 1>>
  memref.copy %a, %head : memref<4xf32> to memref<4xf32, strided<[1]>>
  memref.copy %a, %tail : memref<4xf32> to memref<4xf32, strided<[1], offset: 1>>
  return
}

// CHECK-LABEL: func.func @of_two_tensors
// CHECK-COUNT-2: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
func.func @of_two_tensors(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %b, %c : memref<4xf32> to memref<4xf32>
  return
}
