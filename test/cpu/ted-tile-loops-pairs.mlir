// RUN: ted-opt --pass-pipeline='builtin.module(ted-tile-loops{cpu=avx512_bf16})' %s | filecheck %s

// Pairs are packed as elements of 32 bits; one instruction multiplies sixteen with a pair of A, totals are f32.
// CHECK-LABEL: func.func @pairs
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<16xi32>
// CHECK: %[[PAIR:.*]] = memref.load {{.*}}i32
// CHECK: vector.broadcast %[[PAIR]] : i32 to vector<16xi32>
// CHECK: llvm.bitcast {{.*}} : vector<16xi32> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK: return
func.func @pairs(%A: memref<32x64xi32>, %B: memref<64x16xi32>, %C: memref<32x16xf32>) {
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%A, %B : memref<32x64xi32>, memref<64x16xi32>) outs(%C : memref<32x16xf32>) attrs = {ted.contraction} {
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
