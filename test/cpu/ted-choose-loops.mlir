// Each operation on memrefs gets the row of the table of strategies that has a plan; nothing is built.
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-loops{cpu=avx512})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-loops{cpu=avx2})' | filecheck %s --check-prefix=AVX2
// CHECK-NOT: vector.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @register_tiles
// CHECK: linalg.fill {ted.strategy = {name = "loops"}}
// CHECK: name = "register_tiles", pack_a = "none", pack_b = "none", row_blocks = 1 : i64, swapped = false, tile_rows = {{[0-9]+}} : i64, tile_vectors = {{[0-9]+}} : i64
// AVX2: {lanes = 4 : i64
func.func @register_tiles(%a: memref<40x30xf64>, %b: memref<30x50xf64>, %c: memref<40x50xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<40x50xf64>)
  linalg.generic {ted.contraction, indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<40x30xf64>, memref<30x50xf64>) outs(%c : memref<40x50xf64>) {
  ^bb0(%x: f64, %y: f64, %o: f64):
    %m = arith.mulf %x, %y : f64
    %s = arith.addf %o, %m : f64
    linalg.yield %s : f64
  }
  return
}

// CHECK-LABEL: func.func @transposed_tiles
// CHECK: {ted.strategy = {along = 0 : i64, name = "transposed_tiles", size = 16 : i64}}
// AVX2: {ted.strategy = {along = 0 : i64, name = "transposed_tiles", size = 8 : i64}}
func.func @transposed_tiles(%a: memref<70x40xf32>, %c: memref<40x70xf32>) {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<70x40xf32>) outs(%c : memref<40x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// 32768 columns in lanes of 4 registers take 1024 terms (AVX2), 4096 rows in one chain all of them.
// CHECK-LABEL: func.func @blocked_sums
// CHECK: {ted.strategy = {most = 128 : i64, name = "blocked_sums"}}
// CHECK: {ted.strategy = {most = 128 : i64, name = "blocked_sums"}}
func.func @blocked_sums(%a: memref<4096x64xf32>, %c: memref<64xf32>, %b: memref<8x32768xf32>, %d: memref<8xf32>) {
  linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<4096x64xf32>) outs(%c : memref<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%b : memref<8x32768xf32>) outs(%d : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @loops
// CHECK: {ted.strategy = {name = "loops"}}
func.func @loops(%a: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// What an operation asks for stays.
// CHECK-LABEL: func.func @asked_for
// CHECK: {ted.strategy = {name = "loops"}}
func.func @asked_for(%a: memref<70x40xf32>, %c: memref<40x70xf32>) {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"],
      ted.strategy = {name = "loops"}}
      ins(%a : memref<70x40xf32>) outs(%c : memref<40x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}
