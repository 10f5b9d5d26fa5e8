// RUN: ted-opt %s --ted-choose-forms | filecheck %s
// RUN: ted-opt %s --convert-ted-to-linalg | filecheck %s --check-prefix=LINALG

// What an equation becomes; an attribute that is there before stays, and is obeyed.
// (test/unit/linalg/test_forms.py asks for the reasons of the others, and for the numbers.)

#all1 = affine_set<(i) : (0 == 0)>
#all3 = affine_set<(i, j, k) : (0 == 0)>
#id = affine_map<(i) -> (i)>
#shifted = affine_map<(i) -> (i - 2)>
#inside = affine_set<(i) : (i - 2 >= 0)>
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>

// A sum of products of two reads with dims of their own.
// CHECK-LABEL: func.func @product
// CHECK: ted.form = {boxes = 1 : i64, name = "contraction"}
// LINALG-LABEL: func.func @product
// LINALG: linalg.matmul
func.func @product(%a: tensor<5x7xf64>, %b: tensor<7x6xf64>, %z: tensor<5x6xf64>) -> tensor<5x6xf64> {
  %y = "ted.compute"(%a, %b, %z) ({
  ^bb0(%u: f64, %v: f64):
    %t = arith.mulf %u, %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 5, 6, 7>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik, #kj], guards = [#all3, #all3], write = #ij, combiner = "add"
  } : (tensor<5x7xf64>, tensor<7x6xf64>, tensor<5x6xf64>) -> tensor<5x6xf64>
  return %y : tensor<5x6xf64>
}

// A condition that is decided on parts.
// CHECK-LABEL: func.func @edge
// CHECK: ted.form = {most = 24 : i64, name = "parts"}
// LINALG-LABEL: func.func @edge
// LINALG: linalg.generic
// LINALG: linalg.generic
func.func @edge(%x: tensor<9xf64>, %e: tensor<9xf64>) -> tensor<9xf64> {
  %y = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    %t = math.absf %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 9>, iterators = ["parallel"], domain = #all1, reads = [#shifted],
    guards = [#inside], write = #id, combiner = "set"
  } : (tensor<9xf64>, tensor<9xf64>) -> tensor<9xf64>
  return %y : tensor<9xf64>
}

// The same, tested at each point.
// CHECK-LABEL: func.func @points
// CHECK: ted.form = {name = "points"}
// LINALG-LABEL: func.func @points
// LINALG: scf.for
// LINALG: scf.if
func.func @points(%x: tensor<9xf64>, %e: tensor<9xf64>) -> tensor<9xf64> {
  %y = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    %t = math.absf %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 9>, iterators = ["parallel"], domain = #all1, reads = [#shifted],
    guards = [#inside], write = #id, combiner = "set", ted.form = {name = "points"}
  } : (tensor<9xf64>, tensor<9xf64>) -> tensor<9xf64>
  return %y : tensor<9xf64>
}
