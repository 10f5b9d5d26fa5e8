// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-hide-identities)' | filecheck %s

// What a masked maximum takes elsewhere comes out of a register, once for two that take it.
// CHECK-LABEL: llvm.func @masked
// CHECK: %[[LOW:.*]] = llvm.mlir.constant(0xFF800000 : f32) : f32
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[LOW]] : f32 to i32
// CHECK: %[[SAME:.*]] = llvm.inline_asm "", "=r,0" %[[BITS]] : (i32) -> i32
// CHECK: %[[HIDDEN:.*]] = llvm.bitcast %[[SAME]] : i32 to f32
// CHECK-NOT: inline_asm
// CHECK: llvm.select %arg0, %arg1, %[[HIDDEN]]
// CHECK: llvm.select %arg0, %[[HIDDEN]], %arg2
llvm.func @masked(%c: i1, %x: f32, %y: f32, %total: f32) -> f32 {
  %low = llvm.mlir.constant(0xFF800000 : f32) : f32
  %a = llvm.select %c, %x, %low : i1, f32
  %b = llvm.select %c, %low, %y : i1, f32
  %m = llvm.intr.maximum(%total, %a) : (f32, f32) -> f32
  %n = llvm.intr.maxnum(%m, %b) : (f32, f32) -> f32
  llvm.return %n : f32
}

// Integers have their least and greatest, with a sign and without.
// CHECK-LABEL: llvm.func @integers
// CHECK-DAG: llvm.inline_asm "", "=r,0" %{{.*}} : (i64) -> i64
// CHECK-DAG: llvm.inline_asm "", "=r,0" %{{.*}} : (i32) -> i32
llvm.func @integers(%c: i1, %x: i64, %y: i32) -> i64 {
  %most = llvm.mlir.constant(9223372036854775807 : i64) : i64
  %none = llvm.mlir.constant(0 : i32) : i32
  %a = llvm.select %c, %x, %most : i1, i64
  %m = llvm.intr.smin(%x, %a) : (i64, i64) -> i64
  %b = llvm.select %c, %y, %none : i1, i32
  %n = llvm.intr.umax(%y, %b) : (i32, i32) -> i32
  %w = llvm.zext %n : i32 to i64
  %s = llvm.add %m, %w : i64
  llvm.return %s : i64
}

// Another number, the identity of the other one, and a type that is no whole register.
// CHECK-LABEL: llvm.func @apart
// CHECK-NOT: inline_asm
// CHECK: llvm.return
llvm.func @apart(%c: i1, %x: f32, %y: i32, %z: f16, %total: f32) -> f32 {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %low = llvm.mlir.constant(0xFF800000 : f32) : f32
  %none = llvm.mlir.constant(0 : i32) : i32
  %half = llvm.mlir.constant(0xFC00 : f16) : f16
  %a = llvm.select %c, %x, %zero : i1, f32
  %m = llvm.intr.maximum(%total, %a) : (f32, f32) -> f32
  %b = llvm.select %c, %x, %low : i1, f32
  %n = llvm.intr.minimum(%m, %b) : (f32, f32) -> f32
  %d = llvm.select %c, %y, %none : i1, i32
  %e = llvm.intr.smax(%y, %d) : (i32, i32) -> i32
  %h = llvm.select %c, %z, %half : i1, f16
  %i = llvm.intr.maximum(%z, %h) : (f16, f16) -> f16
  llvm.return %n : f32
}
