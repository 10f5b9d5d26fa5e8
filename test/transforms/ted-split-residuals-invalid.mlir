// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-split-residuals)' --verify-diagnostics --split-input-file

func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
  func.return %x : tensor<8xf64>
}
func.func private @f_fwd(tensor<8xf64>) -> tensor<8xf64>
// expected-error@+1 {{ted-split-residuals: the symbol @f_fwd must be free, got another function}}
func.func private @f_vjp(%x: tensor<8xf64>, %dy: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @f} {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%dy, %e) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %x, %0 : tensor<8xf64>, tensor<8xf64>
}

// -----

// expected-error@+1 {{ted.vjp_of: must name a function, got @missing}}
func.func private @g_vjp(%x: tensor<8xf64>, %dy: tensor<8xf64>) -> tensor<8xf64> attributes {ted.vjp_of = @missing} {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%dy, %e) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
