// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate)' --split-input-file --verify-diagnostics

func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
// expected-error @below {{bad: ted.vjp_of must name a function with a body, got @missing}}
func.func private @bad(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @missing, ted.wrt = array<i64: 0>}

// -----

func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
// expected-error @below {{bad: ted.wrt must be arguments in [0, 1), got [3]}}
func.func private @bad(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g, ted.wrt = array<i64: 3>}

// -----

func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %t = math.tanh %a : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
// expected-error @below {{bad: the type of this VJP is}}
func.func private @bad(tensor<8xf64>) -> tensor<8xf64> attributes {ted.vjp_of = @g, ted.wrt = array<i64: 0>}
