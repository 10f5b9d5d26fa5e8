// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-check-sizes)' --split-input-file --verify-diagnostics

// expected-error@unknown {{compile: a tensor has fewer than 2**47 bytes, got an intermediate tensor of shape 4294967296x4294967296, 73786976294838206464 bytes}}
func.func @overflow() {
  %e = tensor.empty() : tensor<4294967296x4294967296xf32>
  return
}

// -----

// A tensor without elements has no bytes, however long its other dims are.
func.func @nothing(%a: tensor<0x4294967296xf32>) {
  return
}
