// RUN: ted-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(ted-bufferize)'

// Two claims to be the only access to one memory: its first value is copied out too late.
module {
  func.func @copied_out_too_late(%a: memref<4xf32>, %x: memref<4xf32>, %y: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
    %1 = bufferization.to_tensor %x restrict writable : memref<4xf32> to tensor<4xf32>
    %2 = linalg.exp ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
    %3 = tensor.insert %one into %2[%c0] : tensor<4xf32>
    bufferization.materialize_in_destination %3 in restrict writable %x : (tensor<4xf32>, memref<4xf32>) -> ()
    // expected-error @below {{ted-bufferize: the memory of operand 0 of bufferization.materialize_in_destination was written as another value before, by tensor.insert}}
    bufferization.materialize_in_destination %2 in restrict writable %y : (tensor<4xf32>, memref<4xf32>) -> ()
    return
  }
}

// -----

// The same memory under two names: the second write comes before the first one is read.
module {
  func.func @two_names(%a: memref<4xf32>, %x: memref<4xf32>, %y: memref<4xf32>) -> tensor<4xf32> {
    %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
    %1 = bufferization.to_tensor %x restrict writable : memref<4xf32> to tensor<4xf32>
    %2 = bufferization.to_tensor %x restrict writable : memref<4xf32> to tensor<4xf32>
    %3 = bufferization.to_tensor %y restrict writable : memref<4xf32> to tensor<4xf32>
    %4 = linalg.log ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
    %5 = linalg.exp ins(%0 : tensor<4xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{was written as another value before, by linalg.exp}}
    %6 = linalg.add ins(%4, %5 : tensor<4xf32>, tensor<4xf32>) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
    %7 = bufferization.materialize_in_destination %6 in %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %7 : tensor<4xf32>
  }
}

// -----

// Two values that start from one empty tensor would take turns in its memory.
module {
  func.func @one_empty_tensor(%a: memref<4xf32>, %x: memref<4xf32>) -> tensor<4xf32> {
    %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
    %1 = bufferization.to_tensor %x restrict writable : memref<4xf32> to tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %p = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %q = linalg.add ins(%p, %p : tensor<4xf32>, tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
    %r = linalg.log ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{the memory of operand 0 of linalg.add was written as another value before, by linalg.exp}}
    %s = linalg.add ins(%r, %r : tensor<4xf32>, tensor<4xf32>) outs(%q : tensor<4xf32>) -> tensor<4xf32>
    %2 = bufferization.materialize_in_destination %s in %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// expected-error @unknown {{ted-bufferize: results must be in the memory given for them, got memref<4xf32> returned}}
module {
  func.func @returned(%a: memref<4xf32>) -> tensor<4xf32> {
    %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
