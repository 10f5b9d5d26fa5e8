// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-specialise-sizes{values=6,4})' --mlir-print-local-scope | filecheck %s

// CHECK-LABEL: func.func @half
// CHECK-SAME: (%{{.*}}: tensor<6x4xf64>) -> tensor<3x4xf64>
// CHECK-NOT: ted.sizes
// CHECK: arith.constant 6
// CHECK: extents = array<i64: 3, 4>
// CHECK-SAME: reads = [affine_map<(d0, d1) -> (d0 + 3, d1)>]
func.func @half(%x: tensor<?x?xf64, affine_map<()[s0, s1] -> (s0, s1)>>)
    -> tensor<?x?xf64, affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>>
    attributes {ted.sizes = [{min = 2 : i64, multiple_of = 2 : i64, name = "n"},
                             {min = 1 : i64, multiple_of = 1 : i64, name = "m"}]} {
  %n = "ted.size"() {value = affine_map<()[s0, s1] -> (s0 floordiv 2)>} : () -> index
  %m = "ted.size"() {value = affine_map<()[s0, s1] -> (s1)>} : () -> index
  %empty = tensor.empty(%n, %m) : tensor<?x?xf64, affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>>
  %0 = "ted.compute"(%x, %empty) ({
  ^bb0(%a: f64):
    %k = "ted.size"() {value = affine_map<()[s0, s1] -> (s0)>} : () -> index
    %i = arith.index_cast %k : index to i64
    %f = arith.sitofp %i : i64 to f64
    %p = arith.mulf %a, %f : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1)[s0, s1] : (0 == 0)>,
    reads = [affine_map<(d0, d1)[s0, s1] -> (d0 + s0 floordiv 2, d1)>],
    guards = [affine_set<(d0, d1)[s0, s1] : (0 == 0)>],
    write = affine_map<(d0, d1)[s0, s1] -> (d0, d1)>, combiner = "set"
  } : (tensor<?x?xf64, affine_map<()[s0, s1] -> (s0, s1)>>, tensor<?x?xf64, affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>>) -> tensor<?x?xf64, affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>>
  func.return %0 : tensor<?x?xf64, affine_map<()[s0, s1] -> (s0 floordiv 2, s1)>>
}
