// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-plan-memory{each=1024 total=1536})' | filecheck %s

// The two small buffers fit, the third would pass the budget of the frame, the last its own limit.
// CHECK-LABEL: func.func @budget
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<128xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<200xf32>
// CHECK: %[[C:.*]] = memref.alloc() : memref<250xf32>
// CHECK: memref.dealloc %[[C]]
// CHECK: %[[D:.*]] = memref.alloc() : memref<1024xf32>
// CHECK: memref.dealloc %[[D]]
func.func @budget(%z: f32) {
  %a = memref.alloc() : memref<128xf32>
  %b = memref.alloc() : memref<200xf32>
  %c = memref.alloc() : memref<250xf32>
  %d = memref.alloc() : memref<1024xf32>
  linalg.fill ins(%z : f32) outs(%c : memref<250xf32>)
  linalg.fill ins(%z : f32) outs(%b : memref<200xf32>)
  linalg.fill ins(%z : f32) outs(%a : memref<128xf32>)
  linalg.fill ins(%z : f32) outs(%d : memref<1024xf32>)
  return
}

// One of a loop is there once, as are those of other functions where something is passed on.
// CHECK-LABEL: func.func @loop
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @loop(%z: f32, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %a = memref.alloc() : memref<8xf32>
    linalg.fill ins(%z : f32) outs(%a : memref<8xf32>)
    memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  }
  return
}

// What is passed on is given back by MLIR's own pipeline, or by who gets it.
// CHECK-LABEL: func.func @returned
// CHECK: memref.alloc() : memref<8xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @returned() -> memref<8xf32> {
  %a = memref.alloc() : memref<8xf32>
  return %a : memref<8xf32>
}

// CHECK-LABEL: func.func @chosen
// CHECK: memref.alloc() : memref<8xf32>
// CHECK: memref.alloc() : memref<8xf32>
// CHECK: arith.select
// CHECK: memref.dealloc
// CHECK: return
func.func @chosen(%p: i1, %z: f32, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<8xf32>)
  %c = scf.if %p -> memref<8xf32> {
    scf.yield %a : memref<8xf32>
  } else {
    scf.yield %b : memref<8xf32>
  }
  memref.copy %c, %out : memref<8xf32> to memref<8xf32>
  return
}

// CHECK-LABEL: func.func @view_returned
// CHECK: memref.alloc() : memref<2x4xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @view_returned(%z: f32) -> memref<8xf32> {
  %a = memref.alloc() : memref<2x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<2x4xf32>)
  %v = memref.collapse_shape %a [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  return %v : memref<8xf32>
}

// CHECK-LABEL: func.func @of_any_size
// CHECK: %[[A:.*]] = memref.alloc(%arg0) : memref<?xf32>
// CHECK: memref.dealloc %[[A]]
func.func @of_any_size(%n: index, %z: f32, %out: memref<?xf32>) {
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<?xf32>)
  memref.copy %a, %out : memref<?xf32> to memref<?xf32>
  return
}

// CHECK-LABEL: func.func @selected
// CHECK-COUNT-2: memref.alloc() : memref<8xf32>
// CHECK: %[[C:.*]] = arith.select
// CHECK: memref.copy %[[C]], %arg2
// CHECK: memref.dealloc
func.func @selected(%p: i1, %z: f32, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<8xf32>)
  linalg.fill ins(%z : f32) outs(%b : memref<8xf32>)
  %c = arith.select %p, %a, %b : memref<8xf32>
  memref.copy %c, %out : memref<8xf32> to memref<8xf32>
  return
}
