// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-plan-memory{each=0})' | filecheck %s

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
  memref.copy %b, %out : memref<4x4xf32> to memref<4x4xf32>
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
  return
}

// In an iteration, too, a map writes where it reads; what is made behind the last use of a buffer of
// its type is that buffer, and all are taken in front of the loop.
// CHECK-LABEL: func.func @loop
// CHECK: %[[A:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}}ins(%arg0 : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: linalg.generic {{.*}}ins(%[[A]] : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: memref.copy %[[A]], %arg1
// CHECK: linalg.fill {{.*}}outs(%[[A]] : memref<4x4xf32>)
// CHECK-NEXT: memref.copy %[[A]], %arg2
// CHECK: }
// CHECK-NEXT: memref.dealloc %[[A]]
func.func @loop(%x: memref<4x4xf32>, %out: memref<4x4xf32>, %more: memref<4x4xf32>, %z: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %a = memref.alloc() : memref<4x4xf32>
    %c = memref.alloc() : memref<4x4xf32>
    linalg.fill ins(%z : f32) outs(%c : memref<4x4xf32>)
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
    memref.copy %b, %out : memref<4x4xf32> to memref<4x4xf32>
    memref.copy %c, %more : memref<4x4xf32> to memref<4x4xf32>
  }
  return
}

// What an iteration leaves in memory from outside is read by the next one: that is no buffer of its
// own, nor is one that is used still, or one of another type.
// CHECK-LABEL: func.func @carried
// CHECK: %[[S:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK-NEXT: linalg.fill {{.*}}outs(%[[S]] : memref<4x4xf32>)
// CHECK: %[[A:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK: %[[B:.*]] = memref.alloc() : memref<16xf32>
// CHECK: %[[C:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK: scf.for
// CHECK: ins(%[[S]] : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: memref.copy %[[A]], %[[S]]
// CHECK: outs(%[[B]] : memref<16xf32>)
// CHECK: memref.copy %[[B]], %arg1
// CHECK: outs(%[[C]] : memref<4x4xf32>)
// CHECK: memref.copy %[[A]], %[[C]]
func.func @carried(%out: memref<4x4xf32>, %flat: memref<16xf32>, %z: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %s = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%s : memref<4x4xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    %a = memref.alloc() : memref<4x4xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : memref<4x4xf32>) outs(%a : memref<4x4xf32>) {
    ^bb0(%in: f32, %old: f32):
      %0 = arith.negf %in : f32
      linalg.yield %0 : f32
    }
    memref.copy %a, %s : memref<4x4xf32> to memref<4x4xf32>
    %b = memref.alloc() : memref<16xf32>
    linalg.fill ins(%z : f32) outs(%b : memref<16xf32>)
    memref.copy %b, %flat : memref<16xf32> to memref<16xf32>
    %c = memref.alloc() : memref<4x4xf32>
    linalg.fill ins(%z : f32) outs(%c : memref<4x4xf32>)
    memref.copy %a, %c : memref<4x4xf32> to memref<4x4xf32>
    memref.copy %c, %out : memref<4x4xf32> to memref<4x4xf32>
  }
  memref.copy %s, %out : memref<4x4xf32> to memref<4x4xf32>
  return
}

// A view is no use: buffers are taken behind what makes views of them, and freed before.
// CHECK-LABEL: func.func @viewed
// CHECK: memref.copy %arg0, %arg1
// CHECK-NEXT: %[[A:.*]] = memref.alloc()
// CHECK-NEXT: %[[V:.*]] = memref.collapse_shape %[[A]]
// CHECK-NEXT: linalg.fill {{.*}}outs(%[[V]] : memref<16xf32>)
// CHECK-NEXT: memref.copy %[[A]], %arg0
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: memref.copy %arg0, %arg1
func.func @viewed(%x: memref<4x4xf32>, %out: memref<4x4xf32>, %z: f32) {
  %a = memref.alloc() : memref<4x4xf32>
  %unused = memref.alloc() : memref<4x4xf32>
  %v = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  memref.copy %x, %out : memref<4x4xf32> to memref<4x4xf32>
  linalg.fill ins(%z : f32) outs(%v : memref<16xf32>)
  memref.copy %a, %x : memref<4x4xf32> to memref<4x4xf32>
  %w = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  memref.copy %x, %out : memref<4x4xf32> to memref<4x4xf32>
  return
}

// A buffer that one loop alone uses may be private to each of its iterations.
// CHECK-LABEL: func.func @private
// CHECK-COUNT-2: memref.alloc() : memref<4x4xf32>
// CHECK: memref.copy %{{.*}}, %arg1
func.func @private(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %a = memref.alloc() : memref<4x4xf32>
    memref.copy %x, %a : memref<4x4xf32> to memref<4x4xf32>
    memref.copy %a, %out : memref<4x4xf32> to memref<4x4xf32>
    %b = memref.alloc() : memref<4x4xf32>
    scf.for %j = %c0 to %c9 step %c1 {
      memref.copy %x, %b : memref<4x4xf32> to memref<4x4xf32>
      memref.copy %b, %out : memref<4x4xf32> to memref<4x4xf32>
    } {ted.parallel}
  }
  return
}

// One operation that reads a buffer and writes the next one touches both: they are two.
// CHECK-LABEL: func.func @at_once
// CHECK-COUNT-2: memref.alloc() : memref<4x4xf32>
// CHECK: scf.for
func.func @at_once(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %a = memref.alloc() : memref<4x4xf32>
    memref.copy %x, %a : memref<4x4xf32> to memref<4x4xf32>
    %b = memref.alloc() : memref<4x4xf32>
    linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
    ^bb0(%in: f32, %old: f32):
      linalg.yield %in : f32
    }
    memref.copy %b, %out : memref<4x4xf32> to memref<4x4xf32>
  }
  return
}

// What a loop carries has other names outside: nothing else lies there. A view that nobody uses is
// no use, and what is written itself is no place for another result.
// CHECK-LABEL: func.func @carried_by_name
// CHECK: %[[T:.*]] = memref.alloc() : memref<8x8xf32>
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %arg0, %{{.*}} = %arg1)
// CHECK: outs(%[[T]] : memref<8x8xf32>)
// CHECK: ins(%[[T]] : memref<8x8xf32>) outs(%[[M]] : memref<8x8xf32>)
func.func @carried_by_name(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %x: memref<8x8xf32>, %z: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r:2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%m = %a, %n = %b)
      -> (memref<8x8xf32>, memref<8x8xf32>) {
    %t = memref.alloc() : memref<8x8xf32>
    linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<8x8xf32>) outs(%t : memref<8x8xf32>) {
    ^bb0(%in: f32, %old: f32):
      linalg.yield %in : f32
    }
    memref.copy %a, %x : memref<8x8xf32> to memref<8x8xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<8x8xf32>) outs(%m : memref<8x8xf32>) {
    ^bb0(%in: f32, %old: f32):
      linalg.yield %in : f32
    }
    scf.yield %n, %m : memref<8x8xf32>, memref<8x8xf32>
  }
  return
}

// CHECK-LABEL: func.func @unused_view
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @unused_view() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %a = memref.alloc() : memref<8x8xf32>
  scf.for %i = %c0 to %c9 step %c1 {
    %v = memref.subview %a[%i, 0] [1, 8] [1, 1]
        : memref<8x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}

// CHECK-LABEL: func.func @two_results
// CHECK: %[[T:.*]] = memref.alloc() : memref<4x4xf32>
// CHECK: outs(%[[T]], %arg1 : memref<4x4xf32>, memref<4x4xf32>)
func.func @two_results(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %t = memref.alloc() : memref<4x4xf32>
  memref.copy %x, %t : memref<4x4xf32> to memref<4x4xf32>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<4x4xf32>) outs(%t, %out : memref<4x4xf32>, memref<4x4xf32>) {
  ^bb0(%in: f32, %first: f32, %second: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0, %in : f32, f32
  }
  return
}
