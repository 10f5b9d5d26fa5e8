// What a pass says although nothing is wrong is a remark, at the user's line.
// RUN: ted-opt %s --ted-scatter-to-gather --verify-diagnostics
// RUN: ted-opt %s --ted-scatter-to-gather 2>&1 >%t.ignored | filecheck %s

// CHECK: remarks.mlir:[[# @LINE + 4]]:8: remark: ted-scatter-to-gather: a scatter stays
func.func @histogram(%v: tensor<4xf32>, %at: tensor<4xi64>, %init: tensor<9xf32>)
    -> tensor<9xf32> {
  // expected-remark@+1 {{ted-scatter-to-gather: a scatter stays}}
  %0 = "ted.compute"(%v, %at, %init) ({
  ^bb0(%x: f32, %n: i64):
    %i = arith.index_cast %n : i64 to index
    "ted.yield"(%x, %i) : (f32, index) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>, combiner = "add"
  } : (tensor<4xf32>, tensor<4xi64>, tensor<9xf32>) -> tensor<9xf32>
  func.return %0 : tensor<9xf32>
}
