// A result that may be in an input's memory is written when nothing reads the input any more.
// RUN: ted-opt %s --ted-resolve-donations | filecheck %s

#id = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (7 - i)>

// Each point reads where it writes.
// CHECK-LABEL: func.func @point_by_point
// CHECK-NOT: memref.alloc
// CHECK: outs(%arg1
func.func @point_by_point(%a: memref<8xf32>, %out: memref<8xf32>)
    attributes {ted.donated = [array<i64: 0, 1>]} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%a : memref<8xf32>) outs(%out : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @reversed
// CHECK: %[[M:.*]] = memref.alloc() : memref<8xf32>
// CHECK: outs(%[[M]]
// CHECK: memref.copy %[[M]], %arg1
func.func @reversed(%a: memref<8xf32>, %out: memref<8xf32>)
    attributes {ted.donated = [array<i64: 0, 1>]} {
  linalg.generic {indexing_maps = [#back, #id], iterator_types = ["parallel"]}
    ins(%a : memref<8xf32>) outs(%out : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: func.func @read_later
// CHECK: %[[M:.*]] = memref.alloc() : memref<8xf32>
// CHECK: memref.copy %[[M]], %arg1
func.func @read_later(%a: memref<8xf32>, %out: memref<8xf32>, %other: memref<8xf32>)
    attributes {ted.donated = [array<i64: 0, 1>]} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%out : memref<8xf32>)
  linalg.copy ins(%a : memref<8xf32>) outs(%other : memref<8xf32>)
  return
}
