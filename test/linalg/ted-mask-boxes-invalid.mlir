// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-mask-boxes{asked=true})' --split-input-file --verify-diagnostics

func.func @not_possible(%a: tensor<8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{masks are for a good part of a box that is in all tensors}}
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0 - d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max", ted.form = {name = "masked"}
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
