// Each operation gets the row of the table of strategies that has a plan for it; nothing is built.
// RUN: ted-opt %s --ted-choose-kernels | filecheck %s
// RUN: ted-opt %s --ted-choose-kernels=deterministic=false | filecheck %s --check-prefix=ATOMIC
// CHECK-NOT: gpu.launch

#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @points
// CHECK: {ted.strategy = {lanes = 4 : i64, name = "points"}}
func.func @points(%a: memref<512x512xf32>, %b: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<512x512xf32>) outs(%b : memref<512x512xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @transposed_tiles
// CHECK: {ted.strategy = {across = 0 : i64, name = "transposed_tiles"}}
func.func @transposed_tiles(%a: memref<128x64xf32>, %b: memref<64x128xf32>) {
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<128x64xf32>) outs(%b : memref<64x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// A copy of dense memory is the host's, any other one a map.
// CHECK-LABEL: func.func @copies_of_memory
// CHECK: memref.copy {{.*}} {ted.strategy = {name = "host_copy"}}
// CHECK: memref.copy {{.*}} {ted.strategy = {lanes = 1 : i64, name = "points"}}
func.func @copies_of_memory(%a: memref<64xf32>, %b: memref<64xf32>) {
  memref.copy %a, %b : memref<64xf32> to memref<64xf32>
  %c = memref.subview %a[0] [32] [2] : memref<64xf32> to memref<32xf32, strided<[2]>>
  %d = memref.subview %b[0] [32] [2] : memref<64xf32> to memref<32xf32, strided<[2]>>
  memref.copy %c, %d : memref<32xf32, strided<[2]>> to memref<32xf32, strided<[2]>>
  return
}

// CHECK-LABEL: func.func @reduction_by_threads
// CHECK: linalg.fill {ted.strategy = {name = "start"}}
// CHECK: linalg.generic
// CHECK: {ted.strategy = {chunks = 1 : i64, columns = 0 : i64, name = "reduction_by_threads", team = 1 : i64}}
func.func @reduction_by_threads(%a: memref<64x8xf32>, %b: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%b : memref<64xf32>)
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<64x8xf32>) outs(%b : memref<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @reduction_by_teams
// CHECK: {ted.strategy = {chunks = 1 : i64, columns = 0 : i64, name = "reduction_by_teams", team = 32 : i64}}
func.func @reduction_by_teams(%a: memref<640x100xf32>, %b: memref<640xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<640x100xf32>) outs(%b : memref<640xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @reduction_by_columns
// CHECK: {ted.strategy = {chunks = 1 : i64, columns = 32 : i64, name = "reduction_by_columns", team = 8 : i64}}
func.func @reduction_by_columns(%a: memref<100x640xf32>, %b: memref<640xf32>) {
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<100x640xf32>) outs(%b : memref<640xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @reduction_by_chunks
// CHECK: {ted.strategy = {chunks = {{[0-9]+}} : i64, columns = 0 : i64, name = "reduction_by_chunks", team = 256 : i64}}
func.func @reduction_by_chunks(%a: memref<2x100000xf32>, %b: memref<2xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<2x100000xf32>) outs(%b : memref<2xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @rows
// CHECK: {ted.strategy = {name = "rows", teams = 8 : i64, threads = 32 : i64}}
func.func @rows(%a: memref<64x8xf32>, %b: memref<64x8xf32>) {
  scf.forall (%i) in (64) {
    %x = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<64x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, 8] [1, 1] : memref<64x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%x : memref<8xf32, strided<[1], offset: ?>>) outs(%y : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%u: f32, %o: f32):
      %v = math.exp %u : f32
      linalg.yield %v : f32
    }
  }
  return
}

#ab = affine_map<(i, j, k) -> (i, k)>
#bb = affine_map<(i, j, k) -> (k, j)>
#cb = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @contraction(
// CHECK: name = "contraction", rows = {{[0-9]+}} : i64, splits = {{[0-9]+}} : i64, stages = {{[0-9]+}} : i64, template = "simt"
func.func @contraction(%a: memref<64x128xf32>, %b: memref<128x64xf32>, %c: memref<64x64xf32>) {
  linalg.generic {ted.contraction, indexing_maps = [#ab, #bb, #cb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x128xf32>, memref<128x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// The map behind it has no row of its own: the kernel does both.
// CHECK-LABEL: func.func @contraction_with_epilogue
// CHECK: name = "contraction_with_epilogue"
// CHECK-NOT: ted.strategy
// CHECK: return
func.func @contraction_with_epilogue(%a: memref<64x128xf32>, %b: memref<128x64xf32>, %d: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x64xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {ted.contraction, indexing_maps = [#ab, #bb, #cb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<64x128xf32>, memref<128x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<64x64xf32>) outs(%d : memref<64x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @pieces_in_cells
// CHECK: name = "pieces_in_cells"
// CHECK-NOT: ted.strategy
// CHECK: return
func.func @pieces_in_cells(%a: memref<32xf32>, %b: memref<64xf32>) {
  %even = memref.subview %b[0] [32] [2] : memref<64xf32> to memref<32xf32, strided<[2]>>
  %odd = memref.subview %b[1] [32] [2] : memref<64xf32> to memref<32xf32, strided<[2], offset: 1>>
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%a : memref<32xf32>) outs(%even : memref<32xf32, strided<[2]>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%a : memref<32xf32>) outs(%odd : memref<32xf32, strided<[2], offset: 1>>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @pieces_apart
// CHECK: name = "pieces_apart"
// CHECK-NOT: ted.strategy
// CHECK: return
func.func @pieces_apart(%a: memref<32xf32>, %b: memref<64xf32>) {
  %low = memref.subview %b[0] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1]>>
  %high = memref.subview %b[32] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1], offset: 32>>
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%a : memref<32xf32>) outs(%low : memref<32xf32, strided<[1]>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
      ins(%a : memref<32xf32>) outs(%high : memref<32xf32, strided<[1], offset: 32>>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  }
  return
}

#row = strided<[1], offset: ?>
#one = affine_map<(j) -> (j)>

// Threads share 1024 steps of 4 points; 32 steps are too few for that.
// CHECK-LABEL: func.func @shared_time
// CHECK: {ted.strategy = {chunks = 1 : i64, length = 1024 : i64, name = "shared_time", threads = 256 : i64}}
func.func @shared_time(%x: memref<1024x4xf32>, %h: memref<1025x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 1024 : index
  scf.for %t = %c0 to %end step %c1 {
    %next = affine.apply affine_map<(t) -> (t + 1)>(%t)
    %a = memref.subview %h[%t, 0] [1, 4] [1, 1] : memref<1025x4xf32> to memref<4xf32, #row>
    %b = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<1024x4xf32> to memref<4xf32, #row>
    %c = memref.subview %h[%next, 0] [1, 4] [1, 1] : memref<1025x4xf32> to memref<4xf32, #row>
    linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
        ins(%a, %b : memref<4xf32, #row>, memref<4xf32, #row>) outs(%c : memref<4xf32, #row>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %w = arith.addf %u, %v : f32
      linalg.yield %w : f32
    }
  }
  return
}

// CHECK-LABEL: func.func @point_loop
// CHECK: {ted.strategy = {name = "point_loop"}}
func.func @point_loop(%x: memref<32x4xf32>, %h: memref<33x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 32 : index
  scf.for %t = %c0 to %end step %c1 {
    %next = affine.apply affine_map<(t) -> (t + 1)>(%t)
    %a = memref.subview %h[%t, 0] [1, 4] [1, 1] : memref<33x4xf32> to memref<4xf32, #row>
    %b = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<32x4xf32> to memref<4xf32, #row>
    %c = memref.subview %h[%next, 0] [1, 4] [1, 1] : memref<33x4xf32> to memref<4xf32, #row>
    linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
        ins(%a, %b : memref<4xf32, #row>, memref<4xf32, #row>) outs(%c : memref<4xf32, #row>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %w = arith.addf %u, %v : f32
      linalg.yield %w : f32
    }
  }
  return
}

// CHECK-LABEL: func.func @prefix_scan
// CHECK: name = "prefix_scan"
func.func @prefix_scan(%x: memref<1024xf32>, %h: memref<1025xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 1024 : index
  scf.for %t = %c0 to %end step %c1 {
    %next = affine.apply affine_map<(t) -> (t + 1)>(%t)
    %a = memref.load %h[%t] : memref<1025xf32>
    %b = memref.load %x[%t] : memref<1024xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %h[%next] : memref<1025xf32>
  }
  return
}

// CHECK-LABEL: func.func @loop_points
// CHECK: {ted.parallel, ted.strategy = {name = "loop_points"}}
func.func @loop_points(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 5 : index
  scf.for %i = %c0 to %end step %c1 {
    %x = memref.load %a[%i] : memref<8xf32>
    %y = math.exp %x : f32
    memref.store %y, %a[%i] : memref<8xf32>
  } {ted.parallel}
  return
}

// Few elements and many updates: copies; many elements: chains; few updates: owners.
// CHECK-LABEL: func.func @copies
// CHECK: name = "copies"
// ATOMIC-LABEL: func.func @copies
// ATOMIC: {ted.strategy = {name = "atomics"}}
func.func @copies(%index: memref<9000xindex>, %x: memref<9000xf32>, %out: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 9000 : index
  scf.for %i = %c0 to %end step %c1 {
    %k = memref.load %index[%i] : memref<9000xindex>
    %a = memref.load %out[%k] : memref<5xf32>
    %b = memref.load %x[%i] : memref<9000xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%k] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func.func @chains
// CHECK: {ted.strategy = {name = "chains"}}
// ATOMIC-LABEL: func.func @chains
// ATOMIC: {ted.strategy = {name = "atomics"}}
func.func @chains(%index: memref<9000xindex>, %x: memref<9000xf32>, %out: memref<50000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 9000 : index
  scf.for %i = %c0 to %end step %c1 {
    %k = memref.load %index[%i] : memref<9000xindex>
    %a = memref.load %out[%k] : memref<50000xf32>
    %b = memref.load %x[%i] : memref<9000xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%k] : memref<50000xf32>
  }
  return
}

// CHECK-LABEL: func.func @owners
// CHECK: {ted.strategy = {name = "owners", parts = 256 : i64}}
// ATOMIC-LABEL: func.func @owners
// ATOMIC: {ted.strategy = {name = "atomics"}}
func.func @owners(%index: memref<90xindex>, %x: memref<90xf32>, %out: memref<500xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 90 : index
  scf.for %i = %c0 to %end step %c1 {
    %k = memref.load %index[%i] : memref<90xindex>
    %a = memref.load %out[%k] : memref<500xf32>
    %b = memref.load %x[%i] : memref<90xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%k] : memref<500xf32>
  }
  return
}

// Loops and conditions of the host have no row; what is inside has one.
// CHECK-LABEL: func.func @inside
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} {ted.strategy = {lanes = 1 : i64, name = "points"}}
// CHECK: linalg.generic {{.*}} {ted.strategy = {chunks = 1 : i64, columns = 0 : i64, name = "reduction_by_threads", team = 1 : i64}}
// CHECK-NOT: ted.strategy
// CHECK: return
func.func @inside(%a: memref<8x8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 3 : index
  scf.for %t = %c0 to %end step %c1 {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<8x8xf32>) outs(%a : memref<8x8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
    }
    linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<8x8xf32>) outs(%b : memref<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.addf %o, %x : f32
      linalg.yield %y : f32
    }
  }
  return
}

// What an operation asks for stays, and is completed.
// CHECK-LABEL: func.func @asked_for
// CHECK: {ted.strategy = {chunks = 1 : i64, columns = 0 : i64, name = "reduction_by_teams", team = 64 : i64}}
func.func @asked_for(%a: memref<64x8xf32>, %b: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"],
      ted.strategy = {name = "reduction_by_teams", team = 64}}
      ins(%a : memref<64x8xf32>) outs(%b : memref<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  }
  return
}

// A number that is put into memory is no copy of memory.
// CHECK-LABEL: func.func @number
// CHECK: ted.strategy = {lanes = 1 : i64, name = "points"}
func.func @number(%x: f32, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%x : f32) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
