// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-check-bounds,ted-differentiate,ted-scatter-to-gather,ted-simplify,ted-check-bounds)' --mlir-print-local-scope | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate,ted-scatter-to-gather,ted-simplify,ted-report-gradient{results=1})' | filecheck %s --check-prefix=REPORT

// The states of a network come from one scan and their adjoints from another that runs back; the
// gradients of the weights are contractions over all steps, and stand outside of both.

// CHECK-LABEL: func.func private @network_vjp
// CHECK-SAME: (%[[X:.*]]: tensor<4x2x2xf64>, %[[WX:.*]]: tensor<2x3xf64>, %[[WH:.*]]: tensor<3x3xf64>, %[[DY:.*]]: tensor<4x2x3xf64>)
// CHECK: %[[S:.*]]:2 = "ted.scan"
// CHECK: }) {reverse = false, steps = 4 : i64, times = array<i64: 0, 0>}
// CHECK: %[[D:.*]]:2 = "ted.scan"(
// CHECK: ^bb0(%[[DH0:.*]]: tensor<4x2x3xf64>, %[[DA0:.*]]: tensor<4x2x3xf64>):
// CHECK: %[[DH:.*]] = "ted.compute"(%[[DA0]], %[[WH]], %{{.*}})
// CHECK: reads = [affine_map<(d0, d1, d2, d3) -> (d0 + 1, d1, d3)>,
// CHECK: "ted.compute"(%[[DH]], %[[S]]#1, %[[DA0]]) ({
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[V:.*]]: f64):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[V]], %[[V]] : f64
// CHECK-NEXT: %[[SLOPE:.*]] = arith.subf %[[ONE]], %[[SQUARE]] : f64
// CHECK-NEXT: %[[DA1:.*]] = arith.mulf %[[G]], %[[SLOPE]] : f64
// CHECK-NEXT: "ted.yield"(%[[DA1]])
// CHECK: }) {reverse = true, steps = 4 : i64, times = array<i64: 0, 0>}
// CHECK-NOT: ted.scan
// CHECK: %[[DX:.*]] = "ted.compute"(%[[D]]#1, %[[WX]],
// CHECK: %[[DWX:.*]] = "ted.compute"(%[[D]]#1, %[[X]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[V:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[V]] : f64
// CHECK-NEXT: "ted.yield"(%[[P]])
// CHECK: extents = array<i64: 2, 3, 4, 2>
// CHECK-SAME: iterators = ["parallel", "parallel", "reduction", "reduction"]
// CHECK: %[[DWH:.*]] = "ted.compute"(%[[D]]#1, %[[S]]#1,
// CHECK: extents = array<i64: 3, 3, 3, 2>
// CHECK-SAME: iterators = ["parallel", "parallel", "reduction", "reduction"]
// CHECK: return %[[S]]#1, %[[DX]], %[[DWX]], %[[DWH]]

// REPORT-LABEL: gradient report of @network_vjp
// REPORT-NEXT: a: add, gather, recurrent, disjoint, 96 operations
// REPORT-NEXT: a: add, gather, recurrent, disjoint, 108 operations
// REPORT-NEXT: h: set, gather, recurrent, disjoint, 384 operations
// REPORT-NEXT: dh_1: add, gather, recurrent
// REPORT-NEXT: da: set, gather, recurrent
// REPORT-NEXT: dx: add, gather, disjoint
// REPORT-NEXT: dWx: add, gather, disjoint
// REPORT-NEXT: dWh: add, gather, disjoint
// REPORT-NEXT: 8 equations, 0 scatter
func.func @network(%x: tensor<4x2x2xf64> loc("x"), %Wx: tensor<2x3xf64> loc("Wx"),
                   %Wh: tensor<3x3xf64> loc("Wh")) -> tensor<4x2x3xf64> {
  %e = tensor.empty() : tensor<4x2x3xf64>
  %zero = arith.constant 0.0 : f64
  %z = linalg.fill ins(%zero : f64) outs(%e : tensor<4x2x3xf64>) -> tensor<4x2x3xf64>
  %s:2 = "ted.scan"(%z, %e) ({
  ^bb0(%a0: tensor<4x2x3xf64> loc("a"), %h0: tensor<4x2x3xf64> loc("h")):
    %a1 = "ted.compute"(%x, %Wx, %a0) ({
    ^bb0(%v: f64, %w: f64):
      %p = arith.mulf %v, %w : f64
      "ted.yield"(%p) : (f64) -> ()
    }) {
      extents = array<i64: 4, 2, 3, 2>,
      iterators = ["parallel", "parallel", "parallel", "reduction"],
      domain = affine_set<(d0, d1, d2, d3) : (0 == 0)>,
      reads = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>,
               affine_map<(d0, d1, d2, d3) -> (d3, d2)>],
      guards = [affine_set<(d0, d1, d2, d3) : (0 == 0)>, affine_set<(d0, d1, d2, d3) : (0 == 0)>],
      write = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, combiner = "add"
    } : (tensor<4x2x2xf64>, tensor<2x3xf64>, tensor<4x2x3xf64>) -> tensor<4x2x3xf64> loc("a")
    %a2 = "ted.compute"(%h0, %Wh, %a1) ({
    ^bb0(%v: f64, %w: f64):
      %p = arith.mulf %v, %w : f64
      "ted.yield"(%p) : (f64) -> ()
    }) {
      extents = array<i64: 4, 2, 3, 3>,
      iterators = ["parallel", "parallel", "parallel", "reduction"],
      domain = affine_set<(d0, d1, d2, d3) : (d0 - 1 >= 0)>,
      reads = [affine_map<(d0, d1, d2, d3) -> (d0 - 1, d1, d3)>,
               affine_map<(d0, d1, d2, d3) -> (d3, d2)>],
      guards = [affine_set<(d0, d1, d2, d3) : (0 == 0)>, affine_set<(d0, d1, d2, d3) : (0 == 0)>],
      write = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, combiner = "add"
    } : (tensor<4x2x3xf64>, tensor<3x3xf64>, tensor<4x2x3xf64>) -> tensor<4x2x3xf64> loc("a")
    %h1 = "ted.compute"(%a2, %h0) ({
    ^bb0(%v: f64):
      %t = math.tanh %v : f64
      "ted.yield"(%t) : (f64) -> ()
    }) {
      extents = array<i64: 4, 2, 3>, iterators = ["parallel", "parallel", "parallel"],
      domain = affine_set<(d0, d1, d2) : (0 == 0)>,
      reads = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
      write = affine_map<(d0, d1, d2) -> (d0, d1, d2)>, combiner = "set"
    } : (tensor<4x2x3xf64>, tensor<4x2x3xf64>) -> tensor<4x2x3xf64> loc("h")
    "ted.yield"(%a2, %h1) : (tensor<4x2x3xf64>, tensor<4x2x3xf64>) -> ()
  }) {times = array<i64: 0, 0>, steps = 4 : i64, reverse = false}
    : (tensor<4x2x3xf64>, tensor<4x2x3xf64>) -> (tensor<4x2x3xf64>, tensor<4x2x3xf64>)
  func.return %s#1 : tensor<4x2x3xf64>
}
func.func private @network_vjp(tensor<4x2x2xf64>, tensor<2x3xf64>, tensor<3x3xf64>, tensor<4x2x3xf64>)
    -> (tensor<4x2x3xf64>, tensor<4x2x2xf64>, tensor<2x3xf64>, tensor<3x3xf64>)
    attributes {ted.vjp_of = @network, ted.wrt = array<i64: 0, 1, 2>}
