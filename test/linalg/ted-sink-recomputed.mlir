// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-sink-recomputed)' --split-input-file --mlir-print-local-scope | filecheck %s

// A recomputed tensor that each step reads at its own time is a history of the scan; what is not
// recomputed stays outside.
// CHECK-LABEL: func.func @read_at_the_time_of_the_step
// CHECK: %[[KEPT:.*]] = "ted.compute"(%arg0, %{{.*}})
// CHECK-NOT: ted.recomputed
// CHECK: "ted.scan"(%{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%[[AGAIN:.*]]: tensor<5x3xf64>, %[[H:.*]]: tensor<5x3xf64>):
// CHECK: %[[NOW:.*]] = "ted.compute"(%arg0, %[[AGAIN]])
// CHECK: ted.recomputed
// CHECK: %[[NEW:.*]] = "ted.compute"(%[[H]], %[[NOW]], %[[KEPT]], %[[H]])
// CHECK: "ted.yield"(%[[NOW]], %[[NEW]])
// CHECK: times = array<i64: 0, 0>
func.func @read_at_the_time_of_the_step(%x: tensor<5x3xf64>) -> tensor<5x3xf64> {
  %e0 = tensor.empty() : tensor<5x3xf64>
  %e1 = tensor.empty() : tensor<5x3xf64>
  %e2 = tensor.empty() : tensor<5x3xf64>
  %kept = "ted.compute"(%x, %e0) ({
  ^bb0(%a: f64):
    %b = math.cos %a : f64
    "ted.yield"(%b) : (f64) -> ()
  }) {
    extents = array<i64: 5, 3>, iterators = ["parallel", "parallel"],
    domain = affine_set<(t, i) : (0 == 0)>,
    reads = [affine_map<(t, i) -> (t, i)>], guards = [affine_set<(t, i) : (0 == 0)>],
    write = affine_map<(t, i) -> (t, i)>, combiner = "set"
  } : (tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<5x3xf64>
  %again = "ted.compute"(%x, %e1) ({
  ^bb0(%a: f64):
    %b = math.sin %a : f64
    "ted.yield"(%b) : (f64) -> ()
  }) {
    extents = array<i64: 5, 3>, iterators = ["parallel", "parallel"],
    domain = affine_set<(t, i) : (0 == 0)>,
    reads = [affine_map<(t, i) -> (t, i)>], guards = [affine_set<(t, i) : (0 == 0)>],
    write = affine_map<(t, i) -> (t, i)>, combiner = "set", ted.recomputed
  } : (tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<5x3xf64>
  %h = "ted.scan"(%e2) ({
  ^bb0(%h0: tensor<5x3xf64>):
    %h1 = "ted.compute"(%h0, %again, %kept, %h0) ({
    ^bb0(%before: f64, %a: f64, %k: f64):
      %b = arith.addf %before, %a : f64
      %c = arith.mulf %b, %k : f64
      "ted.yield"(%c) : (f64) -> ()
    }) {
      extents = array<i64: 5, 3>, iterators = ["parallel", "parallel"],
      domain = affine_set<(t, i) : (0 == 0)>,
      reads = [affine_map<(t, i) -> (t - 1, i)>, affine_map<(t, i) -> (t, i)>,
               affine_map<(t, i) -> (t, i)>],
      guards = [affine_set<(t, i) : (t - 1 >= 0)>, affine_set<(t, i) : (0 == 0)>,
                affine_set<(t, i) : (0 == 0)>],
      write = affine_map<(t, i) -> (t, i)>, combiner = "set"
    } : (tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<5x3xf64>
    "ted.yield"(%h1) : (tensor<5x3xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false}
    : (tensor<5x3xf64>) -> tensor<5x3xf64>
  func.return %h : tensor<5x3xf64>
}

// -----

// One that is read at another time, or after the steps too, stays.
// CHECK-LABEL: func.func @read_at_another_time
// CHECK: ted.recomputed
// CHECK: "ted.scan"(%{{[a-z0-9]+}}) ({
func.func @read_at_another_time(%x: tensor<5xf64>) -> tensor<5xf64> {
  %e1 = tensor.empty() : tensor<5xf64>
  %e2 = tensor.empty() : tensor<5xf64>
  %again = "ted.compute"(%x, %e1) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(t) : (0 == 0)>,
    reads = [affine_map<(t) -> (t)>], guards = [affine_set<(t) : (0 == 0)>],
    write = affine_map<(t) -> (t)>, combiner = "set", ted.recomputed
  } : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %h = "ted.scan"(%e2) ({
  ^bb0(%h0: tensor<5xf64>):
    %h1 = "ted.compute"(%h0, %again, %h0) ({
    ^bb0(%before: f64, %a: f64):
      %b = arith.addf %before, %a : f64
      "ted.yield"(%b) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(t) : (0 == 0)>,
      reads = [affine_map<(t) -> (t - 1)>, affine_map<(t) -> (4 - t)>],
      guards = [affine_set<(t) : (t - 1 >= 0)>, affine_set<(t) : (0 == 0)>],
      write = affine_map<(t) -> (t)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%h1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false}
    : (tensor<5xf64>) -> tensor<5xf64>
  func.return %h : tensor<5xf64>
}
