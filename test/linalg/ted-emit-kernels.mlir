// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-emit-kernels{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-emit-kernels{cpu=avx512_amx})' | filecheck %s --check-prefix=MATRIX

// What functions of equations are on memory.
// (ted-emit-kernels-places.mlir has where each tensor lies.)

// CHECK-DAG: memref.global "private" constant @[[LINE:.*]] : memref<8xf32>
// CHECK-DAG: memref.global "private" constant @[[COLUMN:.*]] : memref<8x1xf32>

#all2 = affine_set<(i, j) : (0 == 0)>
#all1 = affine_set<(i) : (0 == 0)>
#all3 = affine_set<(i, j, k) : (0 == 0)>
#all5 = affine_set<(i, j, k, l, m) : (0 == 0)>
#inside = affine_set<(i, j, k, l, m) : (j + l - 1 >= 0, 384 - j - l >= 0)>
#has_before = affine_set<(i, j) : (i - 1 >= 0)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#i1 = affine_map<(i) -> (i)>
#upper = affine_map<(i) -> (i + 4)>
#ijk3 = affine_map<(i, j, k) -> (i, j, k)>
#ikj3 = affine_map<(i, j, k) -> (i, k, j)>
#ij3 = affine_map<(i, j, k) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#window = affine_map<(i, j, k, l, m) -> (i, j + l - 1, m)>
#lmk5 = affine_map<(i, j, k, l, m) -> (l, m, k)>
#ijk5 = affine_map<(i, j, k, l, m) -> (i, j, k)>
#ik3 = affine_map<(i, j, k) -> (i, k)>
#kj3 = affine_map<(i, j, k) -> (k, j)>
#none = affine_map<(i, j) -> ()>
#before = affine_map<(i, j) -> (i - 1, j)>

// A loop over rows, with memory for what a row needs.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: memref<8x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x32xf32> {llvm.noalias})
// CHECK: %[[S:.*]] = memref.alloc() : memref<f32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c1
// CHECK: %[[IN:.*]] = memref.subview %[[X]][%[[I]], 0] [1, 32] [1, 1]
// CHECK: linalg.fill {{.*}} outs(%[[S]] : memref<f32>)
// CHECK: linalg.generic {{.*}} ins(%[[IN]] : {{.*}} outs(%[[S]] : memref<f32>)
// CHECK: %[[ROW:.*]] = memref.subview %[[OUT]][%{{.*}}, 0] [1, 32] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[S]] : {{.*}} outs(%[[ROW]] :
// CHECK: arith.divf
// CHECK: } {ted.parallel}
// CHECK-NEXT: return
func.func @rows(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x32xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.divf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// A result that members read lies where the caller wants it, row by row.
// CHECK-LABEL: func.func @read_result(
// CHECK-SAME: %{{.*}}: memref<8x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x32xf32> {llvm.noalias}, %[[SUM:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = memref.subview %[[SUM]]
// CHECK: linalg.fill {{.*}} outs(%[[ROW]]
// CHECK: linalg.generic {{.*}} outs(%[[ROW]]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<32xf32,
// CHECK: arith.divf
// CHECK-NOT: memref.copy
// CHECK: return
func.func @read_result(%x: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x32xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %s, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.divf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r, %s : tensor<8x32xf32>, tensor<8xf32>
}

// Equations of parts of one tensor write one memory.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[A:.*]]: memref<4xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref.alloc
// CHECK: %[[LOW:.*]] = memref.subview %[[OUT]][0] [4] [1]
// CHECK: linalg.generic {{.*}} outs(%[[LOW]]
// CHECK: math.exp
// CHECK: %[[HIGH:.*]] = memref.subview %[[OUT]][4] [4] [1]
// CHECK: linalg.generic {{.*}} outs(%[[HIGH]]
// CHECK: math.log
// CHECK-NOT: memref.copy
// CHECK: return
func.func @chain(%a: tensor<4xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %p = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %p) ({
  ^bb0(%A: f32):
    %u = math.log %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #upper, combiner = "set"
  } : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// The same everywhere, and nothing in particular: no room but the caller's.
// CHECK-LABEL: func.func @fill_result(
// CHECK-SAME: %[[OUT:.*]]: memref<8xf32>
// CHECK-NOT: memref.alloc
// CHECK: linalg.fill {{.*}} outs(%[[OUT]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @fill_result() -> tensor<8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// Constants are part of the program, equal ones once.
// CHECK-LABEL: func.func @constants(
// CHECK-DAG: %[[L:.*]] = memref.get_global @[[LINE]] : memref<8xf32>
// CHECK-DAG: %[[K:.*]] = memref.get_global @[[COLUMN]] : memref<8x1xf32>
// CHECK-DAG: %[[SHORT:.*]] = memref.subview %[[K]][0, 0] [8, 1] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[L]],
// CHECK: memref.copy %[[SHORT]], %{{.*}}
// CHECK: return
func.func @constants(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x1xf32>) {
  %l = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %m = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %k = arith.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32>
  %e = tensor.empty() : tensor<8xf32>
  %p = "ted.compute"(%l, %a, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.addf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1, #i1], guards = [#all1, #all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%m, %p, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.addf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1, #i1], guards = [#all1, #all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %k : tensor<8xf32>, tensor<8x1xf32>
}

// Dims of one element are in no memory, and no loop.
// CHECK-LABEL: func.func @unit_dims(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %[[ONE:.*]]: memref<f32> {llvm.noalias})
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[A]] : memref<8xf32>) outs(%[[OUT]] : memref<8xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[OUT]] : memref<8xf32>) outs(%[[ONE]] : memref<f32>)
func.func @unit_dims(%a: tensor<1x8x1xf32>) -> (tensor<1x8x1xf32>, tensor<1x1xf32>) {
  %e = tensor.empty() : tensor<1x8x1xf32>
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<1x1xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<1x1xf32>) -> tensor<1x1xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1, 8, 1>, iterators = ["parallel", "parallel", "parallel"], domain = #all3,
    reads = [#ijk3], guards = [#all3], write = #ijk3, combiner = "set"
  } : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
  %s = "ted.compute"(%r, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 1, 1, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ikj3], guards = [#all3], write = #ij3, combiner = "add"
  } : (tensor<1x8x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %r, %s : tensor<1x8x1xf32>, tensor<1x1xf32>
}

// Tensors without elements are pointers to nothing; a sum of nothing is what it starts from.
// CHECK-LABEL: func.func @empty_tensors(
// CHECK-SAME: %{{.*}}: memref<f32> {llvm.noalias}, %[[NONE:.*]]: memref<f32> {llvm.noalias}, %[[SUM:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: linalg.fill {{.*}} outs(%[[SUM]] : memref<8xf32>)
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.copy
// CHECK: return
func.func @empty_tensors(%x: tensor<8x0xf32>) -> (tensor<0x8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<0x8xf32>
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %n = "ted.compute"(%x, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 0, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<8x0xf32>, tensor<0x8xf32>) -> tensor<0x8xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8, 0>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x0xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %n, %s : tensor<0x8xf32>, tensor<8xf32>
}

// Each image is padded right before its convolution, in memory for one.
// CHECK-LABEL: func.func @padding(
// CHECK-SAME: %[[X:.*]]: memref<8x384x128xf32> {llvm.noalias}, %[[W:.*]]: memref<3x128x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x384x32xf32> {llvm.noalias})
// CHECK-NOT: memref<8x386x128xf32>
// CHECK: scf.for %[[N:.*]] = %c0 to %c8 step %c1
// CHECK-DAG: %[[HERE:.*]] = memref.subview %[[OUT]][%{{.*}}, 0, 0] [1, 384, 32]
// CHECK-DAG: %[[IMAGE:.*]] = memref.subview %[[X]][%{{.*}}, 0, 0] [1, 384, 128]
// CHECK: linalg.fill {{.*}} outs(%[[HERE]]
// CHECK: %[[ROOM:.*]] = memref.alloc() : memref<386x128xf32>
// CHECK: linalg.fill {{.*}} outs(%[[ROOM]]
// CHECK: %[[INNER:.*]] = memref.subview %[[ROOM]][1, 0] [384, 128] [1, 1]
// CHECK: memref.copy %[[IMAGE]], %[[INNER]]
// CHECK: linalg.generic {{.*}} ins(%[[ROOM]], %[[W]] : {{.*}} outs(%[[HERE]]
// CHECK: } {ted.parallel}
func.func @padding(%x: tensor<8x384x128xf32>, %w: tensor<3x128x32xf32>) -> tensor<8x384x32xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8x384x32xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  %r = "ted.compute"(%x, %w, %z) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.mulf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 384, 32, 3, 128>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"], domain = #all5,
    reads = [#window, #lmk5], guards = [#inside, #all5], write = #ijk5, combiner = "add"
  } : (tensor<8x384x128xf32>, tensor<3x128x32xf32>, tensor<8x384x32xf32>) -> tensor<8x384x32xf32>
  return %r : tensor<8x384x32xf32>
}

// Totals of a block are rounded before those of the next one are added up.
// MATRIX-LABEL: func.func @totals(
// MATRIX-SAME: %[[X:.*]]: memref<640x8xf32> {llvm.noalias}, %[[Y:.*]]: memref<8x256xf32> {llvm.noalias}, %[[OUT:.*]]: memref<640x256xbf16> {llvm.noalias})
// MATRIX-NOT: memref<640x256xf32>
// MATRIX: %[[BLOCK:.*]] = memref.alloc() : memref<320x128xf32>
// MATRIX: scf.for %{{.*}} = %c0 to %c2 step %c1
// MATRIX: scf.for %{{.*}} to %c2
// MATRIX: linalg.fill {{.*}} outs(%[[BLOCK]]
// MATRIX: linalg.matmul {{.*}} outs(%[[BLOCK]]
// MATRIX: %[[HERE:.*]] = memref.subview %[[OUT]][%{{.*}}, %{{.*}}] [320, 128] [1, 1]
// MATRIX: linalg.generic {{.*}} ins(%[[BLOCK]] : {{.*}} outs(%[[HERE]]
// MATRIX: arith.truncf
func.func @totals(%x: tensor<640x8xf32>, %y: tensor<8x256xf32>) -> tensor<640x256xbf16> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<640x256xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<640x256xf32>) -> tensor<640x256xf32>
  %e = tensor.empty() : tensor<640x256xbf16>
  %t = "ted.compute"(%x, %y, %z) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.mulf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 640, 256, 8>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#ik3, #kj3], guards = [#all3, #all3], write = #ij3, combiner = "add"
  } : (tensor<640x8xf32>, tensor<8x256xf32>, tensor<640x256xf32>) -> tensor<640x256xf32>
  %r = "ted.compute"(%t, %e) ({
  ^bb0(%A: f32):
    %u = arith.truncf %A : f32 to bf16
    "ted.yield"(%u) : (bf16) -> ()
  }) {
    extents = array<i64: 640, 256>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<640x256xf32>, tensor<640x256xbf16>) -> tensor<640x256xbf16>
  return %r : tensor<640x256xbf16>
}

// A sum over rows that asks to be alone is alone.
// CHECK-LABEL: func.func @sum_that_stays_alone(
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]{{.*}}
func.func @sum_that_stays_alone(%x: tensor<32x8xf32>) -> tensor<8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i, combiner = "add", ted.group = {name = "alone"}
  } : (tensor<32x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A condition is tested once, and memory keeps its start where it does not hold.
// CHECK-LABEL: func.func @tested(
// CHECK-SAME: %{{.*}}: memref<8x32xf32> {llvm.noalias}, %[[P:.*]]: memref<i1> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: linalg.fill {{.*}} outs(%[[OUT]]
// CHECK: %[[YES:.*]] = memref.load %[[P]][]
// CHECK: scf.if %[[YES]] {
// CHECK: linalg.generic {{.*}} outs(%[[OUT]]
// CHECK: return
func.func @tested(%x: tensor<8x32xf32>, %p: tensor<i1>) -> tensor<8xf32> {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %s = "ted.compute"(%x, %p, %z) ({
  ^bb0(%A: f32, %B: i1):
    %zero = arith.constant 0.0 : f32
    %c = math.exp %A : f32
    %u = arith.select %B, %c, %zero : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij, #none], guards = [#all2, #all2], write = #i, combiner = "add"
  } : (tensor<8x32xf32>, tensor<i1>, tensor<8xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// The history of a recurrence lies where the caller wants it; a step makes a slice of two others.
// CHECK-LABEL: func.func @recurrence(
// CHECK-SAME: %[[X:.*]]: memref<9x90xf32> {llvm.noalias}, %[[OUT:.*]]: memref<9x90xf32> {llvm.noalias})
// CHECK-NOT: memref.alloc
// CHECK: %[[FIRST:.*]] = memref.subview %[[OUT]][0, 0] [1, 90] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[FIRST]]
// CHECK: scf.for %[[T:.*]] = %c0 to %c8
// CHECK-DAG: %[[BEFORE:.*]] = memref.subview %[[OUT]][%[[T]], 0] [1, 90] [1, 1]
// CHECK-DAG: %[[NOW:.*]] = memref.subview %[[OUT]][%{{.*}}, 0] [1, 90] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[BEFORE]], {{.*}} outs(%[[NOW]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @recurrence(%x: tensor<9x90xf32>) -> tensor<9x90xf32> {
  %e = tensor.empty() : tensor<9x90xf32>
  %r = "ted.scan"(%e) ({
  ^bb0(%h: tensor<9x90xf32>):
    %n = "ted.compute"(%h, %x, %h) ({
    ^bb0(%A: f32, %B: f32):
      %u = arith.addf %A, %B : f32
      "ted.yield"(%u) : (f32) -> ()
    }) {
      extents = array<i64: 9, 90>, iterators = ["parallel", "parallel"], domain = #all2,
      reads = [#before, #ij], guards = [#has_before, #all2], write = #ij, combiner = "set"
    } : (tensor<9x90xf32>, tensor<9x90xf32>, tensor<9x90xf32>) -> tensor<9x90xf32>
    "ted.yield"(%n) : (tensor<9x90xf32>) -> ()
  }) {reverse = false, steps = 9 : i64, times = array<i64: 0>} : (tensor<9x90xf32>) -> tensor<9x90xf32>
  return %r : tensor<9x90xf32>
}
