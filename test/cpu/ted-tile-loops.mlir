// RUN: ted-opt --pass-pipeline='builtin.module(ted-tile-loops{cpu=avx512},canonicalize,cse)' %s | filecheck %s

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>

// One tile: 8 rows of one register each are carried through the loop over k; the fill is gone.
// CHECK-LABEL: func.func @accumulators_stay_in_registers
// CHECK-NOT: linalg.fill
// CHECK-NOT: vector.load
// CHECK: scf.for
// CHECK-SAME: iter_args
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.broadcast {{.*}} f32 to vector<16xf32>
// CHECK: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK: scf.yield
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @accumulators_stay_in_registers(%A: memref<8x64xf32>, %B: memref<64x16xf32>, %C: memref<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%C : memref<8x16xf32>)
  linalg.generic {indexing_maps = [#ik, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<8x64xf32>, memref<64x16xf32>) outs(%C : memref<8x16xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// 19 columns are one whole register and three lanes of a second one.
// CHECK-LABEL: func.func @ragged_columns
// CHECK-DAG: vector.constant_mask [3] : vector<16xi1>
// CHECK: vector.maskedload
// CHECK: vector.fma
// CHECK: vector.maskedstore
// CHECK: return
func.func @ragged_columns(%A: memref<8x64xf32>, %B: memref<64x19xf32>, %C: memref<8x19xf32>) {
  linalg.generic {indexing_maps = [#ik, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<8x64xf32>, memref<64x19xf32>) outs(%C : memref<8x19xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// The transposed input is packed by register transposition before the rows go by.
// CHECK-LABEL: func.func @transposed_input
// CHECK: memref.alloca
// CHECK: vector.shuffle
// CHECK: vector.store
// CHECK: vector.fma
// CHECK: return
func.func @transposed_input(%A: memref<32x64xf32>, %B: memref<16x64xf32>, %C: memref<32x16xf32>) {
  linalg.generic {indexing_maps = [#ik, #jk, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<32x64xf32>, memref<16x64xf32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// The window is read in place: no copy of the image, no packed panel.
// CHECK-LABEL: func.func @overlapping_windows
// CHECK-NOT: memref.alloc
// CHECK: vector.fma
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @overlapping_windows(%A: memref<1x10x10x16xf32>, %B: memref<3x3x16x32xf32>, %C: memref<1x8x8x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, p, q, c) -> (n, y + p, x + q, c)>, affine_map<(n, y, x, f, p, q, c) -> (p, q, c, f)>, affine_map<(n, y, x, f, p, q, c) -> (n, y, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%A, %B : memref<1x10x10x16xf32>, memref<3x3x16x32xf32>) outs(%C : memref<1x8x8x32xf32>) attrs = {ted.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @unclaimed_generics_stay
// CHECK: linalg.generic
func.func @unclaimed_generics_stay(%A: memref<8x64xf32>, %B: memref<64x16xf32>, %C: memref<8x16xf32>) {
  linalg.generic {indexing_maps = [#ik, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<8x64xf32>, memref<64x16xf32>) outs(%C : memref<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Threads do not share scratch: inside a parallel loop it comes from the heap, and goes back.
// CHECK-LABEL: func.func @inside_a_parallel_loop
// CHECK-NOT: memref.alloca
// CHECK: scf.forall
// CHECK: memref.alloc()
// CHECK: vector.fma
// CHECK: memref.dealloc
func.func @inside_a_parallel_loop(%A: memref<4x32x64xf32>, %B: memref<16x64xf32>, %C: memref<4x32x16xf32>) {
  scf.forall (%i) in (4) {
    %a = memref.subview %A[%i, 0, 0][1, 32, 64][1, 1, 1] : memref<4x32x64xf32> to memref<32x64xf32, strided<[64, 1], offset: ?>>
    %c = memref.subview %C[%i, 0, 0][1, 32, 16][1, 1, 1] : memref<4x32x16xf32> to memref<32x16xf32, strided<[16, 1], offset: ?>>
    linalg.generic {indexing_maps = [#ik, #jk, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %B : memref<32x64xf32, strided<[64, 1], offset: ?>>, memref<16x64xf32>) outs(%c : memref<32x16xf32, strided<[16, 1], offset: ?>>) attrs = {ted.contraction} {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
  }
  return
}
