// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-parallelize-kernels{grain=800})' | filecheck %s
// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-parallelize-kernels)' | filecheck %s --check-prefix=SHORT

// A map is cut along its first loop; the last unit has what is left. Fills go along.
// CHECK: func.func private @[[ALL:\w+]](%[[X:.*]]: memref<71x64xf32> {llvm.noalias}, %[[Y:.*]]: memref<71x64xf32> {llvm.noalias}) attributes {ted.units = 12 : i64}
// CHECK: scf.for %[[U:.*]] = %c0{{.*}} to %c12
// CHECK-NEXT: func.call @[[ONE:\w+]](%[[U]], %[[X]], %[[Y]])
// CHECK: func.func private @[[ONE]](%[[U:.*]]: index, %{{.*}}: memref<71x64xf32> {llvm.noalias}, %{{.*}}: memref<71x64xf32> {llvm.noalias})
// CHECK: %[[FULL:.*]] = arith.cmpi ult, %[[U]], %c11
// CHECK: scf.if %[[FULL]]
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0] [6, 64] [1, 1]
// CHECK: linalg.generic
// CHECK: else
// CHECK: memref.subview %{{.*}}[66, 0] [5, 64] [1, 1]
// CHECK: linalg.generic
// CHECK: func.func @map
// CHECK-NEXT: call @[[ALL]]
// SHORT-LABEL: func.func @map
// SHORT-NEXT: linalg.generic
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @map(%x: memref<71x64xf32> {llvm.noalias}, %y: memref<71x64xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<71x64xf32>) outs(%y : memref<71x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// The number of a point is that of the whole loop.
// CHECK: func.func private @{{\w+}}(%[[U:.*]]: index,
// CHECK: %[[FIRST:.*]] = arith.muli %[[U]], %c512
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK-NEXT: arith.addi %[[I]], %[[FIRST]]
// CHECK-LABEL: func.func @index
#line = affine_map<(d0) -> (d0)>
func.func @index(%y: memref<4096xi64> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#line], iterator_types = ["parallel"]} outs(%y : memref<4096xi64>) {
  ^bb0(%b: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  }
  return
}

// -----

// A sum of everything has a total for each unit; they are joined in their order.
// CHECK: func.func private @{{\w+}}(%[[U:.*]]: index, %{{.*}}: memref<[[N:[0-9]+]]xf32>
// CHECK: memref.subview %{{.*}}[%[[U]]] [1] [1]
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: linalg.fill ins(%[[ZERO]] : f32)
// CHECK: linalg.generic
// CHECK-LABEL: func.func @sum
// CHECK: %[[TOTALS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<[[N]]xf32>
// CHECK: call @sum_
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[TOTALS]] :
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
// CHECK: memref.dealloc %[[TOTALS]]
#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
func.func @sum(%x: memref<64x64xf32> {llvm.noalias}, %y: memref<f32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<64x64xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Columns stay apart in runs of neighbours: no total is needed.
// CHECK: memref.subview %{{.*}}[0, %{{.*}}] [64, 64] [1, 1]
// CHECK-LABEL: func.func @columns
// CHECK-NOT: memref.alloc
#rows = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @columns(%x: memref<64x256xf32> {llvm.noalias}, %y: memref<256xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x256xf32>) outs(%y : memref<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A loop that says that its iterations are apart is cut, with a buffer for each unit. One that does
// not is looked into.
// CHECK: func.func private @{{\w+}}(%[[U:.*]]: index, %{{.*}}: memref<32x4096xf32>, %[[T:.*]]: index)
// CHECK: %[[MINE:.*]] = memref.alloc() : memref<4096xf32>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[MINE]]
// CHECK: memref.dealloc %[[MINE]]
// CHECK-LABEL: func.func @loops
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[T:.*]] =
// CHECK-NEXT: func.call @loops_{{\w+}}(%{{.*}}, %[[T]])
func.func @loops(%x: memref<32x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  scf.for %t = %c0 to %c10 step %c1 {
    %buffer = memref.alloc() : memref<4096xf32>
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c128 step %c1 {
        %0 = memref.load %x[%i, %t] : memref<32x4096xf32>
        memref.store %0, %buffer[%j] : memref<4096xf32>
      }
      %1 = memref.load %buffer[%i] : memref<4096xf32>
      memref.store %1, %x[%i, %t] : memref<32x4096xf32>
    } {ted.parallel}
    memref.dealloc %buffer : memref<4096xf32>
  }
  return
}

// -----

// Few iterations are counted together with those of the loop that is all they do.
// CHECK: arith.divui %[[N:[a-z0-9]+]], %c100
// CHECK: arith.remui %[[N]], %c100
// CHECK-LABEL: func.func @nested
func.func @nested(%x: memref<2x100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c100 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<2x100xf32>
      %1 = math.sin %0 : f32
      memref.store %1, %x[%i, %j] : memref<2x100xf32>
    } {ted.parallel}
  } {ted.parallel}
  return
}

// -----

// What somebody asks for is obeyed, however short it is.
// SHORT: ted.units = 2
// SHORT-LABEL: func.func @asked
#asked = affine_map<(d0, d1) -> (d0, d1)>
func.func @asked(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#asked, #asked], iterator_types = ["parallel", "parallel"], ted.threads = {name = "slices", loop = 1 : i64, size = 4 : i64}} ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// Memory that stands outside of a loop around may keep a state: it stays one.
// CHECK-LABEL: func.func @state
// CHECK-NOT: call
// CHECK: return
func.func @state(%x: memref<32x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %h = memref.alloc() : memref<32xf32>
  scf.for %t = %c0 to %c10 step %c1 {
    scf.for %i = %c0 to %c32 step %c1 {
      %0 = memref.load %x[%i, %t] : memref<32x4096xf32>
      %1 = math.exp %0 : f32
      %2 = math.exp %1 : f32
      %3 = math.exp %2 : f32
      %4 = memref.load %h[%i] : memref<32xf32>
      %5 = arith.addf %3, %4 : f32
      memref.store %5, %h[%i] : memref<32xf32>
      memref.store %5, %x[%i, %t] : memref<32x4096xf32>
    } {ted.parallel}
  }
  memref.dealloc %h : memref<32xf32>
  return
}

// -----

// Equal cuts of one function share their functions.
// CHECK: func.func private @[[EQUAL:twice_[0-9a-f]+]](%{{.*}}) attributes {ted.units
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: call @[[EQUAL]](%arg0, %arg1)
// CHECK-NEXT: call @[[EQUAL]](%arg1, %arg0)
#twice = affine_map<(d0) -> (d0)>
func.func @twice(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#twice, #twice], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#twice, #twice], iterator_types = ["parallel"]} ins(%y : memref<4096xf32>) outs(%x : memref<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Results with gaps, or that meet, are not cut; a fill of what is read stays in front, by itself.
// CHECK: func.func private @[[PART:gaps_[0-9a-f]*]](%[[UNIT:.*]]: index, %[[X:.*]]: memref<4096xf32>)
// CHECK: %[[FIRST:.*]] = arith.muli %[[UNIT]], %c1024
// CHECK: %[[VIEW:.*]] = memref.subview %[[X]][%[[FIRST]]] [1024] [1]
// CHECK-NEXT: linalg.fill ins(%{{.*}} : f32) outs(%[[VIEW]]
// CHECK-LABEL: func.func @gaps
// CHECK: call @gaps_
// CHECK-NEXT: linalg.generic
#plain = affine_map<(d0) -> (d0)>
#gaps = affine_map<(d0) -> (d0 * 2)>
func.func @gaps(%x: memref<4096xf32>, %y: memref<8191xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4096xf32>)
  linalg.generic {indexing_maps = [#plain, #gaps], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%y : memref<8191xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK: func.func private @filled_input_
// CHECK-LABEL: func.func @filled_input
// CHECK: call
// CHECK-NEXT: call
#filled = affine_map<(d0) -> (d0)>
func.func @filled_input(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4096xf32>)
  linalg.generic {indexing_maps = [#filled, #filled], iterator_types = ["parallel"]} ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A sum along which the result moves has no totals.
// CHECK-LABEL: func.func @moving_sum
// CHECK-NOT: call
// CHECK: return
#sum_of_two = affine_map<(d0, d1) -> (d0 + d1)>
#read_two = affine_map<(d0, d1) -> (d0, d1)>
func.func @moving_sum(%x: memref<64x64xf32>, %y: memref<127xf32>) {
  linalg.generic {indexing_maps = [#read_two, #sum_of_two], iterator_types = ["reduction", "reduction"]} ins(%x : memref<64x64xf32>) outs(%y : memref<127xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Rows at data meet, their columns do not: each unit adds a strip of all rows, in their order.
// CHECK: func.func private @[[STRIP:rows_at_data_[0-9a-f]*]](%[[UNIT:.*]]: index,
// CHECK: %[[FIRST:.*]] = arith.muli %[[UNIT]], %c64
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK-NEXT: scf.for %[[J:.*]] = %{{.*}} to %c64{{.*}} step %c1
// CHECK-NEXT: arith.addi %[[J]], %[[FIRST]]
// CHECK: {ted.parallel_inside}
// CHECK-LABEL: func.func @rows_at_data
// CHECK-NOT: scf.for
// CHECK: call @rows_at_data_
func.func @rows_at_data(%v: memref<32x128xf32>, %at: memref<32xindex>, %y: memref<9000x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c32 step %c1 {
    scf.for %j = %c0 to %c128 step %c1 {
      %k = memref.load %at[%i] : memref<32xindex>
      %a = memref.load %v[%i, %j] : memref<32x128xf32>
      %b = memref.load %y[%k, %j] : memref<9000x128xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %y[%k, %j] : memref<9000x128xf32>
    } {ted.parallel}
  } {ted.parallel_inside}
  return
}

// -----

// A step of a recurrence may read what another one wrote elsewhere: the loop over time stays.
// CHECK-LABEL: func.func @over_time
// CHECK: scf.for
// CHECK: call @over_time_
func.func @over_time(%x: memref<32x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c31 step %c1 {
    scf.for %j = %c0 to %c4096 step %c1 {
      %next = arith.addi %i, %c1 : index
      %a = memref.load %x[%i, %j] : memref<32x4096xf32>
      memref.store %a, %x[%next, %j] : memref<32x4096xf32>
    } {ted.parallel}
  }
  return
}

// -----

// What stays in the second cache is written by one thread: strips would cost it half as much again.
// CHECK-LABEL: func.func @near_rows_at_data
// CHECK: scf.for
// CHECK: scf.for
func.func @near_rows_at_data(%v: memref<32x128xf32>, %at: memref<32xindex>, %y: memref<9x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c32 step %c1 {
    scf.for %j = %c0 to %c128 step %c1 {
      %k = memref.load %at[%i] : memref<32xindex>
      %a = memref.load %v[%i, %j] : memref<32x128xf32>
      %b = memref.load %y[%k, %j] : memref<9x128xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %y[%k, %j] : memref<9x128xf32>
    } {ted.parallel}
  } {ted.parallel_inside}
  return
}

// -----

// Bounds that a step moves: units are those of the most iterations, from the first one of the step on.
// CHECK: func.func private @{{triangle_[0-9a-f]*}}(%[[U:.*]]: index, %[[T:.*]]: index, %{{.*}}: memref<64x256xf32> {llvm.noalias})
// CHECK: %[[PART:.*]] = arith.muli %[[U]], %c[[SIZE:[0-9]+]]
// CHECK: %[[END:.*]] = arith.addi %[[PART]], %c[[SIZE]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[T]], %[[PART]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[T]], %{{.*}}
// CHECK: %[[LAST:.*]] = arith.minsi %[[BEHIND]], %c64
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK-LABEL: func.func @triangle
// CHECK: scf.for %[[T:.*]] =
// CHECK: call @triangle_
func.func @triangle(%x: memref<64x256xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %one = arith.constant 1.0 : f32
  scf.for %t = %c0 to %c64 step %c1 {
    scf.for %i = %t to %c64 step %c1 {
      scf.for %j = %c0 to %c256 step %c1 {
        memref.store %one, %x[%i, %j] : memref<64x256xf32>
      }
    } {ted.parallel}
  }
  return
}

// -----

// What a loop repeats on the same results is cut, and each unit runs the loop on its part. Where
// turns move through the results, or read them, the loop stays and each turn is cut.
// CHECK: func.func private @{{repeats_[0-9a-f]*}}(%[[U:.*]]: index,
// CHECK: scf.for %[[R:.*]] = %c0{{.*}} to %c32
// CHECK: memref.subview %{{.*}}[%[[R]], 0] [1, 4096]
// CHECK: linalg.generic
// CHECK-LABEL: func.func @repeats
// CHECK-NOT: scf.for
// CHECK: call @repeats_
// CHECK: scf.for
// CHECK: call @repeats_
// CHECK: scf.for
// CHECK: call @repeats_
#line = affine_map<(d0) -> (d0)>
func.func @repeats(%x: memref<32x4096xf32> {llvm.noalias}, %y: memref<4096xf32> {llvm.noalias}, %z: memref<32x4096xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %r = %c0 to %c32 step %c1 {
    %row = memref.subview %x[%r, 0] [1, 4096] [1, 1] : memref<32x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%row : memref<4096xf32, strided<[1], offset: ?>>) outs(%y : memref<4096xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  scf.for %r = %c0 to %c32 step %c1 {
    %row = memref.subview %z[%r, 0] [1, 4096] [1, 1] : memref<32x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%y : memref<4096xf32>) outs(%row : memref<4096xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  scf.for %r = %c0 to %c32 step %c1 {
    %row = memref.subview %x[%r, 0] [1, 4096] [1, 1] : memref<32x4096xf32> to memref<4096xf32, strided<[1], offset: ?>>
    %first = memref.subview %x[0, 0] [1, 4096] [1, 1] : memref<32x4096xf32> to memref<4096xf32, strided<[1]>>
    linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%row : memref<4096xf32, strided<[1], offset: ?>>) outs(%first : memref<4096xf32, strided<[1]>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return
}
