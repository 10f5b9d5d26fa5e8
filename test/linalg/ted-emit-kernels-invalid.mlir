// RUN: ted-opt %s --split-input-file --verify-diagnostics --ted-emit-kernels

func.func @unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{ted-emit-kernels: results must be tensors of static sizes, got tensor<?xf32> as result 0 of @unknown_size}}
  return %x : tensor<?xf32>
}

// -----

func.func @number(%x: tensor<4xf32>, %n: f32) -> (tensor<4xf32>, f32) {
  // expected-error @below {{ted-emit-kernels: results must be tensors of static sizes, got f32 as result 1 of @number}}
  return %x, %n : tensor<4xf32>, f32
}

// -----

func.func @asking(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{tensor.empty: nothing is decided about tensor.empty here; take the attribute ted.group away, or write another}}
  %e = tensor.empty() {ted.group = {name = "alone"}} : tensor<4xf32>
  return %e : tensor<4xf32>
}
