// RUN: ted-opt --pass-pipeline='builtin.module(ted-tile-loops{cpu=avx512_amx})' %s | filecheck %s

// Tiles of two registers of rows by two of lanes. Their shapes are said once for all tiles of a size: 16 rows and then 8 of
// the last, 16 lanes and then 14, 16 pairs. Sums are read, stay in registers over 4 steps of 16 pairs, and are written.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[SHAPES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16xi32>
// CHECK: %[[SAID:.*]] = arith.constant dense<[1, 0, 0, 0, 3670080, 3670080, 4194368, 3670080, 0, 0, 0, 0, 269488144, 269488144, 0, 0]> : vector<16xi32>
// CHECK: vector.store %[[SAID]], %[[SHAPES]]
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[STEPS:.*]] step
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: }
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: arith.constant dense<[1, 0, 0, 0, 3670080, 4194368, 56, 0, 0, 0, 0, 0, 268961800, 16, 0, 0]> : vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @pairs(%A: memref<40x64xi32>, %B: memref<64x30xi32>, %C: memref<40x30xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<40x64xi32>, memref<64x30xi32>) outs(%C : memref<40x30xf32>) attrs = {ted.contraction} {
  ^bb0(%a: i32, %b: i32, %c: f32):
    %0 = arith.andi %a, %upper : i32
    %1 = arith.bitcast %0 : i32 to f32
    %2 = arith.andi %b, %upper : i32
    %3 = arith.bitcast %2 : i32 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = arith.addf %c, %4 : f32
    %6 = arith.shli %a, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.shli %b, %bits : i32
    %9 = arith.bitcast %8 : i32 to f32
    %10 = arith.mulf %7, %9 : f32
    %11 = arith.addf %5, %10 : f32
    linalg.yield %11 : f32
  }
  return
}

// Pairs of A are neighbours of bf16, read in place: rows are 128 pairs of 4 bytes apart, registers 16 of them.
// CHECK-LABEL: func.func @neighbours
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [8191], strides: [1]
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: scf.for %[[STEP:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[ROW:.*]] = arith.constant 16 : index
// CHECK: %[[PAIR:.*]] = arith.muli %[[STEP]], %[[ROW]]
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[HALF:.*]] = arith.muli %[[PAIR]], %[[TWO]]
// CHECK: %[[BYTES:.*]] = arith.constant 2 : index
// CHECK: arith.muli %[[HALF]], %[[BYTES]]
// CHECK: arith.constant 512 : i64
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @neighbours(%A: memref<32x256xbf16>, %B: memref<128x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  %low = memref.subview %A[0, 0] [32, 255] [1, 1] : memref<32x256xbf16> to memref<32x255xbf16, strided<[256, 1]>>
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, 2 * k)>, affine_map<(i, j, k) -> (i, 2 * k + 1)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%low, %A, %B : memref<32x255xbf16, strided<[256, 1]>>, memref<32x256xbf16>, memref<128x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}

// Halves that are not next to each other are no pairs.
// CHECK-LABEL: func.func @apart
// CHECK: linalg.generic
func.func @apart(%A: memref<32x258xbf16>, %B: memref<128x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, 2 * k)>, affine_map<(i, j, k) -> (i, 2 * k + 2)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %A, %B : memref<32x258xbf16>, memref<32x258xbf16>, memref<128x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}

// Nor are halves whose dim is not the contiguous one, whichever is.
// CHECK-LABEL: func.func @across
// CHECK: linalg.generic
func.func @across(%A: memref<32x16x16xbf16, strided<[1024, 2, 64]>>, %B: memref<16x8x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, r, k) -> (i, r, 2 * k)>, affine_map<(i, j, r, k) -> (i, r, 2 * k + 1)>, affine_map<(i, j, r, k) -> (r, k, j)>, affine_map<(i, j, r, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%A, %A, %B : memref<32x16x16xbf16, strided<[1024, 2, 64]>>, memref<32x16x16xbf16, strided<[1024, 2, 64]>>, memref<16x8x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}

// Nor are halves of two operands.
// CHECK-LABEL: func.func @of_two_operands
// CHECK: linalg.generic
func.func @of_two_operands(%A: memref<32x256xbf16>, %D: memref<32x256xbf16>, %B: memref<128x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, 2 * k)>, affine_map<(i, j, k) -> (i, 2 * k + 1)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %D, %B : memref<32x256xbf16>, memref<32x256xbf16>, memref<128x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}

// Nor are halves in rows of an odd number of them.
// CHECK-LABEL: func.func @in_odd_rows
// CHECK: linalg.generic
func.func @in_odd_rows(%A: memref<32x256xbf16, strided<[257, 1]>>, %B: memref<128x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, 2 * k)>, affine_map<(i, j, k) -> (i, 2 * k + 1)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %A, %B : memref<32x256xbf16, strided<[257, 1]>>, memref<32x256xbf16, strided<[257, 1]>>, memref<128x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}

// Nor are halves of which the lower one is odd.
// CHECK-LABEL: func.func @from_an_odd_one
// CHECK: linalg.generic
func.func @from_an_odd_one(%A: memref<32x258xbf16>, %B: memref<128x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, 2 * k + 1)>, affine_map<(i, j, k) -> (i, 2 * k + 2)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %A, %B : memref<32x258xbf16>, memref<32x258xbf16>, memref<128x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
  ^bb0(%l: bf16, %h: bf16, %b: i32, %c: f32):
    %0 = arith.extf %h : bf16 to f32
    %1 = arith.andi %b, %upper : i32
    %2 = arith.bitcast %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %c, %3 : f32
    %5 = arith.extf %l : bf16 to f32
    %6 = arith.shli %b, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.mulf %5, %7 : f32
    %9 = arith.addf %4, %8 : f32
    linalg.yield %9 : f32
  }
  return
}
