// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-promote-buffers{each=1024 total=1536})' | filecheck %s

// The two small buffers fit, the third would pass the budget of the frame, the last its own limit.
// CHECK-LABEL: func.func @budget
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<128xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<200xf32>
// CHECK: memref.alloc() : memref<250xf32>
// CHECK: memref.alloc() : memref<1024xf32>
func.func @budget(%z: f32) {
  %a = memref.alloc() : memref<128xf32>
  %b = memref.alloc() : memref<200xf32>
  %c = memref.alloc() : memref<250xf32>
  %d = memref.alloc() : memref<1024xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<128xf32>)
  linalg.fill ins(%z : f32) outs(%b : memref<200xf32>)
  linalg.fill ins(%z : f32) outs(%c : memref<250xf32>)
  linalg.fill ins(%z : f32) outs(%d : memref<1024xf32>)
  return
}

// CHECK-LABEL: func.func @returned
// CHECK: memref.alloc() : memref<8xf32>
func.func @returned() -> memref<8xf32> {
  %a = memref.alloc() : memref<8xf32>
  return %a : memref<8xf32>
}
