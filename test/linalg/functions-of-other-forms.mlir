// Functions that are not ours are left as they are, or refused with a reason.
// RUN: ted-opt %s --convert-ted-to-linalg --ted-unroll-small-loops --ted-block-rows | filecheck %s
// RUN: not ted-opt %s --ted-cpu-pipeline 2>&1 | filecheck %s --check-prefix=DESTINATIONS

// CHECK-LABEL: @memory
// CHECK: linalg.fill
// CHECK: scf.for
// CHECK: memref.store
func.func @memory(%A: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%A : memref<4xf32>)
  // A step of 0 has no meaning, but is no error for MLIR.
  scf.for %j = %zero to %four step %four {
    scf.for %i = %zero to %four step %zero {
      memref.store %one, %A[%i] : memref<4xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @scalar
// DESTINATIONS: error: ted-lower-tensors: results must be tensors of static sizes, got f32 as result 0 of @scalar
func.func @scalar(%x: f32) -> f32 {
  %y = math.exp %x : f32
  func.return %y : f32
}
