// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-hoist-outer-sums)' --split-input-file --mlir-print-local-scope | filecheck %s

// An adjoint with sums of both times, backwards: what later steps of the outer time contribute is
// summed in the outer step, at once for all inner times.
// CHECK-LABEL: func.func @sums_of_both_times
// CHECK: "ted.scan"
// CHECK: %[[EARLY:.*]] = "ted.compute"(%[[H:[a-z0-9]+]], %{{.*}}) ({
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2) : (-d0 + d2 >= 0)>
// CHECK: "ted.scan"
// CHECK: "ted.compute"(%[[EARLY]], %{{.*}})
// CHECK: combiner = "add"{{.*}} iterators = ["parallel", "parallel"]
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2) : (-d1 + d2 >= 0)>
func.func @sums_of_both_times(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %h = "ted.scan"(%x) ({
  ^bb0(%outer: tensor<3x4xf64>):
    %step = "ted.scan"(%outer) ({
    ^bb0(%inner: tensor<3x4xf64>):
      %far = "ted.compute"(%inner, %inner) ({
      ^bb0(%a: f64):
        "ted.yield"(%a) : (f64) -> ()
      }) {
        extents = array<i64: 2, 4, 2>, iterators = ["parallel", "parallel", "reduction"],
        domain = affine_set<(d0, d1, d2) : (d2 - d0 >= 0)>,
        reads = [affine_map<(d0, d1, d2) -> (d2 + 1, d1)>],
        guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
        write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
      } : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      %near = "ted.compute"(%inner, %far) ({
      ^bb0(%a: f64):
        "ted.yield"(%a) : (f64) -> ()
      }) {
        extents = array<i64: 3, 3, 3>, iterators = ["parallel", "parallel", "reduction"],
        domain = affine_set<(d0, d1, d2) : (d2 - d1 >= 0)>,
        reads = [affine_map<(d0, d1, d2) -> (d0, d2 + 1)>],
        guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
        write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
      } : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "ted.yield"(%near) : (tensor<3x4xf64>) -> ()
    }) {steps = 4 : i64, times = array<i64: 1>, reverse = true} : (tensor<3x4xf64>) -> tensor<3x4xf64>
    "ted.yield"(%step) : (tensor<3x4xf64>) -> ()
  }) {steps = 3 : i64, times = array<i64: 0>, reverse = true} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  func.return %h : tensor<3x4xf64>
}

// -----

// Sums of the inner time alone stay where they are.
// CHECK-LABEL: func.func @sums_of_the_inner_time
// CHECK-COUNT-1: "ted.compute"
// CHECK-NOT: "ted.compute"
func.func @sums_of_the_inner_time(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %h = "ted.scan"(%x) ({
  ^bb0(%outer: tensor<3x4xf64>):
    %step = "ted.scan"(%outer) ({
    ^bb0(%inner: tensor<3x4xf64>):
      %near = "ted.compute"(%inner, %inner) ({
      ^bb0(%a: f64):
        "ted.yield"(%a) : (f64) -> ()
      }) {
        extents = array<i64: 3, 3, 3>, iterators = ["parallel", "parallel", "reduction"],
        domain = affine_set<(d0, d1, d2) : (d2 - d1 >= 0)>,
        reads = [affine_map<(d0, d1, d2) -> (d0, d2 + 1)>],
        guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
        write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
      } : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "ted.yield"(%near) : (tensor<3x4xf64>) -> ()
    }) {steps = 4 : i64, times = array<i64: 1>, reverse = true} : (tensor<3x4xf64>) -> tensor<3x4xf64>
    "ted.yield"(%step) : (tensor<3x4xf64>) -> ()
  }) {steps = 3 : i64, times = array<i64: 0>, reverse = true} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  func.return %h : tensor<3x4xf64>
}

// -----

// What is known before the first step, at times that two dims say: the steps are one loop.
// CHECK-LABEL: func.func @written_by_parts
// CHECK: %[[BEFORE:.*]] = "ted.compute"(%arg0, %{{.*}})
// CHECK: write = affine_map<(d0, d1) -> (d0 * 3 + d1)>
// CHECK: "ted.scan"
// CHECK: "ted.compute"(%[[BEFORE]], %{{.*}})
func.func @written_by_parts(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %number = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6xf64>
  %zero = linalg.fill ins(%number : f64) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %h = "ted.scan"(%zero) ({
  ^bb0(%before: tensor<6xf64>):
    %given = "ted.compute"(%x, %before) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 2, 3>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, guards = [affine_set<(d0, d1) : (0 == 0)>],
      reads = [affine_map<(d0, d1) -> (d0, d1)>],
      write = affine_map<(d0, d1) -> (d0 * 3 + d1)>, combiner = "add"
    } : (tensor<2x3xf64>, tensor<6xf64>) -> tensor<6xf64>
    %step = "ted.compute"(%given, %given) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>, guards = [affine_set<(d0) : (0 == 0)>],
      reads = [affine_map<(d0) -> (d0)>],
      write = affine_map<(d0) -> (d0 + 1)>, combiner = "add"
    } : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    "ted.yield"(%step) : (tensor<6xf64>) -> ()
  }) {steps = 6 : i64, times = array<i64: 0>, reverse = false} : (tensor<6xf64>) -> tensor<6xf64>
  func.return %h : tensor<6xf64>
}

// -----

// A sum over all that is before a row, of its own block and of the others: the part of the others
// is made in the outer step, for all rows of the block.
// CHECK-LABEL: func.func @sum_of_all_before
// CHECK: "ted.scan"
// CHECK: %[[EARLY:.*]] = "ted.compute"(%{{.*}}, %{{.*}}) ({
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2, d3) : (d0 - d2 - 1 >= 0)>
// CHECK: "ted.scan"
// CHECK: "ted.compute"(%[[EARLY]], %{{.*}})
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2, d3) : (d0 - d2 == 0, d1 - d3 - 1 >= 0)>
func.func @sum_of_all_before(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %h = "ted.scan"(%x) ({
  ^bb0(%outer: tensor<3x4xf64>):
    %step = "ted.scan"(%outer) ({
    ^bb0(%inner: tensor<3x4xf64>):
      %all = "ted.compute"(%inner, %inner) ({
      ^bb0(%a: f64):
        "ted.yield"(%a) : (f64) -> ()
      }) {
        extents = array<i64: 3, 4, 3, 4>,
        iterators = ["parallel", "parallel", "reduction", "reduction"],
        domain = affine_set<(d0, d1, d2, d3) : (4 * d0 + d1 - 4 * d2 - d3 - 1 >= 0)>,
        reads = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>],
        guards = [affine_set<(d0, d1, d2, d3) : (0 == 0)>],
        write = affine_map<(d0, d1, d2, d3) -> (d0, d1)>, combiner = "add"
      } : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
      "ted.yield"(%all) : (tensor<3x4xf64>) -> ()
    }) {steps = 4 : i64, times = array<i64: 1>, reverse = false} : (tensor<3x4xf64>) -> tensor<3x4xf64>
    "ted.yield"(%step) : (tensor<3x4xf64>) -> ()
  }) {steps = 3 : i64, times = array<i64: 0>, reverse = false} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  func.return %h : tensor<3x4xf64>
}

// -----

// So it is if a part is stored: the first ones go together.
// CHECK-LABEL: func.func @stored_by_parts
// CHECK: combiner = "add"{{.*}} write = affine_map<(d0, d1) -> (d0 * 3 + d1)>
// CHECK: combiner = "set"{{.*}} write = affine_map<(d0, d1) -> (d0 * 3 + d1 + 2)>
// CHECK: "ted.scan"
// CHECK-NOT: d0 * 3
// CHECK: return
func.func @stored_by_parts(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %number = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6xf64>
  %zero = linalg.fill ins(%number : f64) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %h = "ted.scan"(%zero) ({
  ^bb0(%before: tensor<6xf64>):
    %given = "ted.compute"(%x, %before) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 2, 2>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, guards = [affine_set<(d0, d1) : (0 == 0)>],
      reads = [affine_map<(d0, d1) -> (d0, d1)>],
      write = affine_map<(d0, d1) -> (d0 * 3 + d1)>, combiner = "add"
    } : (tensor<2x3xf64>, tensor<6xf64>) -> tensor<6xf64>
    %stored = "ted.compute"(%x, %given) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 2, 1>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, guards = [affine_set<(d0, d1) : (0 == 0)>],
      reads = [affine_map<(d0, d1) -> (d0, d1)>],
      write = affine_map<(d0, d1) -> (d0 * 3 + d1 + 2)>, combiner = "set"
    } : (tensor<2x3xf64>, tensor<6xf64>) -> tensor<6xf64>
    %step = "ted.compute"(%stored, %stored) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>, guards = [affine_set<(d0) : (0 == 0)>],
      reads = [affine_map<(d0) -> (d0)>],
      write = affine_map<(d0) -> (d0 + 1)>, combiner = "add"
    } : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    "ted.yield"(%step) : (tensor<6xf64>) -> ()
  }) {steps = 6 : i64, times = array<i64: 0>, reverse = false} : (tensor<6xf64>) -> tensor<6xf64>
  func.return %h : tensor<6xf64>
}

// -----

// What is stored over what steps made stays behind it.
// CHECK-LABEL: func.func @stored_over_steps
// CHECK-NOT: "ted.compute"
// CHECK: "ted.scan"
func.func @stored_over_steps(%x: tensor<2x3xf64>) -> tensor<6xf64> {
  %number = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6xf64>
  %zero = linalg.fill ins(%number : f64) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %h = "ted.scan"(%zero) ({
  ^bb0(%before: tensor<6xf64>):
    %step = "ted.compute"(%before, %before) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>, guards = [affine_set<(d0) : (0 == 0)>],
      reads = [affine_map<(d0) -> (d0)>],
      write = affine_map<(d0) -> (d0 + 1)>, combiner = "add"
    } : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %stored = "ted.compute"(%x, %step) ({
    ^bb0(%a: f64):
      "ted.yield"(%a) : (f64) -> ()
    }) {
      extents = array<i64: 2, 1>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, guards = [affine_set<(d0, d1) : (0 == 0)>],
      reads = [affine_map<(d0, d1) -> (d0, d1)>],
      write = affine_map<(d0, d1) -> (d0 * 3 + d1 + 2)>, combiner = "set"
    } : (tensor<2x3xf64>, tensor<6xf64>) -> tensor<6xf64>
    "ted.yield"(%stored) : (tensor<6xf64>) -> ()
  }) {steps = 6 : i64, times = array<i64: 0>, reverse = false} : (tensor<6xf64>) -> tensor<6xf64>
  func.return %h : tensor<6xf64>
}
