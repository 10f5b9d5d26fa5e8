// Exponentials of 32 and 16 bits use the unit for powers of two, in kernels only.
// Before: math.exp                After: range reduction around ex2.approx
// RUN: ted-opt %s --ted-expand-gpu-math | filecheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @host
  // CHECK: math.exp
  func.func @host(%x: f32) -> f32 {
    %y = math.exp %x : f32
    return %y : f32
  }
  gpu.module @kernels {
    // CHECK-LABEL: gpu.func @k
    gpu.func @k(%a: memref<4xf32>, %h: memref<4xf16>, %d: memref<4xf64>) kernel {
      %i = gpu.thread_id x
      // CHECK: %[[X:.*]] = memref.load
      %x = memref.load %a[%i] : memref<4xf32>
      // CHECK: %[[S:.*]] = math.fma %[[X]], %{{.*}}, %{{.*}} : f32
      // CHECK: %[[L:.*]] = arith.maxnumf %[[S]]
      // CHECK: %[[N:.*]] = arith.minnumf %[[L]]
      // CHECK-COUNT-2: math.fma %[[X]]
      // CHECK: arith.bitcast %[[N]] : f32 to i32
      // CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%{{.*}}) : (f32) -> f32
      // CHECK: %[[E:.*]] = arith.mulf %[[P]], %{{.*}} : f32
      // CHECK: memref.store %[[E]]
      %e = math.exp %x : f32
      memref.store %e, %a[%i] : memref<4xf32>
      // CHECK: arith.extf %{{.*}} : f16 to f32
      // CHECK: llvm.nvvm.rcp.approx.ftz.f
      // CHECK: arith.truncf %{{.*}} : f32 to f16
      %y = memref.load %h[%i] : memref<4xf16>
      %t = math.tanh %y : f16
      memref.store %t, %h[%i] : memref<4xf16>
      // CHECK: math.exp %{{.*}} : f64
      %z = memref.load %d[%i] : memref<4xf64>
      %w = math.exp %z : f64
      memref.store %w, %d[%i] : memref<4xf64>
      gpu.return
    }
  }
}
