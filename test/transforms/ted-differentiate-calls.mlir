// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate,ted-scatter-to-gather,ted-simplify)' --split-input-file --mlir-print-local-scope | filecheck %s

// A call is expanded, and differentiated like the rest.
// CHECK-LABEL: func.func @f(
// CHECK: call @plain
// CHECK-LABEL: func.func private @plain_call(
// CHECK: %[[T:.*]] = "ted.compute"(
// CHECK: math.tanh
// CHECK-NOT: math
// CHECK: "ted.compute"(%{{.*}}, %[[T]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[V:.*]]: f64):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[V]], %[[V]] : f64
// CHECK-NEXT: %[[SLOPE:.*]] = arith.subf %[[ONE]], %[[SQUARE]] : f64
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[G]], %[[SLOPE]] : f64
// CHECK-NEXT: "ted.yield"(%[[D]])
// CHECK: return
func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
  %s = func.call @plain(%x) : (tensor<8xf64>) -> tensor<8xf64>
  func.return %s : tensor<8xf64>
}
func.func private @plain(%x: tensor<8xf64>) -> tensor<8xf64> {
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
  func.return %0 : tensor<8xf64>
}
func.func private @plain_call(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @f}

// -----

// A function with a derivative of the user's: the gradient is @bwd of argument, result, cotangent.
// CHECK-LABEL: func.func private @custom_call(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[DY:.*]]: tensor<8xf64>)
// CHECK: %[[Y:.*]] = "ted.compute"(%[[X]]
// CHECK: math.tanh
// CHECK: "ted.compute"(%[[X]], %[[Y]], %[[DY]]
// CHECK: arith.maximumf
// CHECK-NOT: arith.subf
// CHECK: return
func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
  %s = func.call @g(%x) : (tensor<8xf64>) -> tensor<8xf64>
  func.return %s : tensor<8xf64>
}
func.func private @g(%x: tensor<8xf64>) -> tensor<8xf64> attributes {ted.custom_vjp = @bwd} {
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
  func.return %0 : tensor<8xf64>
}
func.func private @bwd(%x: tensor<8xf64>, %y: tensor<8xf64>, %dy: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %y, %dy, %e) ({
  ^bb0(%a: f64, %b: f64, %d: f64):
    %m = arith.maximumf %a, %b : f64
    %t = arith.mulf %m, %d : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @custom_call(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @f}

// -----

// A checkpointed function: the value that its derivative needs is computed a second time.
// CHECK-LABEL: func.func private @checkpointed_call(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[DY:.*]]: tensor<8xf64>)
// CHECK: %[[Y:.*]] = "ted.compute"(%[[X]]
// CHECK: math.exp
// CHECK: %[[AGAIN:.*]] = "ted.compute"(%[[X]]
// CHECK: math.exp
// CHECK: ted.recomputed
// CHECK: "ted.compute"(%[[DY]], %[[AGAIN]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[V:.*]]: f64):
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[G]], %[[V]] : f64
// CHECK-NEXT: "ted.yield"(%[[D]])
// CHECK: return
func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
  %s = func.call @g(%x) : (tensor<8xf64>) -> tensor<8xf64>
  func.return %s : tensor<8xf64>
}
func.func private @g(%x: tensor<8xf64>) -> tensor<8xf64> attributes {ted.checkpoint} {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.exp %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @checkpointed_call(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @f}

// -----

// Tangents: of the exponential, the result times the tangent of the argument.
// CHECK-LABEL: func.func private @pushed(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[V:.*]]: tensor<8xf64>)
// CHECK: %[[Y:.*]] = "ted.compute"(%[[X]]
// CHECK: math.exp
// CHECK: %[[T:.*]] = "ted.compute"(%[[V]], %[[Y]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT: "ted.yield"(%[[P]])
// CHECK: return %[[Y]], %[[T]]
// A VJP of the JVP: the cotangents of both results give those of argument and tangent.
// CHECK-LABEL: func.func private @vjp_of_jvp(
// CHECK-NOT: scatter
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>
// And the other way round.
// CHECK-LABEL: func.func private @jvp_of_vjp(
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>
func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.exp %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @pushed(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.jvp_of = @f}
func.func private @vjp_of_jvp(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @pushed}
func.func private @jvp_of_vjp(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) attributes {ted.jvp_of = @f_vjp}
func.func private @f_vjp(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @f}
