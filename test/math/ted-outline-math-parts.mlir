// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-outline-math)' | filecheck %s

// A module that is linked with others has functions that none of them has.
// CHECK: call @ted_sin_f32_kernel_1
// CHECK: func.func private @ted_sin_f32_kernel_1(
// CHECK-SAME: _ZGV_LLVM_N8v_ted_sin_f32_kernel_1(ted_sin_f32_kernel_1_x8)
// CHECK: func.func private @ted_sin_f32_kernel_1_x4(
// CHECK: func.func private @ted_sin_f32_kernel_1_x8(
module attributes {ted.part = "kernel_1"} {
  func.func @kernel_1(%x: f32) -> f32 {
    %y = math.sin %x : f32
    return %y : f32
  }
}
