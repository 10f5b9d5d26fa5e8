// All kernels of a program are in one module; equal ones are one, and pointers are distinct.
// RUN: ted-opt %s --ted-merge-kernels | filecheck %s

module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @main
  // CHECK: gpu.launch_func @kernels::@[[A:y_[0-9a-f]+]] {{.*}} args(%arg0 : memref<4xf32>)
  // CHECK: gpu.launch_func @kernels::@[[A]] {{.*}} args(%arg1 : memref<4xf32>)
  // CHECK: gpu.launch_func @kernels::@[[B:main_kernel_[0-9a-f]+]]
  func.func @main(%a: memref<4xf32>, %b: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @main_kernel::@main_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%a : memref<4xf32>) loc("y")
    gpu.launch_func @main_kernel_0::@main_kernel blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%b : memref<4xf32>) loc("z")
    gpu.launch_func @main_kernel_1::@main_kernel blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%a : memref<4xf32>)
    return
  }
  // CHECK: gpu.module @kernels
  // CHECK: gpu.func @[[A]](%{{.*}}: memref<4xf32> {llvm.align = 16 : i64, llvm.noalias}) kernel
  // CHECK: gpu.func @[[B]]({{.*}} kernel attributes {known_block_size = array<i32: 256, 1, 1>, nvvm.minctasm = 4 : i32}
  // CHECK-NOT: gpu.func
  gpu.module @main_kernel {
    gpu.func @main_kernel(%a: memref<4xf32>) kernel {
      %i = gpu.thread_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %a[%i] : memref<4xf32>
      gpu.return
    }
  }
  gpu.module @main_kernel_0 {
    gpu.func @main_kernel(%a: memref<4xf32>) kernel {
      %i = gpu.thread_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %a[%i] : memref<4xf32>
      gpu.return
    }
  }
  gpu.module @main_kernel_1 {
    gpu.func @main_kernel(%a: memref<4xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %i = gpu.thread_id x
      %one = arith.constant 1.0 : f32
      %own = memref.alloca() : memref<1xf32, #gpu.address_space<private>>
      memref.store %one, %a[%i] : memref<4xf32>
      gpu.return
    }
  }
}
