// The pipeline of a target is a name in a pipeline; its stages can be looked at one by one.
// RUN: ted-opt %s --ted-cpu-pipeline=until=linalg | filecheck %s --check-prefix=LINALG
// RUN: ted-opt %s --ted-cpu-pipeline=until=loops | filecheck %s --check-prefix=LOOPS
// RUN: ted-opt %s --ted-cpu-pipeline=until=loops | ted-opt --ted-cpu-pipeline=after=loops | filecheck %s --check-prefix=LLVM
// RUN: ted-opt %s --pass-pipeline='builtin.module(cse,ted-cpu-pipeline{until=llvm})' | filecheck %s --check-prefix=LLVM
// RUN: ted-opt %s --ted-cpu-pipeline --mlir-print-ir-after=ted-emit-kernels 2>&1 >%t.ignored | filecheck %s --check-prefix=ONE
// RUN: not ted-opt %s --ted-cpu-pipeline=until=nowhere 2>&1 | filecheck %s --check-prefix=STAGE
// RUN: not ted-opt %s --ted-cpu-pipeline=to=loops 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: ted-opt %s --ted-cpu-pipeline=cpu=sse2 | filecheck %s --check-prefix=SSE2
// RUN: not ted-opt %s --ted-cpu-pipeline=cpu=zen 2>&1 | filecheck %s --check-prefix=ROW
// RUN: ted-opt --list-passes | filecheck %s --check-prefix=LIST

// LINALG: linalg.generic
// LOOPS: scf.for
// LOOPS: memref.load
// LLVM-NOT: memref
// LLVM: llvm.func @main
// ONE: IR Dump After ted-emit-kernels
// ONE-NOT: IR Dump After
// STAGE: error: pipeline: stages are ted, linalg, {{.*}}, got 'nowhere'
// OPTION: error: ted-cpu-pipeline: options are until, after, cpu, got 'to'
// SSE2: target_features = #llvm.target_features<["+sse2"]>
// ROW: error: cpu: must be one of avx512_amx, avx512, avx512_bf16, avx2, sse2, neon, got 'zen'
// LIST: ted-cpu-pipeline
func.func @main(%A: tensor<64xf32>) -> tensor<64xf32> {
  %init = tensor.empty() : tensor<64xf32>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %y = arith.addf %a, %a : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 64>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}
