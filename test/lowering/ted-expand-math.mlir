// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-expand-math)' | filecheck %s

// CHECK-LABEL: func.func @exponential
// CHECK-NOT: math.exp
// CHECK-COUNT-8: math.fma {{.*}} : f32
// CHECK: arith.shli
// CHECK: return
func.func @exponential(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: math.tanh
// CHECK: arith.divf {{.*}} : vector<16xf32>
func.func @vectors(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.tanh %x : vector<16xf32>
  return %y : vector<16xf32>
}

// Half precision computes in f32.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @half(%x: bf16) -> bf16 {
  %y = math.log %x : bf16
  return %y : bf16
}

// What has no expansion stays a call of the C library.
// CHECK-LABEL: func.func @sine
// CHECK: math.sin
func.func @sine(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}
