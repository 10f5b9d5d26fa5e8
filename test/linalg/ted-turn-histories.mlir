// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-turn-histories)' --split-input-file --mlir-print-local-scope | filecheck %s

// Running sums of the rows of %x, computed with the time first: the result is read turned, so the
// history is, and is the result.
// CHECK-LABEL: func.func @sums_of_rows
// CHECK: "ted.scan"
// CHECK: extents = array<i64: 4, 3>
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d0, d1 - 1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: steps = 3 : i64, times = array<i64: 1>
// CHECK-NOT: "ted.compute"
// CHECK: return
func.func @sums_of_rows(%x: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  %h = "ted.scan"(%e) ({
  ^bb0(%s: tensor<3x4xf64>):
    %n = "ted.compute"(%s, %x, %s) ({
    ^bb0(%a: f64, %b: f64):
      %c = arith.addf %a, %b : f64
      "ted.yield"(%c) : (f64) -> ()
    }) {
      extents = array<i64: 3, 4>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>,
      reads = [affine_map<(d0, d1) -> (d0 - 1, d1)>, affine_map<(d0, d1) -> (d1, d0)>],
      guards = [affine_set<(d0, d1) : (d0 - 1 >= 0)>, affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
    } : (tensor<3x4xf64>, tensor<4x3xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    "ted.yield"(%n) : (tensor<3x4xf64>) -> ()
  }) {steps = 3 : i64, times = array<i64: 0>, reverse = false} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  %r = tensor.empty() : tensor<4x3xf64>
  %t = "ted.compute"(%h, %r) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 4, 3>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d1, d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<3x4xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  func.return %t : tensor<4x3xf64>
}

// -----

// Its operand lies by steps: to turn the history would read that in columns.
// CHECK-LABEL: func.func @given_by_steps
// CHECK: times = array<i64: 0>
func.func @given_by_steps(%x: tensor<3x4xf64>) -> tensor<4x3xf64> {
  %e = tensor.empty() : tensor<3x4xf64>
  %h = "ted.scan"(%e) ({
  ^bb0(%s: tensor<3x4xf64>):
    %n = "ted.compute"(%s, %x, %s) ({
    ^bb0(%a: f64, %b: f64):
      %c = arith.addf %a, %b : f64
      "ted.yield"(%c) : (f64) -> ()
    }) {
      extents = array<i64: 3, 4>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>,
      reads = [affine_map<(d0, d1) -> (d0 - 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      guards = [affine_set<(d0, d1) : (d0 - 1 >= 0)>, affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
    } : (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    "ted.yield"(%n) : (tensor<3x4xf64>) -> ()
  }) {steps = 3 : i64, times = array<i64: 0>, reverse = false} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  %r = tensor.empty() : tensor<4x3xf64>
  %t = "ted.compute"(%h, %r) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 4, 3>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d1, d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<3x4xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  func.return %t : tensor<4x3xf64>
}
