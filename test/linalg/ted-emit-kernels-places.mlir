// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-emit-kernels{cpu=avx2})' | filecheck %s

// Where results lie, what is copied, and which arguments lie in the memory of a result.

#all1 = affine_set<(i) : (0 == 0)>
#all2 = affine_set<(i, j) : (0 == 0)>
#all3 = affine_set<(i, j, k) : (0 == 0)>
#i1 = affine_map<(i) -> (i)>
#reversed = affine_map<(i) -> (7 - i)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#other_rows = affine_map<(i, j) -> (7 - i, j)>
#other_rows3 = affine_map<(i, j, k) -> (i, 7 - j, k)>
#ij3 = affine_map<(i, j, k) -> (i, j)>
#ijk3 = affine_map<(i, j, k) -> (i, j, k)>

// What somebody else wants as it was is copied before another goes on from it.
// CHECK-LABEL: func.func @start_that_is_kept(
// CHECK-SAME: %{{.*}}: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %[[KEPT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: linalg.generic {{.*}} outs(%[[KEPT]]
// CHECK: math.exp
// CHECK: memref.copy %[[KEPT]], %[[OUT]]
// CHECK: linalg.generic {{.*}} outs(%[[OUT]]
// CHECK: arith.addf
// CHECK: return
func.func @start_that_is_kept(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %p = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %p) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "add"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %p : tensor<8xf32>, tensor<8xf32>
}

// So is what the caller gives, and a constant.
// CHECK-LABEL: func.func @given_start(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[B:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: memref.copy %[[B]], %[[OUT]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
func.func @given_start(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %r = "ted.compute"(%a, %b) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "add"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// An argument that is returned, and what is returned twice, is copied in the end.
// CHECK-LABEL: func.func @copies(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[ONE:.*]]: memref<8xf32> {llvm.noalias}, %[[SAME:.*]]: memref<8xf32> {llvm.noalias}, %[[TWO:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[ONE]]
// CHECK: memref.copy %[[A]], %[[SAME]]
// CHECK-NEXT: memref.copy %[[ONE]], %[[TWO]]
// CHECK-NEXT: return
func.func @copies(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %a, %r : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// An argument lies in the memory of the result until it is written, point by point.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} ins(%[[OUT]], %[[A]] : {{.*}} outs(%[[OUT]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @in_place(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> tensor<8xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%t, %a, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.addf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1, #i1], guards = [#all1, #all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// Or is what the result starts from.
// CHECK-LABEL: func.func @in_place_goes_on(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @in_place_goes_on(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> tensor<8xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%a, %t) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "add"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// What reads it in an earlier kernel is done.
// CHECK-LABEL: func.func @in_place_read_before(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %[[SECOND:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} outs(%[[SECOND]]
// CHECK: memref.load %[[OUT]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func @in_place_read_before(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %q = "ted.compute"(%t, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#reversed], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %q : tensor<8xf32>, tensor<8xf32>
}

// It is the result itself.
// CHECK-LABEL: func.func @in_place_returned(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-NOT: memref
// CHECK: return
func.func @in_place_returned(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> tensor<8xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  return %t : tensor<8xf32>
}

// What is read at other points than are written is saved first.
// CHECK-LABEL: func.func @saved_read_across(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[SAVED:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT: memref.copy %[[OUT]], %[[SAVED]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
// CHECK: memref.load %[[SAVED]]
func.func @saved_read_across(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> tensor<8xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%t, %a, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.addf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#reversed, #i1], guards = [#all1, #all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// So is what a later kernel reads.
// CHECK-LABEL: func.func @saved_read_later(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %[[SECOND:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[SAVED:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT: memref.copy %[[OUT]], %[[SAVED]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
// CHECK: linalg.generic {{.*}} outs(%[[SECOND]]
// CHECK: memref.load %[[SAVED]]
func.func @saved_read_later(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = "ted.compute"(%t, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#reversed], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %q : tensor<8xf32>, tensor<8xf32>
}

// So is what is another result as it was.
// CHECK-LABEL: func.func @saved_returned(
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %[[SECOND:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[SAVED:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT: memref.copy %[[OUT]], %[[SAVED]]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}} outs(%[[OUT]]
// CHECK: memref.copy %[[SAVED]], %[[SECOND]]
func.func @saved_returned(%t: tensor<8xf32>, %a: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {ted.in_place = array<i64: 0, 0>} {
  %e = tensor.empty() : tensor<8xf32>
  %r = "ted.compute"(%a, %e) ({
  ^bb0(%A: f32):
    %u = math.exp %A : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all1,
    reads = [#i1], guards = [#all1], write = #i1, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %r, %t : tensor<8xf32>, tensor<8xf32>
}

// A row is read by what comes before the writer in its loop.
// CHECK-LABEL: func.func @in_place_row_by_row(
// CHECK-SAME: %[[A:.*]]: memref<8x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x32xf32> {llvm.noalias})
// CHECK-NOT: memref.copy
// CHECK: scf.for
// CHECK: memref.subview %[[OUT]]
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: arith.divf
// CHECK: } {ted.parallel}
// CHECK-NEXT: return
func.func @in_place_row_by_row(%x: tensor<8x32xf32>, %a: tensor<8x32xf32>)
    -> tensor<8x32xf32> attributes {ted.in_place = array<i64: 0, 0>} {
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
  %r = "ted.compute"(%a, %s, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.divf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// But not if it is another row.
// CHECK-LABEL: func.func @saved_sum_of_other_rows(
// CHECK-SAME: %[[A:.*]]: memref<8x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x32xf32> {llvm.noalias})
// CHECK: %[[SAVED:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK-NEXT: memref.copy %[[OUT]], %[[SAVED]]
// CHECK: scf.for
// CHECK: memref.subview %[[SAVED]]
// CHECK: arith.divf
func.func @saved_sum_of_other_rows(%x: tensor<8x32xf32>, %a: tensor<8x32xf32>)
    -> tensor<8x32xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#other_rows], guards = [#all2], write = #i, combiner = "add"
  } : (tensor<8x32xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %s, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.divf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 8, 32>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij, #i], guards = [#all2, #all2], write = #ij, combiner = "set"
  } : (tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Nor if a dim of one element stands before the rows.
// CHECK-LABEL: func.func @saved_rows_behind_a_unit_dim(
// CHECK-SAME: %[[A:.*]]: memref<8x32xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x32xf32> {llvm.noalias})
// CHECK: %[[SAVED:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK-NEXT: memref.copy %[[OUT]], %[[SAVED]]
// CHECK: scf.for
// CHECK: memref.subview %[[SAVED]]
// CHECK: arith.divf
func.func @saved_rows_behind_a_unit_dim(%x: tensor<1x8x32xf32>, %a: tensor<1x8x32xf32>)
    -> tensor<1x8x32xf32> attributes {ted.in_place = array<i64: 0, 0>} {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<1x8xf32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<1x8xf32>) -> tensor<1x8xf32>
  %e = tensor.empty() : tensor<1x8x32xf32>
  %s = "ted.compute"(%x, %z) ({
  ^bb0(%A: f32):
    "ted.yield"(%A) : (f32) -> ()
  }) {
    extents = array<i64: 1, 8, 32>, iterators = ["parallel", "parallel", "reduction"], domain = #all3,
    reads = [#other_rows3], guards = [#all3], write = #ij3, combiner = "add"
  } : (tensor<1x8x32xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %r = "ted.compute"(%a, %s, %e) ({
  ^bb0(%A: f32, %B: f32):
    %u = arith.divf %A, %B : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1, 8, 32>, iterators = ["parallel", "parallel", "parallel"], domain = #all3,
    reads = [#ijk3, #ij3], guards = [#all3, #all3], write = #ijk3, combiner = "set"
  } : (tensor<1x8x32xf32>, tensor<1x8xf32>, tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
  return %r : tensor<1x8x32xf32>
}
