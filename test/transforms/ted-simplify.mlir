// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-simplify)' --split-input-file --mlir-print-local-scope | filecheck %s

// Two tensors with the same equation are one.
// CHECK-LABEL: func.func @equal_tensors_become_one
// CHECK: math.tanh
// CHECK-NOT: math.tanh
// CHECK: arith.mulf %[[T:.*]], %[[T]]
func.func @equal_tensors_become_one(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %2 = "ted.compute"(%0, %1, %e) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %2 : tensor<8xf64>
}

// -----

// A tensor that only copies another one is that one.
// CHECK-LABEL: func.func @copies_disappear
// CHECK-COUNT-1: ted.compute
// CHECK-NOT: ted.compute
func.func @copies_disappear(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%0, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %1 : tensor<8xf64>
}

// -----

// Summands over the same box become one body, which covers the tensor: no fill is left.
// CHECK-LABEL: func.func @pieces_over_the_same_points_become_one_body
// CHECK-NOT: linalg.fill
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK: combiner = "set"
// CHECK-NOT: ted.compute
func.func @pieces_over_the_same_points_become_one_body(%x: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %c = arith.constant 0.0 : f64
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  %0 = "ted.compute"(%x, %z) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%y, %0) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %1 : tensor<8xf64>
}

// -----

// Adding nothing anywhere is no equation.
// CHECK-LABEL: func.func @zero_and_empty_equations_disappear
// CHECK-COUNT-1: ted.compute
// CHECK-NOT: ted.compute
func.func @zero_and_empty_equations_disappear(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %c = arith.constant 0.0 : f64
  %z = linalg.fill ins(%c : f64) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  %0 = "ted.compute"(%z) ({
    %t = arith.constant 0.0 : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [],
    guards = [],
    write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%x, %0) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (d0 - 8 >= 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %2 = "ted.compute"(%x, %1) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %2 : tensor<8xf64>
}

// -----

// A maximum over one point is a copy of it, and what reads the copy reads the tensor.
// CHECK-LABEL: func.func @one_point
// CHECK-NOT: linalg.fill
// CHECK: "ted.compute"(%arg0, %0)
// CHECK: arith.divf %[[X:.*]], %[[X]] : f64
// CHECK-NOT: ted.compute
func.func @one_point(%x: tensor<8x1xf64>) -> tensor<8x1xf64> {
  %e = tensor.empty() : tensor<8x1xf64>
  %low = arith.constant 0xFFF0000000000000 : f64
  %f = linalg.fill ins(%low : f64) outs(%e : tensor<8x1xf64>) -> tensor<8x1xf64>
  %0 = "ted.compute"(%x, %f) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 1, 1>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "max"
  } : (tensor<8x1xf64>, tensor<8x1xf64>) -> tensor<8x1xf64>
  %1 = "ted.compute"(%x, %0, %e) ({
  ^bb0(%a: f64, %b: f64):
    %t = arith.divf %a, %b : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8, 1>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x1xf64>, tensor<8x1xf64>, tensor<8x1xf64>) -> tensor<8x1xf64>
  func.return %1 : tensor<8x1xf64>
}
