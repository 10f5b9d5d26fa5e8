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

// Functions of whole tensors are not there yet when it runs; they stay.
// CHECK-LABEL: func.func @tensors
// CHECK: math.tanh %{{.*}} : tensor<3xf32>
func.func @tensors(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = math.tanh %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// Half precision computes in f32.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @half(%x: bf16) -> bf16 {
  %y = math.log %x : bf16
  return %y : bf16
}

// The angle is reduced in f64, exactly for every f32: the parts of 2/pi follow its size.
// CHECK-LABEL: func.func @sine
// CHECK-NOT: math.sin
// CHECK: arith.extf {{.*}} : f32 to f64
// CHECK-COUNT-4: arith.cmpf oge
// CHECK: math.fma {{.*}} : f32
func.func @sine(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @angle
// CHECK-NOT: math.atan2
// CHECK: arith.divf {{.*}} : f64
func.func @angle(%y: f64, %x: f64) -> f64 {
  %a = math.atan2 %y, %x : f64
  return %a : f64
}

// What has no expansion stays a call of the C library.
// CHECK-LABEL: func.func @double_sine
// CHECK: math.sin
func.func @double_sine(%x: f64) -> f64 {
  %y = math.sin %x : f64
  return %y : f64
}
