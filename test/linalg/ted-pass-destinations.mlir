// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-pass-destinations)' | filecheck %s

// CHECK-LABEL: func.func @two_results
// CHECK-SAME: (%[[A:.*]]: memref<4xf32> {llvm.noalias}, %[[X:.*]]: memref<4xf32> {llvm.noalias}, %[[Y:.*]]: memref<4xf32> {llvm.noalias})
// CHECK-DAG: %[[XT:.*]] = bufferization.to_tensor %[[X]] restrict writable
// CHECK-DAG: %[[YT:.*]] = bufferization.to_tensor %[[Y]] restrict writable
// CHECK: %[[EXP:.*]] = linalg.exp ins(%{{.*}}) outs(%[[XT]] : tensor<4xf32>)
// CHECK: %[[LOG:.*]] = linalg.log ins(%{{.*}}) outs(%[[YT]] : tensor<4xf32>)
// CHECK: %[[RX:.*]] = bufferization.materialize_in_destination %[[EXP]] in %[[XT]]
// CHECK: %[[RY:.*]] = bufferization.materialize_in_destination %[[LOG]] in %[[YT]]
// CHECK: return %[[RX]], %[[RY]]
func.func @two_results(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xf32>
  %y = linalg.log ins(%x : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// The chain of a result is followed through slices and fills.
// CHECK-LABEL: func.func @strided_part
// CHECK: %[[OUT:.*]] = bufferization.to_tensor %{{.*}} restrict writable
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : tensor<8xf32>)
func.func @strided_part(%a: tensor<4xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = tensor.insert_slice %a into %f[1] [4] [2] : tensor<4xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}

// An empty tensor has no memory, a unit dim no place in a type.
// CHECK-LABEL: func.func @odd_shapes
// CHECK-SAME: (%{{.*}}: memref<f32> {llvm.noalias}, %{{.*}}: memref<3xf32> {llvm.noalias}, %{{.*}}: memref<3xf32> {llvm.noalias})
func.func @odd_shapes(%none: tensor<0x4xf32>, %a: tensor<3x1xf32>) -> tensor<3x1xf32> {
  return %a : tensor<3x1xf32>
}

// A chain that continues another result starts from a copy of it: in either order, each result is
// computed in its own memory.
// CHECK-LABEL: func.func @result_of_a_result
// CHECK-DAG: %[[XT:.*]] = bufferization.to_tensor %arg1 restrict writable
// CHECK-DAG: %[[YT:.*]] = bufferization.to_tensor %arg2 restrict writable
// CHECK: %[[EXP:.*]] = linalg.exp ins(%{{.*}}) outs(%[[YT]] : tensor<4xf32>)
// CHECK: %[[COPY:.*]] = bufferization.materialize_in_destination %[[EXP]] in %[[XT]]
// CHECK: %[[MORE:.*]] = tensor.insert %{{.*}} into %[[COPY]]
// CHECK: bufferization.materialize_in_destination %[[MORE]] in %[[XT]]
// CHECK: bufferization.materialize_in_destination %[[EXP]] in %[[YT]]
func.func @result_of_a_result(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = tensor.insert %one into %x[%c0] : tensor<4xf32>
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// So does one that continues it in a branch.
// CHECK-LABEL: func.func @result_of_a_result_under_a_condition
// CHECK-DAG: %[[XT:.*]] = bufferization.to_tensor %arg2 restrict writable
// CHECK-DAG: %[[YT:.*]] = bufferization.to_tensor %arg3 restrict writable
// CHECK: %[[EXP:.*]] = linalg.exp ins(%{{.*}}) outs(%[[XT]] : tensor<4xf32>)
// CHECK: %[[COPY:.*]] = bufferization.materialize_in_destination %[[EXP]] in %[[YT]]
// CHECK: scf.if
// CHECK: tensor.insert %{{.*}} into %[[COPY]]
// CHECK: } else {
// CHECK: scf.yield %[[COPY]]
func.func @result_of_a_result_under_a_condition(%a: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = scf.if %c -> tensor<4xf32> {
    %more = tensor.insert %one into %x[%c0] : tensor<4xf32>
    scf.yield %more : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// Branches that continue different tensors have no start in common: what they make is copied.
// CHECK-LABEL: func.func @either_of_two
// CHECK: %[[IF:.*]] = scf.if
// CHECK: bufferization.materialize_in_destination %[[IF]]
func.func @either_of_two(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %y = scf.if %c -> tensor<4xf32> {
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %b : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// So does one that continues what another one is a copy of, in another shape: canonicalization may
// put that in its place.
// CHECK-LABEL: func.func @result_of_what_is_copied
// CHECK-DAG: %[[YT:.*]] = bufferization.to_tensor %arg2 restrict writable
// CHECK: %[[EMPTY:.*]] = tensor.empty
// CHECK: %[[EXP:.*]] = linalg.exp ins(%{{.*}}) outs(%[[EMPTY]] : tensor<4xf32>)
// CHECK: %[[COPY:.*]] = bufferization.materialize_in_destination %[[EXP]] in %[[YT]]
// CHECK: tensor.insert %{{.*}} into %[[COPY]]
func.func @result_of_what_is_copied(%a: tensor<4xf32>) -> (tensor<1x4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4xf32>
  %x = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %copy = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  %z = tensor.expand_shape %copy [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %y = tensor.insert %one into %x[%c0] : tensor<4xf32>
  return %z, %y : tensor<1x4xf32>, tensor<4xf32>
}

// An argument that the memory of a result holds at the start is no argument.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[A:.*]]: memref<4xf32> {llvm.noalias}, %[[OUT:.*]]: memref<4xf32> {llvm.noalias})
// CHECK-NOT: ted.in_place
// CHECK: %[[START:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK: %[[SUM:.*]] = linalg.add ins({{.*}}) outs(%[[START]] : tensor<4xf32>)
// CHECK: bufferization.materialize_in_destination %[[SUM]] in %[[START]]
func.func @in_place(%total: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %r = linalg.add ins(%a, %total : tensor<4xf32>, tensor<4xf32>) outs(%total : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// What a result is but for its shape is no other result, whatever others copy it: its chain starts
// in its own memory.
// CHECK-LABEL: func.func @result_in_a_shape_that_another_copies
// CHECK-DAG: %[[X:.*]] = bufferization.to_tensor %arg1 restrict writable
// CHECK-DAG: %[[Y:.*]] = bufferization.to_tensor %arg2 restrict writable
// CHECK: %[[WIDE:.*]] = tensor.expand_shape %[[X]]
// CHECK: linalg.generic {{.*}} outs(%[[WIDE]] : tensor<2x2xf32>)
// CHECK: bufferization.materialize_in_destination %{{.*}} in %[[X]]
// CHECK: bufferization.materialize_in_destination %{{.*}} in %[[Y]]
func.func @result_in_a_shape_that_another_copies(%a: tensor<2xf32>) -> (tensor<4xf32>, tensor<4x1xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4x1xf32>
  %wide = tensor.expand_shape %e [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %twice = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2xf32>) outs(%wide : tensor<2x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %x = tensor.collapse_shape %twice [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %long = tensor.expand_shape %x [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%long : tensor<4x1xf32>) outs(%f : tensor<4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x1xf32>
  return %x, %y : tensor<4xf32>, tensor<4x1xf32>
}
