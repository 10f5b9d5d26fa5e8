// A call that inlining leaves is refused before the functions change their types.
// RUN: not ted-opt %s --ted-cpu-pipeline 2>&1 | filecheck %s
// RUN: not ted-opt %s --ted-cuda-pipeline 2>&1 | filecheck %s

// CHECK: calls-that-stay.mlir:[[# @LINE + 2]]:8: error: ted-lower-tensors: functions of tensors must be inlined, which those that call themselves or have no body cannot be, got a call of @itself
func.func @itself(%A: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @itself(%A) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
