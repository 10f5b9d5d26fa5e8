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
