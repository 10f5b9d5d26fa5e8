// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-inline-pointwise)' --split-input-file --mlir-print-local-scope | filecheck %s

// The root is taken under the condition that makes it defined.
// CHECK-LABEL: func.func @guarded_producer
// CHECK: ted.compute
// CHECK-NOT: ted.compute
// CHECK: %[[P:.*]] = arith.cmpf olt
// CHECK: %[[R:.*]] = math.sqrt
// CHECK: arith.select %[[P]], %[[R]]
func.func @guarded_producer(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.sqrt %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%x, %0, %e) ({
  ^bb0(%a: f64, %b: f64):
    %c0 = arith.constant 0.0 : f64
    %p = arith.cmpf olt, %c0, %a : f64
    %s = arith.select %p, %b, %c0 : f64
    "ted.yield"(%s) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %1 : tensor<8xf64>
}

// -----

// Without a condition there is nothing to protect.
// CHECK-LABEL: func.func @unguarded_producer_stays
// CHECK-COUNT-2: ted.compute
func.func @unguarded_producer_stays(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.sqrt %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %1 = "ted.compute"(%x, %0, %e) ({
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
  func.return %1 : tensor<8xf64>
}
