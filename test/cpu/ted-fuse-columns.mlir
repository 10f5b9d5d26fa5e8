// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-fuse-columns)' | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @column_sum_of_rows
// CHECK: linalg.fill
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: linalg.exp
// CHECK: memref.subview %{{.*}}[%[[I]], 0] [1, 16] [1, 1]
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]
// CHECK: }
// CHECK: return
func.func @column_sum_of_rows(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  linalg.fill ins(%z : f32) outs(%s : memref<16xf32>)
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// The loop reads the total, so the sum may not start inside it.
// CHECK-LABEL: func.func @total_in_use
// CHECK: scf.for
// CHECK: }
// CHECK: linalg.generic
func.func @total_in_use(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.broadcast ins(%s : memref<16xf32>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) dimensions = [0]
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// What the sum reads is cut out behind the loop: the view is made in front of it.
// CHECK-LABEL: func.func @view_behind_the_loop
// CHECK: %[[V:.*]] = memref.subview %{{.*}}[0, 0] [8, 16] [1, 1]
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: memref.subview %[[V]][%[[I]], 0] [1, 16] [1, 1]
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]
// CHECK: }
// CHECK: return
func.func @view_behind_the_loop(%x: memref<8x24xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  %v = memref.subview %x[0, 0] [8, 16] [1, 1] : memref<8x24xf32> to memref<8x16xf32, strided<[24, 1]>>
  linalg.generic {indexing_maps = [#ij, #ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y, %v : memref<8x16xf32>, memref<8x16xf32, strided<[24, 1]>>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %p = arith.mulf %a, %b : f32
    %u = arith.addf %t, %p : f32
    linalg.yield %u : f32
  }
  return
}

// Row i of the view that the loop writes is row i + 1 of the memory: the sum would be a row ahead.
// CHECK-LABEL: func.func @other_rows_of_one_memory
// CHECK: scf.for
// CHECK: }
// CHECK: linalg.generic
func.func @other_rows_of_one_memory(%y: memref<9x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %w = memref.subview %y[0, 0] [8, 16] [1, 1] : memref<9x16xf32> to memref<8x16xf32, strided<[16, 1]>>
  %v = memref.subview %y[1, 0] [8, 16] [1, 1] : memref<9x16xf32> to memref<8x16xf32, strided<[16, 1], offset: 16>>
  scf.for %i = %c0 to %c8 step %c1 {
    %q = memref.subview %w[%i, 0] [1, 16] [1, 1] : memref<8x16xf32, strided<[16, 1]>> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%v : memref<8x16xf32, strided<[16, 1], offset: 16>>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// What asks to stay alone does, and has no attribute any more.
// CHECK-LABEL: func.func @alone
// CHECK: scf.for
// CHECK: }
// CHECK-NOT: ted.group
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]
// CHECK: return
func.func @alone(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>)
      attrs = {ted.group = {name = "alone"}} {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// Row 7 - i is there when row i is summed.
// CHECK-LABEL: func.func @rows_behind
// CHECK: scf.for
// CHECK: }
// CHECK: linalg.generic
// CHECK: return
func.func @rows_behind(%y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.subi %c7, %i : index
    %q = memref.subview %y[%k, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// The loop makes 7 of 8 rows.
// CHECK-LABEL: func.func @fewer_rows
// CHECK: scf.for
// CHECK: }
// CHECK: linalg.generic
// CHECK: return
func.func @fewer_rows(%y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 7 : index
  scf.for %i = %c0 to %n step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// Nothing makes the rows.
// CHECK-LABEL: func.func @no_loop
// CHECK: linalg.generic
// CHECK: return
func.func @no_loop(%y: memref<8x16xf32>, %s: memref<16xf32>) {
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%y : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  return
}

// A loop behind the sum reads the same rows; the total is started before it.
// CHECK-LABEL: func.func @sum_before_the_loop
// CHECK: linalg.fill
// CHECK-NOT: linalg.generic
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: linalg.exp
// CHECK: memref.subview %{{.*}}[%[[I]], 0] [1, 16] [1, 1]
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]
// CHECK: }
// CHECK: return
func.func @sum_before_the_loop(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%s : memref<16xf32>)
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}

// The loop behind it overwrites what is summed.
// CHECK-LABEL: func.func @overwritten_behind
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @overwritten_behind(%x: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}

// Somebody reads the total before the loop.
// CHECK-LABEL: func.func @read_between
// CHECK: linalg.generic
// CHECK: linalg.exp
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @read_between(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>, %e: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  linalg.exp ins(%s : memref<16xf32>) outs(%e : memref<16xf32>)
  scf.for %i = %c0 to %c8 step %c1 {
    %p = memref.subview %x[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.tanh ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}

// The loop behind it reads other rows, or nothing of what is summed: it gains nothing there.
// CHECK-LABEL: func.func @others_behind
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @others_behind(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %s: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%s : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %k = arith.subi %c7, %i : index
    %p = memref.subview %x[%k, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    %q = memref.subview %y[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<1x16xf32, strided<[16, 1], offset: ?>>
    linalg.exp ins(%p : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%q : memref<1x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}
