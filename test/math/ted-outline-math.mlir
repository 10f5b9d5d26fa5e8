// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-outline-math)' | filecheck %s

// CHECK-LABEL: func.func @two_sines
// CHECK: %[[Y:.*]] = call @ted_sin_f64(%{{.*}}) : (f64) -> f64
// CHECK: call @ted_sin_f64(%[[Y]]) : (f64) -> f64
func.func @two_sines(%x: f64) -> f64 {
  %y = math.sin %x : f64
  %z = math.sin %y : f64
  return %z : f64
}

// A vector is its own variant, also of a length that no register has.
// CHECK-LABEL: func.func @vector_of_angles
// CHECK: call @ted_cos_f32_x3(%{{.*}}) : (vector<3xf32>) -> vector<3xf32>
func.func @vector_of_angles(%x: vector<3xf32>) -> vector<3xf32> {
  %y = math.cos %x : vector<3xf32>
  return %y : vector<3xf32>
}

// What has no rare cases, and what is narrow or a matrix, is expanded where it stands.
// CHECK-LABEL: func.func @inline
// CHECK: math.exp
// CHECK: math.sin {{.*}} : f16
// CHECK: math.sin {{.*}} : vector<2x2xf32>
func.func @inline(%x: f32, %h: f16, %m: vector<2x2xf32>) -> (f32, f16, vector<2x2xf32>) {
  %y = math.exp %x : f32
  %g = math.sin %h : f16
  %n = math.sin %m : vector<2x2xf32>
  return %y, %g, %n : f32, f16, vector<2x2xf32>
}

// CHECK-LABEL: func.func @remainder
// CHECK: call @ted_remf_f64(
func.func @remainder(%x: f64, %y: f64) -> f64 {
  %r = arith.remf %x, %y : f64
  return %r : f64
}

// A function without rare cases that is used 16 times in the module.
// CHECK-LABEL: func.func @often
// CHECK-COUNT-16: call @ted_tanh_f32
// CHECK-NOT: math.tanh
func.func @often(%y0: f32) -> f32 {
  %y1 = math.tanh %y0 : f32
  %y2 = math.tanh %y1 : f32
  %y3 = math.tanh %y2 : f32
  %y4 = math.tanh %y3 : f32
  %y5 = math.tanh %y4 : f32
  %y6 = math.tanh %y5 : f32
  %y7 = math.tanh %y6 : f32
  %y8 = math.tanh %y7 : f32
  %y9 = math.tanh %y8 : f32
  %y10 = math.tanh %y9 : f32
  %y11 = math.tanh %y10 : f32
  %y12 = math.tanh %y11 : f32
  %y13 = math.tanh %y12 : f32
  %y14 = math.tanh %y13 : f32
  %y15 = math.tanh %y14 : f32
  %y16 = math.tanh %y15 : f32
  return %y16 : f32
}

// The scalar names the variants for two registers of AVX2, one and half of one; long loops are to
// take the first.
// CHECK-LABEL: func.func private @ted_sin_f64
// CHECK-SAME: llvm.readnone
// CHECK-SAME: _ZGV_LLVM_N8v_ted_sin_f64(ted_sin_f64_x8),_ZGV_LLVM_N4v_ted_sin_f64(ted_sin_f64_x4),_ZGV_LLVM_N2v_ted_sin_f64(ted_sin_f64_x2)
// CHECK-SAME: ted.together = array<i64: 2, 8>
// CHECK: %[[RARE:.*]] = arith.cmpf ugt
// CHECK: scf.if %[[RARE]] -> (f64) {
// CHECK: arith.mului_extended
// CHECK: } else {

// CHECK-LABEL: func.func private @ted_sin_f64_x4
// CHECK: %[[LANES:.*]] = arith.cmpf ugt, {{.*}} : vector<4xf64>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[LANES]] : vector<4xi1> into i1
// CHECK: scf.if %[[ANY]] -> (vector<4xf64>) {
// CHECK: scf.for
// CHECK: func.call @ted_sin_f64({{.*}}) : (f64) -> f64
// CHECK: vector.insert

// f32 has a formula for all numbers, in f64.
// CHECK-LABEL: func.func private @ted_cos_f32
// CHECK: scf.if
// CHECK: arith.extf {{.*}} : f32 to f64

// What has no other formula is a call of the C library, of scalars.
// CHECK-LABEL: func.func private @ted_remf_f64(
// CHECK: scf.if
// CHECK: arith.remf {{.*}} : f64
// CHECK-LABEL: func.func private @ted_remf_f64_x4
// CHECK: func.call @ted_remf_f64

// CHECK-LABEL: func.func private @ted_tanh_f32
// CHECK-NEXT: %[[Y:.*]] = math.tanh
// CHECK-NEXT: return %[[Y]]
