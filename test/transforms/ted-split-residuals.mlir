// RUN: ted-opt %s --ted-validate --split-input-file --mlir-print-local-scope --pass-pipeline='builtin.module(ted-differentiate,ted-scatter-to-gather,ted-simplify,ted-split-residuals)' | filecheck %s
// RUN: ted-opt %s --split-input-file --mlir-print-local-scope --pass-pipeline='builtin.module(ted-differentiate,ted-scatter-to-gather,ted-simplify,ted-split-residuals{recompute=20})' | filecheck %s --check-prefix=DEAR
// RUN: not ted-opt %s --split-input-file --ted-split-residuals=recompute=-1 2>&1 | filecheck %s --check-prefix=NEGATIVE

// NEGATIVE: error: ted-split-residuals: recompute must not be negative, got -1

// The exponential is a residual; at twenty operations an element it is computed again.
// CHECK-LABEL: func.func private @f_fwd
// CHECK-SAME: (%[[X:.*]]: tensor<8xf64>) -> (tensor<f64>, tensor<8xf64>)
// CHECK: %[[E:.*]] = "ted.compute"(%[[X]]
// CHECK: math.exp
// CHECK: %[[S:.*]] = "ted.compute"(%[[E]]
// CHECK: return %[[S]], %[[E]]
// CHECK-LABEL: func.func private @f_bwd
// CHECK-SAME: (%[[E:.*]]: tensor<8xf64>, %[[DY:.*]]: tensor<f64>) -> tensor<8xf64>
// CHECK-SAME: attributes {ted.inputs = array<i64>, ted.results = array<i64>}
// CHECK-NOT: math.exp
// CHECK-LABEL: func.func private @f_vjp
// CHECK-SAME: (%[[X:.*]]: tensor<8xf64>, %[[DY:.*]]: tensor<f64>)
// CHECK: %[[F:.*]]:2 = call @f_fwd(%[[X]])
// CHECK: %[[B:.*]] = call @f_bwd(%[[F]]#1, %[[DY]])
// CHECK: return %[[F]]#0, %[[B]]

// DEAR-LABEL: func.func private @f_fwd
// DEAR-SAME: (%{{.*}}: tensor<8xf64>) -> tensor<f64>
// DEAR-LABEL: func.func private @f_bwd
// DEAR-SAME: (%{{.*}}: tensor<8xf64>, %{{.*}}: tensor<f64>) -> tensor<8xf64>
// DEAR-SAME: attributes {ted.inputs = array<i64: 0>, ted.results = array<i64>}
// DEAR: math.exp
func.func @f(%x: tensor<8xf64>) -> tensor<f64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %p = math.exp %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %z = arith.constant 0.0 : f64
  %t = tensor.empty() : tensor<f64>
  %i = linalg.fill ins(%z : f64) outs(%t : tensor<f64>) -> tensor<f64>
  %1 = "ted.compute"(%0, %i) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> ()>, combiner = "add"
  } : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
  func.return %1 : tensor<f64>
}
func.func private @f_vjp(tensor<8xf64>, tensor<f64>) -> (tensor<f64>, tensor<8xf64>) attributes {ted.vjp_of = @f}
