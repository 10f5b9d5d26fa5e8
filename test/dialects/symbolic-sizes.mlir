// RUN: ted-opt %s --mlir-print-local-scope | filecheck %s

// Sizes are the first symbols of maps, sets and types; what is data comes after them.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, %[[AT:.*]]: tensor<?xi64, affine_map<()[s0] -> (s0 + 1)>>)
// CHECK-SAME: ted.sizes = [{min = 2 : i64, multiple_of = 1 : i64, name = "n"}]
// CHECK: %[[N:.*]] = "ted.size"() {value = affine_map<()[s0] -> (s0)>} : () -> index
// CHECK: tensor.empty(%[[N]]) : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
// CHECK: extents = affine_map<()[s0] -> (s0 + 1, 4)>
// CHECK-SAME: write = affine_map<(d0, d1)[s0, s1] -> (s1, d1)>
func.func @rows(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>,
                %at: tensor<?xi64, affine_map<()[s0] -> (s0 + 1)>>)
    -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
    attributes {ted.sizes = [{min = 2 : i64, multiple_of = 1 : i64, name = "n"}]} {
  %zero = arith.constant 0.0 : f32
  %n = "ted.size"() {value = affine_map<()[s0] -> (s0)>} : () -> index
  %empty = tensor.empty(%n) : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %0 = "ted.compute"(%x, %at, %start) ({
  ^bb0(%a: f32, %k: i64):
    %i = arith.index_cast %k : i64 to index
    "ted.yield"(%a, %i) : (f32, index) -> ()
  }) {
    extents = affine_map<()[s0] -> (s0 + 1, 4)>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1)[s0] : (0 == 0)>,
    reads = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>],
    guards = [affine_set<(d0, d1)[s0] : (s0 - d0 - 1 >= 0)>, affine_set<(d0, d1)[s0] : (0 == 0)>],
    write = affine_map<(d0, d1)[s0, s1] -> (s1, d1)>, combiner = "add"
  } : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<?xi64, affine_map<()[s0] -> (s0 + 1)>>, tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  func.return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
