// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-factor-sums)' --split-input-file --mlir-print-local-scope | filecheck %s

// The sum over d2 is the same for all d0: it is taken once.
// CHECK-LABEL: func.func @sum_that_is_the_same_for_all_rows
// CHECK: %[[SUM:.*]] = "ted.compute"
// CHECK: extents = array<i64: 6, 9>, {{.*}} iterators = ["parallel", "reduction"]
// CHECK-SAME: -> tensor<6xf64>
// CHECK: "ted.compute"(%[[SUM]],
// CHECK: combiner = "set", {{.*}} extents = array<i64: 8, 6>
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d1)>]
func.func @sum_that_is_the_same_for_all_rows(%c: tensor<6x9xf64>) -> tensor<8x6xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<8x6xf64>) -> tensor<8x6xf64>
  %k = arith.constant 2.0 : f64
  %0 = "ted.compute"(%c, %f) ({
  ^bb0(%a: f64):
    %t = arith.mulf %k, %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8, 6, 9>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<6x9xf64>, tensor<8x6xf64>) -> tensor<8x6xf64>
  func.return %0 : tensor<8x6xf64>
}

// -----

// Where the rows decide how far the sum goes, it is not the same for all of them.
// CHECK-LABEL: func.func @sum_whose_points_are_those_of_a_triangle_stays
// CHECK-COUNT-1: ted.compute
// CHECK-NOT: ted.compute
func.func @sum_whose_points_are_those_of_a_triangle_stays(%c: tensor<6x9xf64>) -> tensor<8x6xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<8x6xf64>) -> tensor<8x6xf64>
  %0 = "ted.compute"(%c, %f) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 6, 9>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<6x9xf64>, tensor<8x6xf64>) -> tensor<8x6xf64>
  func.return %0 : tensor<8x6xf64>
}

// -----

// Three factors in pairs: 6 * 9 * 8 and 6 * 8 * 7 points, not 6 * 7 * 9 * 8.
// CHECK-LABEL: func.func @three_factors_are_taken_in_pairs
// CHECK-SAME: %[[A:[^:]*]]: tensor<6x9xf64>, %[[B:[^:]*]]: tensor<9x8xf64>, %[[C:[^:]*]]: tensor<8x7xf64>
// CHECK: %[[AB:.*]] = "ted.compute"(%[[A]], %[[B]],
// CHECK: arith.mulf
// CHECK-NEXT: ted.yield
// CHECK: extents = array<i64: 6, 8, 9>
// CHECK: "ted.compute"(%[[AB]], %[[C]],
// CHECK: arith.mulf
// CHECK-NEXT: ted.yield
// CHECK: extents = array<i64: 6, 7, 8>
func.func @three_factors_are_taken_in_pairs(
    %a: tensor<6x9xf64>, %b: tensor<9x8xf64>, %c: tensor<8x7xf64>) -> tensor<6x7xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x7xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<6x7xf64>) -> tensor<6x7xf64>
  %0 = "ted.compute"(%a, %b, %c, %f) ({
  ^bb0(%x: f64, %y: f64, %w: f64):
    %s = arith.mulf %x, %y : f64
    %t = arith.mulf %s, %w : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 6, 7, 9, 8>,
    iterators = ["parallel", "parallel", "reduction", "reduction"],
    domain = affine_set<(d0, d1, d2, d3) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>,
             affine_map<(d0, d1, d2, d3) -> (d3, d1)>],
    guards = [affine_set<(d0, d1, d2, d3) : (0 == 0)>, affine_set<(d0, d1, d2, d3) : (0 == 0)>,
              affine_set<(d0, d1, d2, d3) : (0 == 0)>],
    write = affine_map<(d0, d1, d2, d3) -> (d0, d1)>, combiner = "add"
  } : (tensor<6x9xf64>, tensor<9x8xf64>, tensor<8x7xf64>, tensor<6x7xf64>) -> tensor<6x7xf64>
  func.return %0 : tensor<6x7xf64>
}

// -----

// Two products of matrices in one sum become a chain through the init.
// CHECK-LABEL: func.func @products_that_are_added_become_a_chain
// CHECK: %[[ONE:.*]] = "ted.compute"
// CHECK: arith.mulf
// CHECK-NOT: arith.addf
// CHECK: "ted.compute"({{.*}}, %[[ONE]])
// CHECK: arith.mulf
// CHECK-NOT: arith.addf
func.func @products_that_are_added_become_a_chain(
    %a: tensor<6x9xf64>, %b: tensor<9x7xf64>, %c: tensor<6x9xf64>, %d: tensor<9x7xf64>)
    -> tensor<6x7xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x7xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<6x7xf64>) -> tensor<6x7xf64>
  %0 = "ted.compute"(%a, %b, %c, %d, %f) ({
  ^bb0(%x: f64, %y: f64, %v: f64, %w: f64):
    %s = arith.mulf %x, %y : f64
    %t = arith.mulf %v, %w : f64
    %u = arith.addf %s, %t : f64
    "ted.yield"(%u) : (f64) -> ()
  }) {
    extents = array<i64: 6, 7, 9>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
             affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>,
              affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<6x9xf64>, tensor<9x7xf64>, tensor<6x9xf64>, tensor<9x7xf64>, tensor<6x7xf64>)
    -> tensor<6x7xf64>
  func.return %0 : tensor<6x7xf64>
}

// -----

// What somebody asks for is asked of this equation, which stays.
// CHECK-LABEL: func.func @equation_that_asks_for_something_stays
// CHECK-COUNT-1: ted.compute
// CHECK: ted.form
// CHECK-NOT: ted.compute
func.func @equation_that_asks_for_something_stays(%c: tensor<6x9xf64>) -> tensor<8x6xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<8x6xf64>) -> tensor<8x6xf64>
  %0 = "ted.compute"(%c, %f) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8, 6, 9>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (0 == 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add", ted.form = {name = "points"}
  } : (tensor<6x9xf64>, tensor<8x6xf64>) -> tensor<8x6xf64>
  func.return %0 : tensor<8x6xf64>
}
