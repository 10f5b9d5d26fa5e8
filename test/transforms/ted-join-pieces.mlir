// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-join-pieces)' --split-input-file --mlir-print-local-scope | filecheck %s

// Two pieces that overlap in all but one element each: one store over the tensor, no zeros before.
// CHECK-LABEL: func.func @shifted_pieces
// CHECK-SAME: %[[A:[^:]*]]: tensor<9xf64>, %[[B:[^:]*]]: tensor<9xf64>
// CHECK-NEXT: %[[E:.*]] = tensor.empty
// CHECK-NEXT: "ted.compute"(%[[A]], %[[B]], %[[E]])
// CHECK: %[[M:.*]] = arith.mulf
// CHECK: %[[P:.*]] = arith.select %{{.*}}, %[[M]],
// CHECK: %[[S:.*]] = arith.addf %[[P]],
// CHECK: "ted.yield"(%[[S]])
// CHECK: combiner = "set", {{.*}} extents = array<i64: 10>
// CHECK-SAME: guards = [affine_set<(d0) : (-d0 + 8 >= 0)>, affine_set<(d0) : (d0 - 1 >= 0)>]
// CHECK-SAME: reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0 - 1)>]
// CHECK-SAME: write = affine_map<(d0) -> (d0)>
// CHECK-NOT: ted.compute
func.func @shifted_pieces(%a: tensor<9xf64>, %b: tensor<9xf64>) -> tensor<10xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<10xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<10xf64>) -> tensor<10xf64>
  %k = arith.constant 2.0 : f64
  %0 = "ted.compute"(%a, %f) ({
  ^bb0(%x: f64):
    %t = arith.mulf %k, %x : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 9>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<9xf64>, tensor<10xf64>) -> tensor<10xf64>
  %1 = "ted.compute"(%b, %0) ({
  ^bb0(%x: f64):
    "ted.yield"(%x) : (f64) -> ()
  }) {
    extents = array<i64: 9>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + 1)>, combiner = "add"
  } : (tensor<9xf64>, tensor<10xf64>) -> tensor<10xf64>
  func.return %1 : tensor<10xf64>
}

// -----

// Odd elements only: the pieces are joined over these, the zeros stay.
// CHECK-LABEL: func.func @pieces_of_a_residue_class
// CHECK: linalg.fill
// CHECK: "ted.compute"
// CHECK: combiner = "set", {{.*}} extents = array<i64: 7>
// CHECK-SAME: write = affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK-NOT: ted.compute
func.func @pieces_of_a_residue_class(%a: tensor<6xf64>) -> tensor<15xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<15xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<15xf64>) -> tensor<15xf64>
  %0 = "ted.compute"(%a, %f) ({
  ^bb0(%x: f64):
    "ted.yield"(%x) : (f64) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 * 2 + 1)>, combiner = "add"
  } : (tensor<6xf64>, tensor<15xf64>) -> tensor<15xf64>
  %1 = "ted.compute"(%a, %0) ({
  ^bb0(%x: f64):
    "ted.yield"(%x) : (f64) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 * -2 + 13)>, combiner = "add"
  } : (tensor<6xf64>, tensor<15xf64>) -> tensor<15xf64>
  func.return %1 : tensor<15xf64>
}

// -----

// Pieces side by side have nothing in common: each stays a store of its own.
// CHECK-LABEL: func.func @pieces_side_by_side
// CHECK-COUNT-2: ted.compute
// CHECK-NOT: ted.compute
func.func @pieces_side_by_side(%a: tensor<6xf64>) -> tensor<12xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<12xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<12xf64>) -> tensor<12xf64>
  %0 = "ted.compute"(%a, %f) ({
  ^bb0(%x: f64):
    "ted.yield"(%x) : (f64) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<6xf64>, tensor<12xf64>) -> tensor<12xf64>
  %1 = "ted.compute"(%a, %0) ({
  ^bb0(%x: f64):
    "ted.yield"(%x) : (f64) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + 6)>, combiner = "set"
  } : (tensor<6xf64>, tensor<12xf64>) -> tensor<12xf64>
  func.return %1 : tensor<12xf64>
}
