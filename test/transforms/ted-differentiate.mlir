// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate)' --split-input-file --mlir-print-local-scope | filecheck %s

// Each read of the primal becomes a scatter that writes where it read; the forward result comes along.
// CHECK-LABEL: func.func private @f_vjp
// CHECK-SAME: (%[[A:.*]]: tensor<7xf64>, %[[W:.*]]: tensor<3xf64>, %{{.*}}: tensor<3xf64>, %[[DC:.*]]: tensor<3xf64>)
// CHECK: %[[C:.*]] = "ted.compute"(%[[A]], %[[W]]
// CHECK: %[[DA:.*]] = "ted.compute"(%[[DC]], %[[W]]
// CHECK: iterators = ["reduction", "reduction"],
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0 * 2 + d1)>
// CHECK: %[[DW:.*]] = "ted.compute"(%[[DC]], %[[A]]
// CHECK: write = affine_map<(d0, d1) -> (d1)>
// CHECK: return %[[C]], %[[DA]], %[[DW]]
func.func @f(%A: tensor<7xf64>, %W: tensor<3xf64>, %init: tensor<3xf64>) -> tensor<3xf64> {
  %C = "ted.compute"(%A, %W, %init) ({
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 3, 3>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0 * 2 + d1)>, affine_map<(d0, d1) -> (d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<7xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %C : tensor<3xf64>
}
func.func private @f_vjp(tensor<7xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<7xf64>, tensor<3xf64>) attributes {ted.vjp_of = @f, ted.wrt = array<i64: 0, 1>}

// -----

// A request of a request: the second derivative of a square is a number times the cotangents.
// CHECK-LABEL: func.func private @g_vjp_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[DY:.*]]: tensor<8xf64>, %[[HY:.*]]: tensor<8xf64>, %[[HX:.*]]: tensor<8xf64>)
// CHECK-COUNT-3: ted.compute
// CHECK: return
// CHECK-LABEL: func.func private @g_vjp(
// CHECK: ted.compute
func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @g_vjp_vjp(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g_vjp, ted.wrt = array<i64: 0>}
func.func private @g_vjp(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g, ted.wrt = array<i64: 0>}
