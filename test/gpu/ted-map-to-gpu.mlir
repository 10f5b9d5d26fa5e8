// Work on memrefs becomes kernels; each uses memory and loop counters of the host only.
// RUN: ted-opt %s --ted-map-to-gpu | filecheck %s
// RUN: ted-opt %s --ted-map-to-gpu=deterministic=false | filecheck %s --check-prefix=ATOMIC
// RUN: ted-opt %s --ted-map-to-gpu=tf32=true | filecheck %s --check-prefix=TF32

// CHECK-LABEL: func.func @element_wise
// CHECK: gpu.launch blocks(%[[B:arg[0-9]+]], {{.*}}) in ({{.*}} = %c2, {{.*}}) threads(%[[T:arg[0-9]+]], {{.*}}) in (%{{.*}} = %c256
// CHECK: %[[BASE:.*]] = arith.muli %[[B]], %{{.*}} : index
// CHECK: %[[I:.*]] = arith.addi %[[BASE]], %[[T]] : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK: scf.if %[[IN]]
// CHECK: memref.load %{{.*}}[%[[I]]] : memref<300xf32>
// CHECK: math.exp
// CHECK: memref.store
// CHECK-NOT: linalg
// CHECK: return
func.func @element_wise(%a: memref<6x50xf32>, %b: memref<6x50xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<6x50xf32>) outs(%b : memref<6x50xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  }
  return
}

// A total that starts from a constant needs no fill; 32 lanes walk along a row and join.
// CHECK-LABEL: func.func @row_sums
// CHECK: gpu.launch
// CHECK: arith.remui
// CHECK-COUNT-3: arith.addf {{.*}} : f32
// CHECK: %[[TOTAL:.*]] = scf.if
// CHECK: arith.addf {{.*}} : f32
// CHECK: gpu.shuffle xor %[[TOTAL]]
// CHECK: gpu.shuffle
// CHECK: memref.store
// CHECK: return
func.func @row_sums(%a: memref<64x100xf32>, %b: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%b : memref<64xf32>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : memref<64x100xf32>) outs(%b : memref<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// A block for each row; elements that only the thread uses that made them stay with it.
// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch {{.*}} in (%{{.*}} = %c5
// CHECK-NOT: workgroup
// CHECK: memref.alloca() : memref<8xf32, #gpu.address_space<private>>
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @rows(%a: memref<5x200xf32>, %b: memref<5x200xf32>) {
  scf.forall (%i) in (5) {
    %x = memref.subview %a[%i, 0] [1, 200] [1, 1]
      : memref<5x200xf32> to memref<1x200xf32, strided<[200, 1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, 200] [1, 1]
      : memref<5x200xf32> to memref<1x200xf32, strided<[200, 1], offset: ?>>
    %t = memref.alloc() : memref<1x200xf32>
    linalg.copy ins(%x : memref<1x200xf32, strided<[200, 1], offset: ?>>)
      outs(%t : memref<1x200xf32>)
    linalg.copy ins(%t : memref<1x200xf32>)
      outs(%y : memref<1x200xf32, strided<[200, 1], offset: ?>>)
  }
  return
}

// What other threads read is in shared memory, and waited for.
// CHECK-LABEL: func.func @rows_in_reverse
// CHECK: gpu.launch {{.*}} in (%{{.*}} = %c5
// CHECK-SAME: workgroup(%{{.*}} : memref<200xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-1: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @rows_in_reverse(%a: memref<5x200xf32>, %b: memref<5x200xf32>) {
  scf.forall (%i) in (5) {
    %x = memref.subview %a[%i, 0] [1, 200] [1, 1]
      : memref<5x200xf32> to memref<1x200xf32, strided<[200, 1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, 200] [1, 1]
      : memref<5x200xf32> to memref<1x200xf32, strided<[200, 1], offset: ?>>
    %t = memref.alloc() : memref<1x200xf32>
    linalg.copy ins(%x : memref<1x200xf32, strided<[200, 1], offset: ?>>)
      outs(%t : memref<1x200xf32>)
    linalg.generic {
      indexing_maps = [affine_map<(r, j) -> (r, -j + 199)>, affine_map<(r, j) -> (r, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%t : memref<1x200xf32>) outs(%y : memref<1x200xf32, strided<[200, 1], offset: ?>>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    }
  }
  return
}

// A thread for each point of the box around a triangle.
// CHECK-LABEL: func.func @triangle
// CHECK: gpu.launch
// CHECK: %[[ABOVE:.*]] = arith.cmpi sle
// CHECK: %[[UNDER:.*]] = arith.cmpi slt
// CHECK: %[[IN:.*]] = arith.andi %[[ABOVE]], %[[UNDER]]
// CHECK: scf.if %[[IN]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @triangle(%a: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %i to %c8 step %c1 {
      memref.store %zero, %a[%i, %j] : memref<8x8xf32>
    } {ted.parallel}
  } {ted.parallel}
  return
}

// Points that never meet: each thread runs through time by itself.
// CHECK-LABEL: func.func @points
// CHECK-NOT: scf.for
// CHECK: gpu.launch
// CHECK: scf.for %[[T:.*]] = %c0
// CHECK: memref.subview %{{.*}}[%[[T]], 0]
// CHECK: return
func.func @points(%a: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %t = %c0 to %c7 step %c1 {
    %n = arith.addi %t, %c1 : index
    %x = memref.subview %a[%t, 0] [1, 8] [1, 1]
      : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %y = memref.subview %a[%n, 0] [1, 8] [1, 1]
      : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%x : memref<8xf32, strided<[1], offset: ?>>)
      outs(%y : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%v: f32, %o: f32):
      %w = arith.mulf %v, %v : f32
      linalg.yield %w : f32
    }
  }
  return
}

// Where points meet, the loop over time stays on the host; its counter becomes a parameter.
// CHECK-LABEL: func.func @steps
// CHECK: scf.for %[[T:.*]] = %c0
// CHECK: gpu.launch
// CHECK: memref.subview %{{.*}}[%[[T]], 0]
// CHECK: return
func.func @steps(%a: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %t = %c0 to %c7 step %c1 {
    %n = arith.addi %t, %c1 : index
    %x = memref.subview %a[%t, 0] [1, 8] [1, 1]
      : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %y = memref.subview %a[%n, 0] [1, 8] [1, 1]
      : memref<8x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {
      indexing_maps = [affine_map<(i) -> (7 - i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%x : memref<8xf32, strided<[1], offset: ?>>)
      outs(%y : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
    }
  }
  return
}

// A thread owns a part of the result and looks at all writes; or there is a thread for each write.
// CHECK-LABEL: func.func @sums_at_data
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK-NOT: memref.atomic_rmw
// CHECK: arith.addf
// CHECK: memref.store
// CHECK: return
// ATOMIC-LABEL: func.func @sums_at_data
// ATOMIC: gpu.launch
// ATOMIC-NOT: scf.for
// ATOMIC: %[[I:.*]] = arith.index_cast
// ATOMIC: memref.atomic_rmw addf %{{.*}}, %{{.*}}[%[[I]]] : (f32, memref<500xf32>) -> f32
// ATOMIC-NOT: memref.store
// ATOMIC: return
func.func @sums_at_data(%index: memref<90xi64>, %x: memref<90xf32>, %out: memref<500xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  %c500 = arith.constant 500 : index
  scf.for %s = %c0 to %c90 step %c1 {
    %n = memref.load %index[%s] : memref<90xi64>
    %i = arith.index_cast %n : i64 to index
    %in = arith.cmpi ult, %i, %c500 : index
    scf.if %in {
      %v = memref.load %x[%s] : memref<90xf32>
      %old = memref.load %out[%i] : memref<500xf32>
      %new = arith.addf %old, %v : f32
      memref.store %new, %out[%i] : memref<500xf32>
    }
  }
  return
}

// No hardware has an atomic maximum of floats that keeps NaN.
// ATOMIC-LABEL: func.func @maxima_at_data
// ATOMIC-NOT: memref.atomic_rmw
// ATOMIC: arith.maximumf
// ATOMIC: return
func.func @maxima_at_data(%index: memref<90xi64>, %x: memref<90xf32>, %out: memref<500xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  %c500 = arith.constant 500 : index
  scf.for %s = %c0 to %c90 step %c1 {
    %n = memref.load %index[%s] : memref<90xi64>
    %i = arith.index_cast %n : i64 to index
    %in = arith.cmpi ult, %i, %c500 : index
    scf.if %in {
      %v = memref.load %x[%s] : memref<90xf32>
      %old = memref.load %out[%i] : memref<500xf32>
      %new = arith.maximumf %old, %v : f32
      memref.store %new, %out[%i] : memref<500xf32>
    }
  }
  return
}

// Nothing checks the index: the part that a thread owns is all that the update depends on.
// CHECK-LABEL: func.func @unchecked_sums_at_data
// CHECK: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c256
// CHECK: %[[FACTOR:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<90xf32>
// CHECK: %[[OWN:.*]] = arith.cmpi ult
// CHECK: scf.if %[[OWN]]
// CHECK: %[[OLD:.*]] = memref.load %{{.*}} : memref<500xf32>
// CHECK: arith.addf %[[OLD]], %[[FACTOR]]
// CHECK: return
func.func @unchecked_sums_at_data(
    %index: memref<90xi64>, %x: memref<90xf32>, %out: memref<500xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  scf.for %s = %c0 to %c90 step %c1 {
    %n = memref.load %index[%s] : memref<90xi64>
    %i = arith.index_cast %n : i64 to index
    %old = memref.load %out[%i] : memref<500xf32>
    %v = memref.load %x[%s] : memref<90xf32>
    %new = arith.addf %old, %v : f32
    memref.store %new, %out[%i] : memref<500xf32>
  }
  return
}

// What is read there goes into another element's value: the order matters.
// ATOMIC-LABEL: func.func @reads_what_it_wrote
// ATOMIC-NOT: memref.atomic_rmw
// ATOMIC: return
func.func @reads_what_it_wrote(%index: memref<90xi64>, %out: memref<500xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  scf.for %s = %c0 to %c90 step %c1 {
    %n = memref.load %index[%s] : memref<90xi64>
    %i = arith.index_cast %n : i64 to index
    %v = memref.load %out[%s] : memref<500xf32>
    %old = memref.load %out[%i] : memref<500xf32>
    %new = arith.addf %old, %v : f32
    memref.store %new, %out[%i] : memref<500xf32>
  }
  return
}

// A thread for each row; the sum over its columns, and one atomic update, are the thread's.
// ATOMIC-LABEL: func.func @sums_before_the_update
// ATOMIC: gpu.launch
// ATOMIC: scf.for
// ATOMIC: memref.atomic_rmw addi
// ATOMIC-NOT: scf.for
// ATOMIC: return
func.func @sums_before_the_update(%index: memref<90xi64>, %x: memref<90x8xi32>, %out: memref<5xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c90 = arith.constant 90 : index
  %zero = arith.constant 0 : i32
  scf.for %s = %c0 to %c90 step %c1 {
    %n = memref.load %index[%s] : memref<90xi64>
    %i = arith.index_cast %n : i64 to index
    %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%total = %zero) -> i32 {
      %v = memref.load %x[%s, %k] : memref<90x8xi32>
      %more = arith.addi %total, %v : i32
      scf.yield %more : i32
    }
    %old = memref.load %out[%i] : memref<5xi32>
    %new = arith.addi %old, %sum : i32
    memref.store %new, %out[%i] : memref<5xi32>
  }
  return
}

// Factors in f32 stay what they are, unless tensor cores may round them.
// CHECK-LABEL: func.func @product
// CHECK: gpu.launch_func @kernels::@contraction_0
// CHECK-NOT: nvgpu.mma.sync
// TF32-LABEL: func.func @product
// TF32: gpu.launch_func @kernels::@contraction_0
// TF32: nvvm.convert.float.to.tf32
// TF32: nvgpu.mma.sync({{.*}}) {mmaShape = [16, 8, 8], tf32Enabled}
func.func @product(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"], ted.contraction
  } ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.mulf %x, %y : f32
    %s = arith.addf %o, %z : f32
    linalg.yield %s : f32
  }
  return
}

// Even and odd elements in one kernel: a thread stores both as a vector, and needs no fill.
// CHECK-LABEL: func.func @residues
// CHECK-NOT: linalg
// CHECK: gpu.launch
// CHECK-NOT: workgroup
// CHECK: %[[PAIR:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: vector.store %[[PAIR]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @residues(%a: memref<50xf32>, %b: memref<50xf32>, %c: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<100xf32>)
  %even = memref.subview %c[0] [50] [2] : memref<100xf32> to memref<50xf32, strided<[2]>>
  linalg.copy ins(%a : memref<50xf32>) outs(%even : memref<50xf32, strided<[2]>>)
  %odd = memref.subview %c[1] [50] [2]
    : memref<100xf32> to memref<50xf32, strided<[2], offset: 1>>
  linalg.copy ins(%b : memref<50xf32>) outs(%odd : memref<50xf32, strided<[2], offset: 1>>)
  return
}

// Three elements are no vector: a block stores its cells from shared memory, in order.
// CHECK-LABEL: func.func @thirds
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<96xf32, #gpu.address_space<workgroup>>, %[[PLACES:.*]] : memref<96xi32
// CHECK: gpu.barrier
// CHECK: memref.load %[[PLACES]]
// CHECK: memref.store %{{.*}} : memref<90xf32>
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @thirds(%a: memref<30xf32>, %c: memref<90xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<90xf32>)
  %part = memref.subview %c[1] [30] [3] : memref<90xf32> to memref<30xf32, strided<[3], offset: 1>>
  linalg.copy ins(%a : memref<30xf32>) outs(%part : memref<30xf32, strided<[3], offset: 1>>)
  return
}

// Blocks of two copies are blocks of one kernel.
// CHECK-LABEL: func.func @behind_each_other
// CHECK: gpu.launch blocks(%[[B:arg[0-9]+]], {{.*}}) in ({{.*}} = %c2
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[B]], %c1
// CHECK: scf.if %[[FIRST]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @behind_each_other(%a: memref<4x7xf32>, %b: memref<4x9xf32>, %c: memref<4x16xf32>) {
  %left = memref.subview %c[0, 0] [4, 7] [1, 1]
    : memref<4x16xf32> to memref<4x7xf32, strided<[16, 1]>>
  linalg.copy ins(%a : memref<4x7xf32>) outs(%left : memref<4x7xf32, strided<[16, 1]>>)
  %right = memref.subview %c[0, 7] [4, 9] [1, 1]
    : memref<4x16xf32> to memref<4x9xf32, strided<[16, 1], offset: 7>>
  linalg.copy ins(%b : memref<4x9xf32>) outs(%right : memref<4x9xf32, strided<[16, 1], offset: 7>>)
  return
}

// A piece that reads what the piece before it wrote has its own kernel.
// CHECK-LABEL: func.func @one_reads_the_other
// CHECK: gpu.launch
// CHECK: gpu.launch
// CHECK: return
func.func @one_reads_the_other(%a: memref<50xf32>, %c: memref<100xf32>) {
  %even = memref.subview %c[0] [50] [2] : memref<100xf32> to memref<50xf32, strided<[2]>>
  linalg.copy ins(%a : memref<50xf32>) outs(%even : memref<50xf32, strided<[2]>>)
  %odd = memref.subview %c[1] [50] [2]
    : memref<100xf32> to memref<50xf32, strided<[2], offset: 1>>
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (-i + 49)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%even : memref<50xf32, strided<[2]>>) outs(%odd : memref<50xf32, strided<[2], offset: 1>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// Pieces that no fill comes before add to what is in memory, each of them: none starts from what
// the thread has for the one before, which is of another row.
// CHECK-LABEL: func.func @pieces_on_what_is_there
// CHECK: gpu.launch
// CHECK: scf.if
// CHECK: %[[UP:.*]] = memref.load %{{.*}} : memref<2x4xf32, strided<[8, 2]>>
// CHECK: arith.addf %[[UP]]
// CHECK: scf.if
// CHECK: %[[LOW:.*]] = memref.load %{{.*}} : memref<2x4xf32, strided<[8, 2], offset: 16>>
// CHECK: arith.mulf %[[LOW]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @pieces_on_what_is_there(%a: memref<2x4xf32>, %m: memref<4x8xf32>) {
  %upper = memref.subview %m[0, 0] [2, 4] [1, 2]
    : memref<4x8xf32> to memref<2x4xf32, strided<[8, 2]>>
  %lower = memref.subview %m[2, 0] [2, 4] [1, 2]
    : memref<4x8xf32> to memref<2x4xf32, strided<[8, 2], offset: 16>>
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<2x4xf32>) outs(%upper : memref<2x4xf32, strided<[8, 2]>>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<2x4xf32>) outs(%lower : memref<2x4xf32, strided<[8, 2], offset: 16>>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// The result may be in the memory of the input: what reads that stays in front of it.
// CHECK-LABEL: func.func @pieces_around_what_takes_over_their_input
// CHECK: gpu.launch blocks
// CHECK: arith.negf
// CHECK: gpu.launch blocks
// CHECK: arith.addf
// CHECK: gpu.launch blocks
// CHECK: return
func.func @pieces_around_what_takes_over_their_input(
    %x: memref<50xf32>, %y: memref<50xf32>, %r: memref<50xf32>, %m: memref<100xf32>)
    attributes {ted.donated = [array<i64: 0, 2>]} {
  %even = memref.subview %m[0] [50] [2] : memref<100xf32> to memref<50xf32, strided<[2]>>
  %odd = memref.subview %m[1] [50] [2] : memref<100xf32> to memref<50xf32, strided<[2], offset: 1>>
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<50xf32>) outs(%even : memref<50xf32, strided<[2]>>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.negf %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<50xf32>) outs(%r : memref<50xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%y : memref<50xf32>) outs(%odd : memref<50xf32, strided<[2], offset: 1>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// CHECK-LABEL: func.func @contraction_in_front_of_what_takes_over_its_factor
// CHECK: memref.alloc()
// CHECK: gpu.launch_func {{ *}}@kernels::@contraction
// CHECK: gpu.launch blocks
// CHECK: arith.negf
// CHECK: gpu.launch blocks
// CHECK: arith.addf
// CHECK: return
func.func @contraction_in_front_of_what_takes_over_its_factor(
    %x: memref<64x64xf32>, %w: memref<64x64xf32>, %r: memref<64x64xf32>, %y: memref<64x64xf32>)
    attributes {ted.donated = [array<i64: 0, 2>]} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<64x64xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<64x64xf32>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %w : memref<64x64xf32>, memref<64x64xf32>) outs(%t : memref<64x64xf32>)
    attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : memref<64x64xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.negf %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%t, %r : memref<64x64xf32>, memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
