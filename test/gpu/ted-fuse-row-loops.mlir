// Loops over the same rows become one, and temporaries single rows, where each iteration is alone.
// RUN: ted-opt %s --ted-fuse-row-loops --split-input-file | filecheck %s

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

// -----

// A sum over the rows of a large loop is made by groups of rows, then over groups.
// CHECK-LABEL: func.func @sum_over_rows
// CHECK: %[[PARTS:.*]] = memref.alloc() : memref<586x1024xf32>
// CHECK: scf.forall (%[[G:.*]]) in (586)
// CHECK: %[[T:.*]] = memref.alloc() : memref<1024xf32>
// CHECK: linalg.fill {{.*}} outs(%[[T]]
// CHECK: arith.minui
// CHECK: scf.for
// CHECK: memref.subview %arg0[%[[I:.*]], 0]
// CHECK: memref.subview %arg1[%[[I]], 0]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : {{.*}}) outs(%[[T]]
// CHECK: arith.subf
// CHECK: %[[PART:.*]] = memref.subview %[[PARTS]][%[[G]], 0] [1, 1024]
// CHECK: memref.copy %[[T]], %[[PART]]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[PARTS]] : {{.*}}) outs(%arg2
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
#i_j = affine_map<(i, j) -> (i, j)>
#_j = affine_map<(i, j) -> (j)>
func.func @sum_over_rows(%x: memref<4097x1024xf32>, %y: memref<4097x1024xf32>, %s: memref<1024xf32>) {
  scf.forall (%i) in (4097) {
    %a = memref.subview %x[%i, 0] [1, 1024] [1, 1] : memref<4097x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
    %b = memref.subview %y[%i, 0] [1, 1024] [1, 1] : memref<4097x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
    memref.copy %a, %b : memref<1x1024xf32, strided<[1024, 1], offset: ?>> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
  }
  linalg.generic {indexing_maps = [#i_j, #_j], iterator_types = ["reduction", "parallel"]}
    ins(%y : memref<4097x1024xf32>) outs(%s : memref<1024xf32>) {
  ^bb0(%u: f32, %t: f32):
    %v = arith.subf %t, %u : f32
    linalg.yield %v : f32
  }
  return
}

// -----

// Few rows are still in the cache when they are read again.
// CHECK-LABEL: func.func @few_rows
// CHECK: scf.forall (%{{.*}}) in (40)
// CHECK: linalg.generic {{.*}} ins(%arg1
#i_j = affine_map<(i, j) -> (i, j)>
#_j = affine_map<(i, j) -> (j)>
func.func @few_rows(%x: memref<40x1024xf32>, %y: memref<40x1024xf32>, %s: memref<1024xf32>) {
  scf.forall (%i) in (40) {
    %a = memref.subview %x[%i, 0] [1, 1024] [1, 1] : memref<40x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
    %b = memref.subview %y[%i, 0] [1, 1024] [1, 1] : memref<40x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
    memref.copy %a, %b : memref<1x1024xf32, strided<[1024, 1], offset: ?>> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
  }
  linalg.generic {indexing_maps = [#i_j, #_j], iterator_types = ["reduction", "parallel"]}
    ins(%y : memref<40x1024xf32>) outs(%s : memref<1024xf32>) {
  ^bb0(%u: f32, %t: f32):
    %v = arith.addf %t, %u : f32
    linalg.yield %v : f32
  }
  return
}

// -----

// A sum along the rows that a loop reads, and its start, are made in the loop; one that needs the number of the row, and
// one of other memory, stay.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @a_sum_of_the_same_rows
// CHECK: scf.forall (%[[I:.*]]) in (4)
// CHECK: memref.copy
// CHECK: %[[S:.*]] = memref.subview %arg2[%[[I]]]
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[S]]
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[S]]
// CHECK-NOT: scf.forall
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<4x8xf32>) outs(%arg3
// CHECK: linalg.generic {{.*}} ins(%arg1 : memref<4x8xf32>) outs(%arg4
func.func @a_sum_of_the_same_rows(%x: memref<4x8xf32>, %z: memref<4x8xf32>, %s: memref<4xf32>, %t: memref<4xf32>, %u: memref<4xf32>, %y: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %a = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %b = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    memref.copy %a, %b : memref<1x8xf32, strided<[8, 1], offset: ?>> to memref<1x8xf32, strided<[8, 1], offset: ?>>
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<4xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<4x8xf32>) outs(%s : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  linalg.fill ins(%zero : f32) outs(%t : memref<4xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<4x8xf32>) outs(%t : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %k = linalg.index 0 : index
    %n = arith.index_cast %k : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = arith.mulf %a, %f : f32
    %c = arith.addf %b, %m : f32
    linalg.yield %c : f32
  }
  linalg.fill ins(%zero : f32) outs(%u : memref<4xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
    ins(%z : memref<4x8xf32>) outs(%u : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  return
}
