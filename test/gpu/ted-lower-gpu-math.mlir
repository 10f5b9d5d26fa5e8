// What is an instruction of the GPU becomes an intrinsic, in kernels only; halves compute in f32.
// RUN: ted-opt %s --ted-lower-gpu-math | filecheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @host
  // CHECK: math.sqrt
  func.func @host(%x: f32) -> f32 {
    %y = math.sqrt %x : f32
    return %y : f32
  }
  gpu.module @kernels {
    // CHECK-LABEL: gpu.func @k
    gpu.func @k(%a: memref<4xf32>, %h: memref<4xf16>, %n: memref<4xi32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<4xf32>
      // CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.sqrt.f32"(%{{.*}}) : (f32) -> f32
      %s = math.sqrt %x : f32
      // CHECK: llvm.call_intrinsic "llvm.fma.f32"(%[[S]], %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
      %f = math.fma %s, %x, %x : f32
      memref.store %f, %a[%i] : memref<4xf32>
      // CHECK: %[[W:.*]] = arith.extf %{{.*}} : f16 to f32
      // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.floor.f32"(%[[W]])
      // CHECK: arith.truncf %[[R]] : f32 to f16
      %y = memref.load %h[%i] : memref<4xf16>
      %z = math.floor %y : f16
      memref.store %z, %h[%i] : memref<4xf16>
      // CHECK: llvm.call_intrinsic "llvm.abs.i32"(%{{.*}}, %false) : (i32, i1) -> i32
      %k = memref.load %n[%i] : memref<4xi32>
      %m = math.absi %k : i32
      memref.store %m, %n[%i] : memref<4xi32>
      // CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i64
      // CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.abs.i64"(%[[N]], %{{.*}}) : (i64, i1) -> i64
      // CHECK: arith.index_cast %[[P]] : i64 to index
      %d = math.absi %i : index
      %e = memref.load %a[%d] : memref<4xf32>
      memref.store %e, %a[%i] : memref<4xf32>
      gpu.return
    }
  }
}
