// RUN: ted-opt %s --ted-emit-kernels | filecheck %s

// Operations on tensors are somebody else's, and so is all of their function.
// CHECK-LABEL: func.func @operations_on_tensors(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
// CHECK: linalg.exp {{.*}} -> tensor<8xf32>
func.func @operations_on_tensors(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @equations(%{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<8xf32> {llvm.noalias})
// CHECK: linalg.generic
func.func @equations(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%b: f32):
    %t = math.exp %b : f32
    "ted.yield"(%t) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>], guards = [affine_set<(i) : (0 == 0)>],
    write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
