// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-lower-tensors{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-lower-tensors{gpu=true})' | filecheck %s --check-prefix=GPU

// Linalg of other tools is on memory then, with a buffer for the result.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: memref<8x8xf32> {llvm.noalias}, %[[B:.*]]: memref<8x8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x8xf32> {llvm.noalias}) {
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] : memref<8x8xf32>)
// CHECK: linalg.matmul ins(%[[A]], %[[B]] : memref<8x8xf32>, memref<8x8xf32>) outs(%[[OUT]] : memref<8x8xf32>)
// CHECK-NOT: tensor<
func.func @product(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// -----

// What the caller gives to be read stays as it is, also where it is a result.
// CHECK-LABEL: func.func @arguments_stay
// CHECK-SAME: (%[[X:.*]]: memref<4xf32> {llvm.noalias}, %[[Y:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}, %[[Z:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}) {
// CHECK-NOT: memref.store {{.*}} %[[X]]
// CHECK-DAG: memref.copy %[[X]], %[[Z]]
// CHECK-DAG: memref.copy %[[NEW:.*]], %[[Y]]
// CHECK: return
func.func @arguments_stay(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant 1.0 : f32
  %i = arith.constant 2 : index
  %y = tensor.insert %one into %x[%i] : tensor<4xf32>
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// One value as two results is in the memory of both.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:.*]]: memref<4xf32> {llvm.noalias}, %[[Y:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}, %[[Z:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}) {
// CHECK: linalg.exp ins(%[[X]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK: memref.copy %[[Y]], %[[Z]]
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// So are two values that turn out to be one.
// CHECK-LABEL: func.func @folded
// CHECK-SAME: (%[[A:.*]]: memref<4xf32> {llvm.noalias}, %[[Y:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}, %[[Z:[a-z0-9]*]]: memref<4xf32> {llvm.noalias}) {
// CHECK: linalg.exp ins(%[[A]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK: memref.copy %[[Y]], %[[Z]]
func.func @folded(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %false = arith.constant false
  %y = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = scf.if %false -> tensor<4xf32> {
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// Loops of a CPU are serial; for a GPU, one over a box may be a kernel.
// CHECK-LABEL: func.func @box
// CHECK: scf.for
// CHECK-NOT: scf.forall
// GPU-LABEL: func.func @box
// GPU: scf.forall (%{{.*}}) in (8)
func.func @box(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = scf.forall (%i) in (8) shared_outs(%o = %e) -> (tensor<8xf32>) {
    %a = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %b = tensor.extract_slice %o[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %c = linalg.exp ins(%a : tensor<1xf32>) outs(%b : tensor<1xf32>) -> tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %c into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %y : tensor<8xf32>
}

// -----

// Equations among other operations become linalg, too.
// CHECK-LABEL: func.func @mixed
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: linalg.exp
// CHECK-NOT: tensor<
func.func @mixed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %p = arith.mulf %a, %a : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %1 = linalg.exp ins(%0 : tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Functions of numbers may be called.
// CHECK-LABEL: func.func @calls
// CHECK: linalg.map { func.call {callee = @expf} }
// CHECK-NOT: tensor<
func.func private @expf(f32) -> f32
func.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.map ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) (%a: f32, %o: f32) {
    %b = func.call @expf(%a) : (f32) -> f32
    linalg.yield %b : f32
  }
  return %y : tensor<8xf32>
}

// -----

// What equations have become is on memory, and stays.
// CHECK-LABEL: func.func @kernels
// CHECK: %[[UNUSED:.*]] = arith.constant
// CHECK: linalg.fill
// CHECK: return
func.func @kernels(%x: memref<8xf32>) {
  %unused = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%x : memref<8xf32>)
  return
}
