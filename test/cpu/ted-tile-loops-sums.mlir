// Sums whose totals take many terms one after another become sums of blocks.
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-tile-loops{cpu=avx2},canonicalize,cse)' | filecheck %s

#rc = affine_map<(r, c) -> (r, c)>
#c = affine_map<(r, c) -> (c)>

// 500 rows are 4 blocks of 125, whose totals join those of the result without `reassoc`.
// CHECK-LABEL: func.func @columns
// CHECK: %[[TOTALS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c4{{.*}} step
// CHECK: %[[FIRST:.*]] = arith.muli %[[K]], %c125
// CHECK: %[[ROWS:.*]] = memref.subview %{{.*}}[%[[FIRST]], 0] [125, 64]
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[TOTALS]]
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]} ins(%[[ROWS]] : {{.*}}) outs(%[[TOTALS]]
// CHECK: linalg.generic {{.*}}["parallel"]} ins(%[[TOTALS]] : {{.*}}) outs(%arg1
// CHECK: arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
func.func @columns(%a: memref<500x64xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<500x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  return
}

// 20011 rows are 156 blocks of 128, 13 of which have a total, and one of the 43 that are left.
// CHECK-LABEL: func.func @blocks_of_blocks
// CHECK: %[[MANY:.*]] = memref.alloca() {{.*}} memref<64xf32>
// CHECK: %[[ONE:.*]] = memref.alloca() {{.*}} memref<64xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to %c156{{.*}} step %c13
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c13
// CHECK: linalg.fill {{.*}} outs(%[[MANY]]
// CHECK: scf.for %[[K:.*]] = %[[FIRST]] to %[[END]] step %c1
// CHECK: memref.subview {{.*}} [128, 64]
// CHECK: linalg.generic {{.*}} outs(%[[ONE]] :
// CHECK: linalg.generic {{.*}} ins(%[[ONE]] {{.*}} outs(%[[MANY]] :
// CHECK: linalg.generic {{.*}} ins(%[[MANY]] {{.*}} outs(%arg1 :
// CHECK: memref.subview {{.*}}[19968, 0] [43, 64]
// CHECK: linalg.generic {{.*}} outs(%[[ONE]] :
// CHECK: linalg.generic {{.*}} ins(%[[ONE]] {{.*}} outs(%arg1 :
func.func @blocks_of_blocks(%a: memref<20011x64xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<20011x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  }
  return
}

// Of each matrix by itself, whose totals are one row; where points know their number, they keep it.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: %[[TOTALS:.*]] = memref.alloca() {{.*}} memref<1x64xf32>
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c3
// CHECK: scf.for %[[K:.*]] = %c0
// CHECK: %[[FIRST:.*]] = arith.muli %[[K]], %c125
// CHECK: linalg.generic {{.*}} outs(%[[TOTALS]] :
// CHECK: %[[R:.*]] = linalg.index 1
// CHECK: arith.addi %[[R]], %[[FIRST]]
// CHECK: arith.addf
// CHECK: linalg.generic
func.func @in_a_loop(%a: memref<3x500x64xf32>, %o: memref<3x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, r, c) -> (i, r, c)>, affine_map<(i, r, c) -> (i, c)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%a : memref<3x500x64xf32>) outs(%o : memref<3x64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %r = linalg.index 1 : index
    %n = arith.index_cast %r : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %x, %f : f32
    %s = arith.addf %t, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Totals that fill no stack are on the heap.
// CHECK-LABEL: func.func @many_columns
// CHECK: %[[TOTALS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<5000xf32>
// CHECK: scf.for
// CHECK: memref.dealloc %[[TOTALS]]
func.func @many_columns(%a: memref<500x5000xf32>, %o: memref<5000xf32>) {
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<500x5000xf32>) outs(%o : memref<5000xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  }
  return
}

// Few terms, columns that are unrolled so that lanes hold rows, products, and whole numbers stay.
// CHECK-LABEL: func.func @short_chains
// CHECK-NOT: scf.for
// CHECK: return
func.func @short_chains(%a: memref<128x64xf32>, %o: memref<64xf32>, %b: memref<2048x8xf32>, %p: memref<8xf32>,
    %m: memref<500x64xf32>, %n: memref<500x64xi32>, %q: memref<64xi32>) {
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<128x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%b : memref<2048x8xf32>) outs(%p : memref<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.addf %t, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%m : memref<500x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %s = arith.mulf %t, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rc, #c], iterator_types = ["reduction", "parallel"]}
      ins(%n : memref<500x64xi32>) outs(%q : memref<64xi32>) {
  ^bb0(%x: i32, %t: i32):
    %s = arith.addi %t, %x : i32
    linalg.yield %s : i32
  }
  return
}
