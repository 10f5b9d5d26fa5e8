// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-expand-half-casts{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-expand-half-casts{cpu=sse2})' | filecheck %s --check-prefix=OLD

// CHECK-LABEL: @bf16_is_the_upper_half
// CHECK: %[[B:.*]] = arith.bitcast %{{.*}} : bf16 to i16
// CHECK: %[[W:.*]] = arith.extui %[[B]] : i16 to i32
// CHECK: %[[S:.*]] = arith.shli %[[W]], %{{.*}} : i32
// CHECK: arith.bitcast %[[S]] : i32 to f32
// CHECK-NOT: arith.extf
func.func @bf16_is_the_upper_half(%x: bf16) -> f32 {
  %y = arith.extf %x : bf16 to f32
  return %y : f32
}

// CHECK-LABEL: @bf16_rounds_by_adding
// CHECK-NOT: arith.truncf
// CHECK: arith.addi
// CHECK: arith.cmpf uno
// CHECK: %[[R:.*]] = arith.trunci %{{.*}} : vector<4xi32> to vector<4xi16>
// CHECK: arith.bitcast %[[R]] : vector<4xi16> to vector<4xbf16>
func.func @bf16_rounds_by_adding(%x: vector<4xf32>) -> vector<4xbf16> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  return %y : vector<4xbf16>
}

// CHECK-LABEL: @f16_has_instructions
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// OLD-LABEL: @f16_has_instructions
// OLD-NOT: arith.extf
// OLD-NOT: arith.truncf
// OLD: arith.trunci
func.func @f16_has_instructions(%x: f16) -> f16 {
  %y = arith.extf %x : f16 to f32
  %z = arith.mulf %y, %y : f32
  %r = arith.truncf %z : f32 to f16
  return %r : f16
}

// From f64 there is no instruction: through an f32 that is odd where it is not exact.
// CHECK-LABEL: @f64_is_rounded_once
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.cmpf one
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.extf %{{.*}} : f32 to f64
func.func @f64_is_rounded_once(%x: f64) -> f64 {
  %y = arith.truncf %x : f64 to f16
  %z = arith.extf %y : f16 to f64
  return %z : f64
}

// CHECK-LABEL: @integers_go_through_f32
// CHECK: %[[N:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.bitcast %[[N]] : f32 to i32
// CHECK: arith.trunci
// CHECK: %[[M:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.fptosi %[[M]] : f32 to i64
func.func @integers_go_through_f32(%n: i32, %x: bf16) -> (bf16, i64) {
  %y = arith.sitofp %n : i32 to bf16
  %m = arith.fptosi %x : bf16 to i64
  return %y, %m : bf16, i64
}

// CHECK-LABEL: @wider_types_stay
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @wider_types_stay(%x: f64) -> f32 {
  %y = arith.truncf %x : f64 to f32
  return %y : f32
}
