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

// -----

// A search over one point has the number 0, and a maximum no dim of one point.
// CHECK-LABEL: func.func @unit_reductions
// CHECK: combiner = "max"
// CHECK-SAME: extents = array<i64: 8, 3>
// CHECK: arith.constant 0 : i64
// CHECK: combiner = "set"
// CHECK-NOT: argmax
func.func @unit_reductions(%x: tensor<8x1x3xf64>) -> (tensor<8xf64>, tensor<8xi64>) {
  %least = arith.constant 0xFFF0000000000000 : f64
  %none = arith.constant -1 : i64
  %e = tensor.empty() : tensor<8xf64>
  %n = tensor.empty() : tensor<8xi64>
  %i = linalg.fill ins(%least : f64) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  %j = linalg.fill ins(%none : i64) outs(%n : tensor<8xi64>) -> tensor<8xi64>
  %0 = "ted.compute"(%x, %i) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 1, 3>, iterators = ["parallel", "reduction", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0)>, combiner = "max"
  } : (tensor<8x1x3xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1:2 = "ted.compute"(%x, %i, %j) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 1>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1, 2)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "argmax"
  } : (tensor<8x1x3xf64>, tensor<8xf64>, tensor<8xi64>) -> (tensor<8xf64>, tensor<8xi64>)
  func.return %0, %1#1 : tensor<8xf64>, tensor<8xi64>
}

// -----

// Two rows of a sum are read, turned round: two are computed, where the result is.
// CHECK-LABEL: func.func @rows_that_are_copied
// CHECK: tensor.empty() : tensor<2x3xf64>
// CHECK: ted.compute
// CHECK: extents = array<i64: 2, 3, 5>
// CHECK-SAME: affine_map<(d0, d1, d2) -> (d1 + 4, d0, d2)>
// CHECK-NOT: ted.compute
func.func @rows_that_are_copied(%x: tensor<8x2x5xf64>) -> tensor<2x3xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x2xf64>
  %i = linalg.fill ins(%zero : f64) outs(%e : tensor<8x2xf64>) -> tensor<8x2xf64>
  %0 = "ted.compute"(%x, %i) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 2, 5>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x2x5xf64>, tensor<8x2xf64>) -> tensor<8x2xf64>
  %r = tensor.empty() : tensor<2x3xf64>
  %1 = "ted.compute"(%0, %r) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 2, 3>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d1 + 4, d0)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  func.return %1 : tensor<2x3xf64>
}

// -----

// A read at data that clips becomes one at the nearest index of each dim, which is inside.
// CHECK-LABEL: func.func @clipped_read
// CHECK: %[[P:.*]] = arith.index_cast
// CHECK: %[[LOW:.*]] = arith.maxsi %[[P]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
// CHECK: %[[D:.*]] = "ted.index"()
// CHECK: %[[LOW:.*]] = arith.maxsi %[[D]], %{{.*}} : index
// CHECK: %[[COLUMN:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
// CHECK: "ted.load"(%{{.*}}, %{{.*}}, %[[ROW]], %[[COLUMN]]) {mode = "unchecked"}
func.func @clipped_read(%x: tensor<5x7xf64>, %at: tensor<3xi64>) -> tensor<3xf64> {
  %e = tensor.empty() : tensor<3xf64>
  %0 = "ted.compute"(%at, %e) ({
  ^bb0(%p: i64):
    %i = arith.index_cast %p : i64 to index
    %d = "ted.index"() {dim = 0 : i64} : () -> index
    %true = arith.constant true
    %v = "ted.load"(%x, %true, %i, %d) {mode = "clip"} : (tensor<5x7xf64>, i1, index, index) -> f64
    "ted.yield"(%v) : (f64) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %0 : tensor<3xf64>
}

// -----

// One that drops what is outside is made under the condition that every index is inside, which
// proves that it is.
// CHECK-LABEL: func.func @dropped_read
// CHECK: %[[P:.*]] = arith.index_cast
// CHECK: %[[LOW:.*]] = arith.cmpi sle, %{{.*}}, %[[P]] : index
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %[[P]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.andi %[[LOW]], %[[HIGH]] : i1
// CHECK: %[[D:.*]] = "ted.index"()
// CHECK: %[[LOW:.*]] = arith.cmpi sle, %{{.*}}, %[[D]] : index
// CHECK: %[[BOTH:.*]] = arith.andi %[[ROW]], %[[LOW]] : i1
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %[[D]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BOTH]], %[[HIGH]] : i1
// CHECK: "ted.load"(%{{.*}}, %[[INSIDE]], %[[P]], %[[D]]) {mode = "unchecked"}
func.func @dropped_read(%x: tensor<5x7xf64>, %at: tensor<3xi64>) -> tensor<3xf64> {
  %e = tensor.empty() : tensor<3xf64>
  %0 = "ted.compute"(%at, %e) ({
  ^bb0(%p: i64):
    %i = arith.index_cast %p : i64 to index
    %d = "ted.index"() {dim = 0 : i64} : () -> index
    %true = arith.constant true
    %v = "ted.load"(%x, %true, %i, %d) {mode = "drop"} : (tensor<5x7xf64>, i1, index, index) -> f64
    "ted.yield"(%v) : (f64) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %0 : tensor<3xf64>
}

// -----

// Of eight steps on six columns, three on two columns are read.
// CHECK-LABEL: func.func @part_of_a_recurrence
// CHECK: %[[E:.*]] = tensor.empty() : tensor<3x2xf64>
// CHECK: "ted.scan"(%[[E]])
// CHECK: extents = array<i64: 3, 2>
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d0 - 1, d1)>, affine_map<(d0, d1) -> (d0, d1 + 1)>]
// CHECK: steps = 3
func.func @part_of_a_recurrence(%x: tensor<8x6xf64>) -> tensor<3x2xf64> {
  %e = tensor.empty() : tensor<8x6xf64>
  %h = "ted.scan"(%e) ({
  ^bb0(%now: tensor<8x6xf64>):
    %s = "ted.compute"(%now, %x, %now) ({
    ^bb0(%a: f64, %b: f64):
      %t = arith.addf %a, %b : f64
      "ted.yield"(%t) : (f64) -> ()
    }) {
      extents = array<i64: 8, 6>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>,
      reads = [affine_map<(d0, d1) -> (d0 - 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      guards = [affine_set<(d0, d1) : (d0 - 1 >= 0)>, affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
    } : (tensor<8x6xf64>, tensor<8x6xf64>, tensor<8x6xf64>) -> tensor<8x6xf64>
    "ted.yield"(%s) : (tensor<8x6xf64>) -> ()
  }) {reverse = false, steps = 8 : i64, times = array<i64: 0>} : (tensor<8x6xf64>) -> tensor<8x6xf64>
  %r = tensor.empty() : tensor<3x2xf64>
  %y = "ted.compute"(%h, %r) ({
  ^bb0(%a: f64):
    %t = arith.negf %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 3, 2>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1 + 1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x6xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  func.return %y : tensor<3x2xf64>
}
