// RUN: ted-opt %s --pass-pipeline='builtin.module(convert-ted-to-linalg{rows=4},canonicalize)' --split-input-file | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-forms{rows=4})' --split-input-file | filecheck %s --check-prefix=FORM

// A running sum of each row: the steps of four rows at once, then those of the two that are left.
// FORM: ted.form = {block = 4 : i64, name = "rows"}
// CHECK-LABEL: func.func @running_sums
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK: tensor.extract_slice %{{.*}} [4, 5] [1, 1] : tensor<10x5xf64> to tensor<4x5xf64>
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}}
// CHECK: scf.for %{{.*}} = %c0 to %c4
// CHECK: {ted.parallel}
// CHECK: tensor.insert_slice %{{.*}} [4, 5] [1, 1] : tensor<4x5xf64> into tensor<10x5xf64>
// CHECK: {ted.parallel}
// CHECK: tensor.extract_slice %{{.*}}[8, 0] [2, 5] [1, 1] : tensor<10x5xf64> to tensor<2x5xf64>
// CHECK: tensor.insert_slice %{{.*}}[8, 0] [2, 5] [1, 1] : tensor<2x5xf64> into tensor<10x5xf64>
func.func @running_sums(%x: tensor<10x5xf64>, %init: tensor<10x5xf64>) -> tensor<10x5xf64> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<10x5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 10, 5>, iterators = ["parallel", "parallel"],
      domain = affine_set<(i, t) : (0 == 0)>,
      reads = [affine_map<(i, t) -> (i, t - 1)>, affine_map<(i, t) -> (i, t)>],
      guards = [affine_set<(i, t) : (t - 1 >= 0)>, affine_set<(i, t) : (0 == 0)>],
      write = affine_map<(i, t) -> (i, t)>, combiner = "set"
    } : (tensor<10x5xf64>, tensor<10x5xf64>, tensor<10x5xf64>) -> tensor<10x5xf64>
    "ted.yield"(%c1) : (tensor<10x5xf64>) -> ()
  }) {times = array<i64: 1>, steps = 5 : i64, reverse = false} : (tensor<10x5xf64>) -> tensor<10x5xf64>
  return %c : tensor<10x5xf64>
}

// -----

// What is asked for is done; of a tensor that is read the other way round, columns are taken.
// FORM: ted.form = {block = 2 : i64, name = "rows"}
// CHECK-LABEL: func.func @asked
// CHECK: scf.for %{{.*}} = %c0 to %c5
// CHECK: tensor.extract_slice %arg0[0, %{{.*}}] [5, 2] [1, 1] : tensor<5x10xf64> to tensor<5x2xf64>
func.func @asked(%x: tensor<5x10xf64>, %init: tensor<10x5xf64>) -> tensor<10x5xf64> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<10x5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 10, 5>, iterators = ["parallel", "parallel"],
      domain = affine_set<(i, t) : (0 == 0)>,
      reads = [affine_map<(i, t) -> (i, t - 1)>, affine_map<(i, t) -> (t, i)>],
      guards = [affine_set<(i, t) : (t - 1 >= 0)>, affine_set<(i, t) : (0 == 0)>],
      write = affine_map<(i, t) -> (i, t)>, combiner = "set"
    } : (tensor<10x5xf64>, tensor<5x10xf64>, tensor<10x5xf64>) -> tensor<10x5xf64>
    "ted.yield"(%c1) : (tensor<10x5xf64>) -> ()
  }) {times = array<i64: 1>, steps = 5 : i64, reverse = false, ted.form = {name = "rows", block = 2}} : (tensor<10x5xf64>) -> tensor<10x5xf64>
  return %c : tensor<10x5xf64>
}
