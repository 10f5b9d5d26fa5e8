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

// -----

// expected-error @below {{g: ted.custom_vjp takes arguments, results and a cotangent for each float result, and gives a gradient for each float argument, (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>, got @bwd of type (tensor<8xf64>) -> tensor<8xf64>}}
func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> attributes {ted.custom_vjp = @bwd} {
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
func.func private @bwd(tensor<8xf64>) -> tensor<8xf64>

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
// expected-error @below {{bad: the type of this JVP is}}
func.func private @bad(tensor<8xf64>) -> tensor<8xf64> attributes {ted.jvp_of = @g}

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
// expected-error @below {{bad: a request is for one derivative, got ['ted.vjp_of', 'ted.jvp_of']}}
func.func private @bad(tensor<8xf64>) -> tensor<8xf64> attributes {ted.jvp_of = @g, ted.vjp_of = @g}

// -----

func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  return %x : tensor<8xf64>
}
// expected-error @below {{func.func: ted.wrt must be numbers as in `array<i64: 0, 1>`, got array<i32: 0>}}
func.func private @bad(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g, ted.wrt = array<i32: 0>}

// -----

func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  return %x : tensor<8xf64>
}
// expected-error @below {{func.func: ted.vjp_of must name a function, got "g"}}
func.func private @bad(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = "g"}

// -----

func.func @g(%x: tensor<8xf64>, %e: tensor<8xf64>) -> tensor<8xf64> {
  // expected-error @below {{got linalg.exp; ted-raise-linalg, which comes before this pass, makes equations of it}}
  %0 = linalg.exp ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}
func.func private @foreign(tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g, ted.wrt = array<i64: 0>}
