// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-drop-unit-steps)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-drop-unit-steps,expand-strided-metadata,lower-affine,canonicalize)' | filecheck %s --check-prefix=STRIDED

// CHECK-LABEL: func.func @one_element
// CHECK: memref.subview %arg0[2, 1, %arg1] [1, 1, 1] [1, 1, 1] : memref<4x2x4xf32> to memref<1xf32, strided<[1], offset: ?>>
// STRIDED-LABEL: func.func @one_element
// STRIDED: memref.reinterpret_cast %arg0 to offset: [%{{.*}}], sizes: [1], strides: [1]
func.func @one_element(%a: memref<4x2x4xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %s = memref.subview %a[2, 1, %i] [1, 1, 1] [1, 1, 2]
      : memref<4x2x4xf32> to memref<1xf32, strided<[2], offset: ?>>
  %v = memref.load %s[%c0] : memref<1xf32, strided<[2], offset: ?>>
  return %v : f32
}

// Of several elements the step is made, beside a dim of one.
// CHECK-LABEL: func.func @other_dims
// CHECK: memref.subview %arg0[0, 1, 0] [1, 1, 2] [1, 1, 3] : memref<4x2x4xf32> to memref<1x2xf32, strided<[8, 3], offset: 4>>
func.func @other_dims(%a: memref<4x2x4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %s = memref.subview %a[0, 1, 0] [1, 1, 2] [2, 1, 3]
      : memref<4x2x4xf32> to memref<1x2xf32, strided<[16, 3], offset: 4>>
  %v = memref.load %s[%c0, %c0] : memref<1x2xf32, strided<[16, 3], offset: 4>>
  return %v : f32
}

// CHECK-LABEL: func.func @no_step
// CHECK: memref.subview %arg0[0, 0] [1, 4] [1, 1] : memref<1x4xf32> to memref<1x4xf32>{{$}}
func.func @no_step(%a: memref<1x4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %s = memref.subview %a[0, 0] [1, 4] [1, 1] : memref<1x4xf32> to memref<1x4xf32>
  %v = memref.load %s[%c0, %c0] : memref<1x4xf32>
  return %v : f32
}

// CHECK-LABEL: func.func @stored_elements
// CHECK: memref.subview %{{.*}}[1, 0] [1, 1] [1, 1] : memref<4x4xf32> to memref<1xf32, strided<[1], offset: 4>>
func.func @stored_elements(%a: memref<4x4xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %s = memref.subview %a[1, 0] [1, 1] [1, 3] : memref<4x4xf32> to memref<1xf32, strided<[3], offset: 4>>
  memref.store %x, %s[%c0] : memref<1xf32, strided<[3], offset: 4>>
  return
}

// Whoever is given the view may go on from its step.
// CHECK-LABEL: func.func @views_of_views_stay
// CHECK: memref.subview %{{.*}}[1, 0] [1, 1] [1, 3]
func.func @views_of_views_stay(%a: memref<4x4xf32>) -> memref<1x1xf32, strided<[4, 3], offset: 4>> {
  %s = memref.subview %a[1, 0] [1, 1] [1, 3] : memref<4x4xf32> to memref<1x1xf32, strided<[4, 3], offset: 4>>
  return %s : memref<1x1xf32, strided<[4, 3], offset: 4>>
}
