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

// One loop writes to four memories at most.
// CHECK-LABEL: func.func @five
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{[a-z0-9]+}} : memref<4xf32>)
func.func @five(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %d: memref<4xf32>, %e: memref<4xf32>, %f: memref<4xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %a, %c : memref<4xf32> to memref<4xf32>
  memref.copy %a, %d : memref<4xf32> to memref<4xf32>
  memref.copy %a, %e : memref<4xf32> to memref<4xf32>
  memref.copy %a, %f : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func @into_the_memory_of_the_source
// CHECK-COUNT-2: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
func.func @into_the_memory_of_the_source(%a: memref<8xf32>, %b: memref<4xf32>) {
  %head = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %tail = memref.subview %a[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %head, %b : memref<4xf32, strided<[1]>> to memref<4xf32>
  memref.copy %head, %tail : memref<4xf32, strided<[1]>> to memref<4xf32, strided<[1], offset: 4>>
  return
}

// CHECK-LABEL: func.func @into_memory_that_may_be_any
// CHECK-COUNT-2: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
func.func private @somewhere() -> memref<4xf32>
func.func @into_memory_that_may_be_any(%a: memref<4xf32>, %b: memref<4xf32>) {
  %any = func.call @somewhere() : () -> memref<4xf32>
  memref.copy %a, %any : memref<4xf32> to memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func @under_a_condition
// CHECK: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} outs(%{{[a-z0-9_]+}} :
func.func @under_a_condition(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %x: i1) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  scf.if %x {
    memref.copy %a, %c : memref<4xf32> to memref<4xf32>
  }
  return
}
