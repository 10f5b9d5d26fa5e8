// Passes of ted and of MLIR in one pipeline, nested, in the order that was written.
// RUN: ted-opt %s --pass-pipeline='builtin.module(func.func(cse,convert-ted-to-linalg,canonicalize),symbol-dce)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='cse, convert-ted-to-linalg, canonicalize' | filecheck %s
// RUN: ted-opt %s --cse --convert-ted-to-linalg --canonicalize | filecheck %s
// RUN: ted-opt %s -cse -convert-ted-to-linalg -canonicalize | filecheck %s
// RUN: ted-opt - --cse --convert-ted-to-linalg -o %t.out < %s && filecheck %s --input-file=%t.out
// RUN: ted-opt %s --pass-pipeline='builtin.module()' | filecheck %s --check-prefix=SAME
// RUN: ted-opt %s --convert-ted-to-linalg --dump-pass-pipeline 2>&1 >%t.ignored | filecheck %s --check-prefix=DUMP
// RUN: ted-opt %s --pass-pipeline='any(func.func(canonicalize{region-simplify=disabled max-iterations=2}))' --dump-pass-pipeline 2>&1 >%t.ignored | filecheck %s --check-prefix=OPTIONS

// CHECK-NOT: ted.compute
// CHECK: %[[ONE:.*]] = linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: arith.addf %[[ONE]], %[[ONE]]
// SAME-COUNT-2: ted.compute
// DUMP: builtin.module(convert-ted-to-linalg)
// OPTIONS: builtin.module(func.func(canonicalize{region-simplify=disabled max-iterations=2}))
func.func @twice_the_same(%a: tensor<4xf32>) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    %y = arith.mulf %x, %x : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    %y = arith.mulf %x, %x : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
