// RUN: ted-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(ted-lower-tensors)'

// expected-error @+1 {{ted-lower-tensors: results take over arguments of functions of equations, got @taken}}
func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{results must be tensors of static sizes, got tensor<?xf32> as result 0 of @unknown}}
  return %x : tensor<?xf32>
}

// -----

func.func @swapped(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %r:2 = scf.for %i = %zero to %three step %one iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    // expected-error @+1 {{Yield operand #0 is not equivalent}}
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
