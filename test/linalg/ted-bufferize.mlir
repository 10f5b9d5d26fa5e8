// RUN: ted-opt %s --pass-pipeline='builtin.module(cse,ted-bufferize)' | filecheck %s

// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[A:.*]]: memref<4xf32>, %[[OUT:.*]]: memref<4xf32>) {
// CHECK-NEXT: linalg.exp ins(%[[A]] : memref<4xf32>) outs(%[[OUT]] : memref<4xf32>)
// CHECK-NEXT: return
func.func @in_place(%a: memref<4xf32>, %out: memref<4xf32>) -> tensor<4xf32> {
  %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
  %1 = bufferization.to_tensor %out restrict writable : memref<4xf32> to tensor<4xf32>
  %2 = linalg.exp ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %3 = bufferization.materialize_in_destination %2 in %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}


// A value that is read after it was changed in place is kept: the change happens in a copy.
// CHECK-LABEL: func.func @old_value_is_read_later
// CHECK: linalg.exp ins(%{{.*}}) outs(%[[OLD:.*]] : memref<4xf32>)
// CHECK: memref.copy %[[OLD]], %[[NEW:.*]] : memref<4xf32> to memref<4xf32>
// CHECK: memref.store %{{.*}}, %[[NEW]]
// CHECK: linalg.add ins(%[[NEW]], %[[OLD]] : memref<4xf32>, memref<4xf32>)
func.func @old_value_is_read_later(%a: memref<4xf32>, %out: memref<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
  %1 = bufferization.to_tensor %out restrict writable : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %2 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %3 = tensor.insert %one into %2[%c0] : tensor<4xf32>
  %4 = linalg.add ins(%3, %2 : tensor<4xf32>, tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %5 = bufferization.materialize_in_destination %4 in %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// Numbers keep the starts of two values apart in the eyes of CSE: each value has memory of its own.
// CHECK-LABEL: func.func @numbered_empty_tensors
// CHECK: linalg.exp ins(%arg0 : memref<4xf32>) outs(%[[P:.*]] : memref<4xf32>)
// CHECK: linalg.add ins(%[[P]], %[[P]] : memref<4xf32>, memref<4xf32>) outs(%arg1 : memref<4xf32>)
// CHECK: linalg.log ins(%arg0 : memref<4xf32>) outs(%[[Q:.*]] : memref<4xf32>)
// CHECK: linalg.add ins(%[[Q]], %[[Q]] : memref<4xf32>, memref<4xf32>) outs(%arg2 : memref<4xf32>)
func.func @numbered_empty_tensors(%a: memref<4xf32>, %x: memref<4xf32>, %y: memref<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
  %1 = bufferization.to_tensor %x restrict writable : memref<4xf32> to tensor<4xf32>
  %2 = bufferization.to_tensor %y restrict writable : memref<4xf32> to tensor<4xf32>
  %d = tensor.empty() {ted.buffer = 0 : i64} : tensor<4xf32>
  %e = tensor.empty() {ted.buffer = 1 : i64} : tensor<4xf32>
  %p = linalg.exp ins(%0 : tensor<4xf32>) outs(%d : tensor<4xf32>) -> tensor<4xf32>
  %pp = linalg.add ins(%p, %p : tensor<4xf32>, tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %q = linalg.log ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %qq = linalg.add ins(%q, %q : tensor<4xf32>, tensor<4xf32>) outs(%2 : tensor<4xf32>) -> tensor<4xf32>
  %3 = bufferization.materialize_in_destination %pp in %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = bufferization.materialize_in_destination %qq in %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}
