// RUN: ted-opt %s --verify-roundtrip | filecheck %s
// RUN: ted-opt %s --mlir-print-op-generic | ted-opt | filecheck %s
// RUN: ted-opt %s --emit-bytecode -o %t.mlirbc && ted-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' | filecheck %s --check-prefix=CLEAN

// CHECK-DAG: #[[IK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[KJ:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[IJ:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[ALL:.*]] = affine_set<(d0, d1, d2) : (0 == 0)>

// CHECK-LABEL: func.func @contraction
// CHECK: "ted.compute"(%{{.*}}, %{{.*}}, %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT: "ted.yield"(%[[P]]) : (f32) -> ()
// CHECK-NEXT: }) {combiner = "add", domain = #[[ALL]], extents = array<i64: 16, 8, 32>, guards = [#[[ALL]], #[[ALL]]], iterators = ["parallel", "parallel", "reduction"], reads = [#[[IK]], #[[KJ]]], write = #[[IJ]]} : (tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
func.func @contraction(%A: tensor<16x32xf32>, %B: tensor<32x8xf32>, %init: tensor<16x8xf32>)
    -> tensor<16x8xf32> {
  %C = "ted.compute"(%A, %B, %init) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 16, 8, 32>,
    iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>,
    combiner = "add"
  } : (tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  func.return %C : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @value_and_index
// CHECK: %[[R:.*]]:2 = "ted.compute"
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @value_and_index(%A: tensor<4x5xf32>, %v: tensor<4xf32>, %p: tensor<4xi64>)
    -> (tensor<4xf32>, tensor<4xi64>) {
  %0:2 = "ted.compute"(%A, %v, %p) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4, 5>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "argmax"
  } : (tensor<4x5xf32>, tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
}

// CHECK-LABEL: func.func @no_dims
// CHECK: extents = array<i64>
func.func @no_dims(%a: tensor<f64>, %init: tensor<f64>) -> tensor<f64> {
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f64):
    %y = math.exp %x : f64
    "ted.yield"(%y) : (f64) -> ()
  }) {
    extents = array<i64>, iterators = [], domain = affine_set<() : (0 == 0)>,
    reads = [affine_map<() -> ()>], guards = [affine_set<() : (0 == 0)>],
    write = affine_map<() -> ()>, combiner = "set"
  } : (tensor<f64>, tensor<f64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @empty_box
// CHECK: extents = array<i64: 0>
func.func @empty_box(%init: tensor<0xi8>) -> tensor<0xi8> {
  %0 = "ted.compute"(%init) ({
    %c = arith.constant 1 : i8
    "ted.yield"(%c) : (i8) -> ()
  }) {
    extents = array<i64: 0>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [], guards = [], write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<0xi8>) -> tensor<0xi8>
  func.return %0 : tensor<0xi8>
}

// Pure: equal ops are merged although their lines differ, and an unused one goes away.
// CLEAN-LABEL: func.func @equal_and_dead
// CLEAN: %[[ONE:.*]] = "ted.compute"
// CLEAN-NOT: "ted.compute"
// CLEAN: return %[[ONE]], %[[ONE]]
func.func @equal_and_dead(%a: tensor<4xf32>, %init: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (3 - d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":1:0)
  %1 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (3 - d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":2:0)
  %2 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Two histories of different types, in reverse; the second reads the first at the same step.
// CHECK-LABEL: func.func @recurrence
// CHECK: %[[S:.*]]:2 = "ted.scan"(%{{.*}}, %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[C0:.*]]: tensor<5xf64>, %[[H0:.*]]: tensor<2x5xf32>):
// CHECK: %[[C1:.*]] = "ted.compute"(%[[C0]], %{{.*}}, %[[C0]])
// CHECK: %[[H1:.*]] = "ted.compute"(%[[C1]], %[[H0]])
// CHECK: "ted.yield"(%[[C1]], %[[H1]]) : (tensor<5xf64>, tensor<2x5xf32>) -> ()
// CHECK: {reverse = true, steps = 5 : i64, times = array<i64: 0, 1>} : (tensor<5xf64>, tensor<2x5xf32>) -> (tensor<5xf64>, tensor<2x5xf32>)
// CHECK: return %[[S]]#0, %[[S]]#1
func.func @recurrence(%x: tensor<5xf64>, %c: tensor<5xf64>, %h: tensor<2x5xf32>)
    -> (tensor<5xf64>, tensor<2x5xf32>) {
  %0:2 = "ted.scan"(%c, %h) ({
  ^bb0(%c0: tensor<5xf64>, %h0: tensor<2x5xf32>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%after: f64, %now: f64):
      %sum = arith.addf %after, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (-d0 + 3 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %h1 = "ted.compute"(%c1, %h0) ({
    ^bb0(%now: f64):
      %small = arith.truncf %now : f64 to f32
      "ted.yield"(%small) : (f32) -> ()
    }) {
      extents = array<i64: 2, 5>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>, reads = [affine_map<(d0, d1) -> (d1)>],
      guards = [affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
    } : (tensor<5xf64>, tensor<2x5xf32>) -> tensor<2x5xf32>
    "ted.yield"(%c1, %h1) : (tensor<5xf64>, tensor<2x5xf32>) -> ()
  }) {times = array<i64: 0, 1>, steps = 5 : i64, reverse = true}
    : (tensor<5xf64>, tensor<2x5xf32>) -> (tensor<5xf64>, tensor<2x5xf32>)
  func.return %0#0, %0#1 : tensor<5xf64>, tensor<2x5xf32>
}

// CLEAN-LABEL: func.func @dead_recurrence
// CLEAN-NOT: ted.scan
// CLEAN: return
func.func @dead_recurrence(%c: tensor<5xf64>) {
  %0 = "ted.scan"(%c) ({
  ^bb0(%c0: tensor<5xf64>):
    "ted.yield"(%c0) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}
