// The CUDA pipeline is a name in a pipeline; its stages can be looked at one by one.
// RUN: ted-opt %s --ted-cuda-pipeline=until=buffers | filecheck %s --check-prefix=BUFFERS
// RUN: ted-opt %s --ted-cuda-pipeline=until=gpu | filecheck %s --check-prefix=GPU
// RUN: ted-opt %s --ted-cuda-pipeline=until=gpu | ted-opt --ted-cuda-pipeline=after=gpu | filecheck %s --check-prefix=LLVM
// RUN: not ted-opt %s --ted-cuda-pipeline=until=loops 2>&1 | filecheck %s --check-prefix=STAGE
// RUN: not ted-opt %s --ted-cuda-pipeline=deterministic=maybe 2>&1 | filecheck %s --check-prefix=TRUTH
// RUN: not ted-opt %s --ted-cuda-pipeline=to=gpu 2>&1 | filecheck %s --check-prefix=OPTION

// BUFFERS: linalg.generic
// BUFFERS-SAME: ins(%arg0 : memref<64xf32>) outs(%arg1 : memref<64xf32>)
// GPU: gpu.launch_func @kernels::@[[K:[a-z0-9]+_[0-9a-f]+]]
// GPU-SAME: args(%arg0 : memref<64xf32>, %arg1 : memref<64xf32>)
// GPU: gpu.func @[[K]](
// GPU-SAME: known_block_size = array<i32: 64, 1, 1>
// GPU: memref.load
// GPU: math.exp
// LLVM: gpu.launch_func @kernels::@[[K:[a-z0-9]+_[0-9a-f]+]]
// LLVM: llvm.func @[[K]](
// LLVM-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 64, 1, 1>
// LLVM: nvvm.read.ptx.sreg.tid.x
// LLVM: llvm.call_intrinsic "llvm.fma.f32"
// LLVM-NOT: memref.load
// STAGE: error: pipeline: stages are ted, linalg, buffers, work, gpu, nvvm, llvm, got 'loops'
// TRUTH: error: pipeline: deterministic is true or false, got 'maybe'
// OPTION: error: ted-cuda-pipeline: options are until, after, deterministic, got 'to'
func.func @main(%A: tensor<64xf32>) -> tensor<64xf32> {
  %init = tensor.empty() : tensor<64xf32>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %y = math.exp %a : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 64>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}
