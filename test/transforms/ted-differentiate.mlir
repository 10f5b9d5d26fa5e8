// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate)' --split-input-file --mlir-print-local-scope | filecheck %s

// Each read of the primal becomes a scatter that writes where it read; the forward result comes along.
// CHECK-LABEL: func.func private @f_vjp
// CHECK-SAME: (%[[A:.*]]: tensor<7xf64>, %[[W:.*]]: tensor<3xf64>, %{{.*}}: tensor<3xf64>, %[[DC:.*]]: tensor<3xf64>)
// CHECK: %[[C:.*]] = "ted.compute"(%[[A]], %[[W]]
// CHECK: %[[DA:.*]] = "ted.compute"(%[[DC]], %[[W]]
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[B]] : f64
// CHECK-NEXT: "ted.yield"(%[[P]])
// CHECK-NEXT: iterators = ["reduction", "reduction"],
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0 * 2 + d1)>
// CHECK: %[[DW:.*]] = "ted.compute"(%[[DC]], %[[A]]
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[G]], %[[B]] : f64
// CHECK-NEXT: "ted.yield"(%[[P]])
// CHECK-NEXT: write = affine_map<(d0, d1) -> (d1)>
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
// CHECK: "ted.compute"(%[[X]], %{{.*}}) ({
// CHECK: "ted.compute"(%[[DY]], %[[X]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]], %[[P]] : f64
// CHECK-NEXT: "ted.yield"(%[[S]])
// CHECK: %[[FROM_DX:.*]] = "ted.compute"(%[[HX]], %[[DY]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[A]] : f64
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %[[B]] : f64
// CHECK-NEXT: "ted.yield"(%[[P]])
// CHECK: "ted.compute"(%[[HY]], %[[X]], %[[FROM_DX]]) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]], %[[P]] : f64
// CHECK-NEXT: "ted.yield"(%[[S]])
// CHECK: return
// CHECK-LABEL: func.func private @g_vjp(
// CHECK: "ted.compute"(%[[DX:.*]], %[[X:.*]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[P]], %[[P]] : f64
// CHECK-NEXT: "ted.yield"(%[[S]])
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

// -----

// A choice: the condition is around the slope of the root, which is infinite elsewhere; each side
// gets the cotangent where it was taken.
// CHECK-LABEL: func.func private @h_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<8xf64>, %[[Y:.*]]: tensor<8xf64>, %[[DS:.*]]: tensor<8xf64>)
// CHECK: %[[S:.*]] = "ted.compute"(%[[X]], %[[Y]], %{{.*}}) ({
// CHECK: "ted.compute"(%[[X]], %[[Y]], %[[DS]], %[[S]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64, %[[G:.*]]: f64, %[[ROOT:.*]]: f64):
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf olt, %[[ZERO]], %[[A]] : f64
// CHECK: %[[ELSE:.*]] = arith.xori %[[ABOVE]], %{{.*}} : i1
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpf ole, %[[B]], %[[A]] : f64
// CHECK-NEXT: %[[TAKEN:.*]] = arith.andi %[[ELSE]], %[[FIRST]] : i1
// CHECK-NEXT: %[[MOST:.*]] = arith.select %[[TAKEN]], %[[G]], %[[ZERO]] : f64
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT: %[[SLOPE:.*]] = arith.divf %[[HALF]], %[[ROOT]] : f64
// CHECK-NEXT: %[[PART:.*]] = arith.mulf %[[G]], %[[SLOPE]] : f64
// CHECK-NEXT: %[[GUARDED:.*]] = arith.select %[[ABOVE]], %[[PART]], %[[ZERO]] : f64
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[MOST]], %[[GUARDED]] : f64
// CHECK-NEXT: "ted.yield"(%[[BOTH]])
// CHECK: "ted.compute"(%[[X]], %[[Y]], %[[DS]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[B:.*]]: f64, %[[G:.*]]: f64):
// CHECK: %[[ABOVE:.*]] = arith.cmpf olt, %{{.*}}, %[[A]] : f64
// CHECK: %[[ELSE:.*]] = arith.xori %[[ABOVE]], %{{.*}} : i1
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpf ole, %[[B]], %[[A]] : f64
// CHECK: %[[SECOND:.*]] = arith.xori %[[FIRST]], %{{.*}} : i1
// CHECK-NEXT: %[[TAKEN:.*]] = arith.andi %[[ELSE]], %[[SECOND]] : i1
// CHECK-NEXT: %[[MOST:.*]] = arith.select %[[TAKEN]], %[[G]], %{{.*}} : f64
// CHECK-NEXT: "ted.yield"(%[[MOST]])
func.func @h(%x: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %y, %e) ({
  ^bb0(%a: f64, %b: f64):
    %zero = arith.constant 0.0 : f64
    %c = arith.cmpf olt, %zero, %a : f64
    %r = math.sqrt %a : f64
    %m = arith.maximumf %a, %b : f64
    %s = arith.select %c, %r, %m : f64
    "ted.yield"(%s) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @h_vjp(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @h}

// -----

// The greatest of a row, and a part of the result that is stored over: the index of the maximum
// decides, and no cotangent reaches what was overwritten.
// CHECK-LABEL: func.func private @k_vjp(
// CHECK-SAME: %[[X:.*]]: tensor<4x5xf64>, %[[Y:.*]]: tensor<2xf64>, %{{.*}}: tensor<4xf64>, %[[DK:.*]]: tensor<4xf64>)
// CHECK: combiner = "argmax", domain = affine_set<(d0, d1) : (d0 - 3 == 0)>
// CHECK: %[[ARG:.*]]:2 = "ted.compute"(%[[X]]
// CHECK: combiner = "argmax", domain = affine_set<(d0, d1) : (d0 == 0)>
// CHECK: %[[LAST:.*]] = "ted.compute"(%[[ARG]]#1, %[[DK]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[N:.*]]: i64, %[[G:.*]]: f64):
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT: %[[D1:.*]] = "ted.index"() {dim = 1 : i64}
// CHECK-NEXT: %[[TAKEN:.*]] = arith.cmpi eq, %[[AT]], %[[D1]] : index
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[PART:.*]] = arith.select %[[TAKEN]], %[[G]], %[[ZERO]] : f64
// CHECK-NEXT: "ted.yield"(%[[PART]])
// CHECK-NEXT: combiner = "add", domain = affine_set<(d0, d1) : (d0 - 3 == 0)>
// CHECK: %[[DX:.*]] = "ted.compute"(%[[ARG]]#1, %[[DK]], %[[LAST]]) ({
// CHECK: combiner = "add", domain = affine_set<(d0, d1) : (d0 == 0)>
// CHECK: %[[DY:.*]] = "ted.compute"(%[[DK]], %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[G:.*]]: f64):
// CHECK-NEXT: "ted.yield"(%[[G]])
// CHECK-NEXT: reads = [affine_map<(d0) -> (d0 + 1)>]
// CHECK: return %{{.*}}, %[[DX]], %[[DY]]
func.func @k(%x: tensor<4x5xf64>, %y: tensor<2xf64>, %init: tensor<4xf64>) -> tensor<4xf64> {
  %cst = arith.constant 0xFFF0000000000000 : f64
  %f = linalg.fill ins(%cst : f64) outs(%init : tensor<4xf64>) -> tensor<4xf64>
  %0 = "ted.compute"(%x, %f) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 4, 5>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max"
  } : (tensor<4x5xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = "ted.compute"(%y, %0) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 2>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + 1)>, combiner = "set"
  } : (tensor<2xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %1 : tensor<4xf64>
}
func.func private @k_vjp(tensor<4x5xf64>, tensor<2xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4x5xf64>, tensor<2xf64>) attributes {ted.vjp_of = @k, ted.wrt = array<i64: 0, 1>}

// -----

// A power moves with its base where the exponent is not 0, and with its exponent where the base is positive.
// CHECK-LABEL: func.func private @power_vjp
// CHECK-SAME: (%[[X:.*]]: tensor<8xf64>, %[[Y:.*]]: tensor<8xf64>, %[[DP:.*]]: tensor<8xf64>)
// CHECK: %[[P:.*]] = "ted.compute"(%[[X]], %[[Y]],
// CHECK: "ted.compute"(%[[Y]], %[[DP]], %[[X]],
// CHECK-NEXT: ^bb0(%[[B:.*]]: f64, %[[G:.*]]: f64, %[[A:.*]]: f64):
// CHECK: %[[MOVES:.*]] = arith.cmpf une, %[[B]], %[[ZERO:.*]] : f64
// CHECK: %[[LESS:.*]] = arith.subf %[[B]], %{{.*}} : f64
// CHECK-NEXT: %[[POWER:.*]] = math.powf %[[A]], %[[LESS]] : f64
// CHECK-NEXT: %[[SLOPE:.*]] = arith.mulf %[[B]], %[[POWER]] : f64
// CHECK-NEXT: %[[ALL:.*]] = arith.mulf %[[G]], %[[SLOPE]] : f64
// CHECK-NEXT: arith.select %[[MOVES]], %[[ALL]], %[[ZERO]] : f64
// CHECK: "ted.compute"(%[[X]], %[[DP]], %[[P]],
// CHECK-NEXT: ^bb0(%[[A:.*]]: f64, %[[G:.*]]: f64, %[[POWER:.*]]: f64):
// CHECK: %[[MOVES:.*]] = arith.cmpf olt, %[[ZERO:.*]], %[[A]] : f64
// CHECK-NEXT: %[[LOG:.*]] = math.log %[[A]] : f64
// CHECK-NEXT: %[[SLOPE:.*]] = arith.mulf %[[POWER]], %[[LOG]] : f64
// CHECK-NEXT: %[[ALL:.*]] = arith.mulf %[[G]], %[[SLOPE]] : f64
// CHECK-NEXT: arith.select %[[MOVES]], %[[ALL]], %[[ZERO]] : f64
func.func @power(%x: tensor<8xf64>, %y: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %y, %e) ({
  ^bb0(%a: f64, %b: f64):
    %p = math.powf %a, %b : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @power_vjp(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @power, ted.wrt = array<i64: 0, 1>}

// -----

// Rows of zeros above the input: the gradient of the other factor sums over the rows below alone.
// CHECK-LABEL: func.func private @padded_vjp
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2) : (d0 - 6 >= 0)>
// CHECK-SAME: write = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @padded(%x: tensor<6x4xf64>, %w: tensor<4x5xf64>) -> tensor<12x5xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<12x4xf64>
  %zeros = linalg.fill ins(%zero : f64) outs(%e : tensor<12x4xf64>) -> tensor<12x4xf64>
  %p = "ted.compute"(%x, %zeros) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 6, 4>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 + 6, d1)>, combiner = "set"
  } : (tensor<6x4xf64>, tensor<12x4xf64>) -> tensor<12x4xf64>
  %f = tensor.empty() : tensor<12x5xf64>
  %start = linalg.fill ins(%zero : f64) outs(%f : tensor<12x5xf64>) -> tensor<12x5xf64>
  %y = "ted.compute"(%p, %w, %start) ({
  ^bb0(%a: f64, %b: f64):
    %m = arith.mulf %a, %b : f64
    "ted.yield"(%m) : (f64) -> ()
  }) {
    extents = array<i64: 12, 5, 4>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<12x4xf64>, tensor<4x5xf64>, tensor<12x5xf64>) -> tensor<12x5xf64>
  func.return %y : tensor<12x5xf64>
}
func.func private @padded_vjp(tensor<6x4xf64>, tensor<4x5xf64>, tensor<12x5xf64>) -> (tensor<12x5xf64>, tensor<6x4xf64>, tensor<4x5xf64>) attributes {ted.vjp_of = @padded, ted.wrt = array<i64: 0, 1>}
