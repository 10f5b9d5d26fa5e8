// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-fuse-pointwise)' --split-input-file --mlir-print-local-scope | filecheck %s

// A chain of maps is one body.
// CHECK-LABEL: func.func @chain
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK-NOT: ted.compute
func.func @chain(%x: tensor<8xf64>) -> tensor<8xf64> {
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
  %1 = "ted.compute"(%0, %e) ({
  ^bb0(%a: f64):
    %t = arith.addf %a, %a : f64
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

// Two users would evaluate the tanh twice.
// CHECK-LABEL: func.func @expensive_producer_of_two_stays
// CHECK-COUNT-1: math.tanh
// CHECK-NOT: math.tanh
func.func @expensive_producer_of_two_stays(%x: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
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
  %1 = "ted.compute"(%0, %e) ({
  ^bb0(%a: f64):
    %t = arith.addf %a, %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %2 = "ted.compute"(%0, %x, %e) ({
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
  func.return %1, %2 : tensor<8xf64>, tensor<8xf64>
}

// -----

// A sum evaluates each element once.
// CHECK-LABEL: func.func @into_a_reduction
// CHECK: math.tanh
// CHECK: iterators = ["reduction"]
// CHECK-NOT: ted.compute
func.func @into_a_reduction(%x: tensor<8xf64>, %i: tensor<f64>) -> tensor<f64> {
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
  %1 = "ted.compute"(%0, %i) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> ()>, combiner = "add"
  } : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
  func.return %1 : tensor<f64>
}

// -----

// Operands of a contraction are read many times: they stay tensors.
// CHECK-LABEL: func.func @contraction_keeps_its_operands
// CHECK-COUNT-2: ted.compute
func.func @contraction_keeps_its_operands(%x: tensor<8x8xf64>, %w: tensor<8x8xf64>, %i: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %e = tensor.empty() : tensor<8x8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %1 = "ted.compute"(%0, %w, %i) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  func.return %1 : tensor<8x8xf64>
}

// -----

// Pure re-indexing folds into the read.
// CHECK-LABEL: func.func @transpose_into_a_contraction
// CHECK: reads = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>]
// CHECK-NOT: ted.compute
func.func @transpose_into_a_contraction(%x: tensor<8x8xf64>, %w: tensor<8x8xf64>, %i: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %e = tensor.empty() : tensor<8x8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d1, d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %1 = "ted.compute"(%0, %w, %i) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  func.return %1 : tensor<8x8xf64>
}

// -----

// Tensor cores take elements of 16 bits and widen them: no tensor of wide ones is made.
// CHECK-LABEL: func.func @widening_into_a_contraction
// CHECK: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16):
// CHECK-DAG: %[[X:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-DAG: %[[Y:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK: arith.mulf %[[X]], %[[Y]] : f32
// CHECK-NOT: ted.compute
// CHECK: return
func.func @widening_into_a_contraction(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>, %i: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: bf16):
    %t = arith.extf %a : bf16 to f32
    "ted.yield"(%t) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "ted.compute"(%0, %w, %i) ({
  ^bb0(%a: f32, %b: bf16):
    %v = arith.extf %b : bf16 to f32
    %p = arith.mulf %a, %v : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x8xbf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}
