// Loops over the same rows become one, and temporaries single rows, where each iteration is alone.
// RUN: ted-opt %s --ted-join-rows --split-input-file | filecheck %s

#ij = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @one_makes_what_the_other_reads
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[I:.*]]) in (4)
// CHECK-NEXT: %[[T:.*]] = memref.alloc() : memref<1x8xf32>
// CHECK: linalg.generic {{.*}} outs(%[[T]]
// CHECK-NOT: scf.forall
// CHECK: memref.subview %arg1[%[[I]], 0]
// CHECK: linalg.generic {{.*}} ins(%[[T]]
// CHECK-NOT: scf.forall
func.func @one_makes_what_the_other_reads(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %t = memref.alloc() : memref<4x8xf32>
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %t[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<1x8xf32, strided<[8, 1], offset: ?>>) outs(%b : memref<1x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%u: f32, %v: f32):
      linalg.yield %u : f32
    }
  }
  scf.forall (%k) in (4) {
    %a = memref.subview %t[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %y[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<1x8xf32, strided<[8, 1], offset: ?>>) outs(%b : memref<1x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%u: f32, %v: f32):
      linalg.yield %u : f32
    }
  }
  return
}

// -----

// The second loop reads a row that another iteration of the first one makes.
// CHECK-LABEL: func.func @another_row
// CHECK-COUNT-2: scf.forall
func.func @another_row(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %t: memref<4x8xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %t[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  scf.forall (%k) in (4) {
    %a = memref.subview %t[3, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: 24>>
    %b = memref.subview %y[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: 24>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}

// -----

// Between the loops stands what reads the rows of the first and makes the start of the second.
// CHECK-LABEL: func.func @something_between
// CHECK: scf.forall
// CHECK: memref.copy %arg1, %arg2
// CHECK: scf.forall
func.func @something_between(%x: memref<4x8xf32>, %s: memref<4x8xf32>, %t: memref<4x8xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %s[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  memref.copy %s, %t : memref<4x8xf32> to memref<4x8xf32>
  scf.forall (%k) in (4) {
    %a = memref.subview %x[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %t[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}

// -----

// The second loop needs the copy, which the first one does not touch: the first goes down.
// CHECK-LABEL: func.func @the_first_goes_down
// CHECK: memref.copy %arg0, %arg2
// CHECK: scf.forall (%[[I:.*]]) in (4)
// CHECK: memref.subview %arg1[%[[I]], 0]
// CHECK: memref.subview %arg2[%[[I]], 0]
// CHECK-NOT: scf.forall
func.func @the_first_goes_down(%x: memref<4x8xf32>, %s: memref<4x8xf32>, %t: memref<4x8xf32>, %y: memref<4x8xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %s[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  memref.copy %x, %t : memref<4x8xf32> to memref<4x8xf32>
  scf.forall (%k) in (4) {
    %a = memref.subview %t[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %y[%k, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  return
}
