// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-raise-linalg)' --split-input-file --verify-diagnostics

// expected-error @below {{func.func: tensors must have static sizes, got tensor<?xf32>; give the sizes before raising, as with an example of each input}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{func.func: values must be tensors or scalars of f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, index, got memref<4xf32>}}
func.func @memory(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{func.func: values must be tensors or scalars of f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, index, got tensor<4xf8E5M2>}}
func.func @small_floats(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  return %x : tensor<4xf8E5M2>
}

// -----

func.func @vectors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %p = arith.constant 0.0 : f32
  // expected-error @below {{vector.transfer_read: has no equations; of vector those that have are none}}
  %v = vector.transfer_read %x[%c0], %p : tensor<4xf32>, vector<4xf32>
  %w = math.sin %v : vector<4xf32>
  %0 = vector.transfer_write %w, %x[%c0] : vector<4xf32>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @bounds(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{scf.for: bounds and a positive step must be static}}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
    %1 = math.sin %h : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{f: calls must not form a cycle, got ['f', 'g', 'f']}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{outside: a function must have one block, got 0}}
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func @h(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @data_dim(%x: tensor<4xf32>, %n: index) -> index {
  // expected-error @below {{tensor.dim: the dim must be one of 1, and static, got}}
  %d = tensor.dim %x, %n : tensor<4xf32>
  return %d : index
}
