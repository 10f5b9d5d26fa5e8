// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-reuse-buffers)' | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#column = affine_map<(d0, d1) -> (d0)>

// A map is the last reader of what it reads in place: a chain of two is one buffer.
// CHECK-LABEL: func.func @chain
// CHECK: %[[A:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK: linalg.generic {{.*}}ins(%arg0 : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: linalg.generic {{.*}}ins(%[[A]] : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: memref.copy %[[A]], %arg1
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: return
func.func @chain(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  %b = memref.alloc() : memref<4x4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  memref.copy %b, %out : memref<4x4xf32> to memref<4x4xf32>
  memref.dealloc %b : memref<4x4xf32>
  return
}

// Memory of a result holds what the result is made of; turned subscripts of both are the same ones.
// CHECK-LABEL: func.func @result
// CHECK-NOT: memref.alloc
// CHECK: linalg.fill ins(%arg1 : f32) outs(%arg2 : memref<4x4xf32>)
// CHECK: linalg.generic {{.*}}ins(%arg0, %arg2 : {{.*}}) outs(%arg2 : memref<4x4xf32>)
// CHECK-NEXT: ^bb0
func.func @result(%w: memref<4x4xf32>, %z: f32, %out: memref<4x4xf32>) {
  %g = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%g : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #turned, #turned], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %step: f32, %old: f32):
    %0 = arith.subf %in, %step : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %g : memref<4x4xf32>
  return
}

// Not joined: an input of the caller, elements read elsewhere than they are written, rows that all
// columns read, a buffer that is read later, and one that the body loads from.
// CHECK-LABEL: func.func @input
// CHECK: ins(%arg0 : memref<4x4xf32>) outs(%arg1 : memref<4x4xf32>)
func.func @input(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  return
}

// CHECK-LABEL: func.func @input_read_twice
// CHECK: ins(%arg0 : memref<4x4xf32>) outs(%arg1 : memref<4x4xf32>)
// CHECK: memref.copy %arg0, %arg2
func.func @input_read_twice(%x: memref<4x4xf32>, %out: memref<4x4xf32>, %more: memref<4x4xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  memref.copy %x, %more : memref<4x4xf32> to memref<4x4xf32>
  return
}

// Points of a column write one element: the second would read what the first wrote.
// CHECK-LABEL: func.func @written_twice
// CHECK: memref.alloc()
func.func @written_twice(%w: memref<4x4xf32>, %z: f32, %out: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4xf32>)
  linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["parallel", "parallel"]}
      ins(%w, %a : memref<4x4xf32>, memref<4xf32>) outs(%out : memref<4xf32>) {
  ^bb0(%in: f32, %other: f32, %old: f32):
    %0 = arith.subf %in, %other : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %a : memref<4xf32>
  return
}

// CHECK-LABEL: func.func @elsewhere
// CHECK: memref.alloc()
// CHECK: ins(%{{.*}}, %{{.*}} : {{.*}}) outs(%arg1 : memref<4x4xf32>)
func.func @elsewhere(%z: f32, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %other: f32, %old: f32):
    %0 = arith.subf %in, %other : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @broadcast
// CHECK: memref.alloc()
func.func @broadcast(%z: f32, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @read_later
// CHECK: memref.alloc()
func.func @read_later(%z: f32, %out: memref<4x4xf32>, %more: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  memref.copy %a, %more : memref<4x4xf32> to memref<4x4xf32>
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @loaded
// CHECK: memref.alloc()
func.func @loaded(%z: f32, %k: index, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = memref.load %a[%k, %k] : memref<4x4xf32>
    %1 = arith.addf %in, %0 : f32
    linalg.yield %1 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// What a result holds before is read, or was written: it is no place for anything else.
// CHECK-LABEL: func.func @result_in_use
// CHECK: memref.alloc()
func.func @result_in_use(%z: f32, %out: memref<4x4xf32>, %more: memref<4x4xf32>) {
  memref.copy %out, %more : memref<4x4xf32> to memref<4x4xf32>
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @result_asked
// CHECK: memref.alloc()
func.func @result_asked(%z: f32, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %in, %old : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @result_read
// CHECK: memref.alloc()
func.func @result_read(%z: f32, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %out : memref<4x4xf32>, memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %state: f32, %old: f32):
    %0 = arith.addf %in, %state : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// CHECK-LABEL: func.func @result_loaded
// CHECK: memref.alloc()
func.func @result_loaded(%z: f32, %k: index, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%out : memref<4x4xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = memref.load %out[%k, %k] : memref<4x4xf32>
    %1 = arith.addf %in, %0 : f32
    linalg.yield %1 : f32
  }
  memref.dealloc %a : memref<4x4xf32>
  return
}

// A buffer is taken, and filled, right before what touches it first.
// CHECK-LABEL: func.func @late
// CHECK: memref.copy %arg0, %arg1
// CHECK-NEXT: %[[A:.*]] = memref.alloc()
// CHECK-NEXT: linalg.fill {{.*}}outs(%[[A]]
// CHECK-NEXT: memref.copy %[[A]], %arg0
func.func @late(%x: memref<4x4xf32>, %out: memref<4x4xf32>, %z: f32) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
  memref.copy %x, %out : memref<4x4xf32> to memref<4x4xf32>
  memref.copy %a, %x : memref<4x4xf32> to memref<4x4xf32>
  memref.dealloc %a : memref<4x4xf32>
  return
}
