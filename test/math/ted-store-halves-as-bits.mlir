// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-store-halves-as-bits)' | filecheck %s

// CHECK-LABEL: @moved
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: %[[K:.*]] = llvm.mlir.constant(16320 : i16) : i16
// CHECK: %[[S:.*]] = llvm.select %{{.*}}, %[[X]], %[[K]] : i1, i16
// CHECK: llvm.cond_br %{{.*}}, ^[[B:.*]](%[[S]] : i16), ^[[B]](%[[X]] : i16)
// CHECK: ^[[B]](%[[Z:.*]]: i16):
// CHECK: llvm.getelementptr %{{.*}}[3] : (!llvm.ptr) -> !llvm.ptr, i16
// CHECK: llvm.store %[[Z]], %{{.*}} : i16, !llvm.ptr
llvm.func @moved(%p: !llvm.ptr, %q: !llvm.ptr, %c: i1) {
  %x = llvm.load %p : !llvm.ptr -> bf16
  %k = llvm.mlir.constant(1.5 : bf16) : bf16
  %s = llvm.select %c, %x, %k : i1, bf16
  llvm.cond_br %c, ^join(%s : bf16), ^join(%x : bf16)
^join(%z: bf16):
  %g = llvm.getelementptr %q[3] : (!llvm.ptr) -> !llvm.ptr, bf16
  llvm.store %z, %g : bf16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: @vectors
// CHECK: llvm.mlir.constant(dense<-16384> : vector<2xi16>) : vector<2xi16>
// CHECK: llvm.store %{{.*}} : vector<2xi16>, !llvm.ptr
llvm.func @vectors(%p: !llvm.ptr) {
  %k = llvm.mlir.constant(dense<-2.0> : vector<2xf16>) : vector<2xf16>
  llvm.store %k, %p : vector<2xf16>, !llvm.ptr
  llvm.return
}

// What computed the bits, or computes with them, needs no cast.
// CHECK-LABEL: @bits
// CHECK-NEXT: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK-NEXT: %[[Y:.*]] = llvm.or %[[X]], %[[X]] : i16
// CHECK-NEXT: llvm.store %[[Y]], %{{.*}} : i16, !llvm.ptr
llvm.func @bits(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> bf16
  %b = llvm.bitcast %x : bf16 to i16
  %o = llvm.or %b, %b : i16
  %y = llvm.bitcast %o : i16 to bf16
  llvm.store %y, %p : bf16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: @instructions
// CHECK: %[[H:.*]] = llvm.bitcast %{{.*}} : i16 to f16
// CHECK: %[[W:.*]] = llvm.fpext %[[H]] : f16 to f32
// CHECK: %[[N:.*]] = llvm.fptrunc %[[W]] : f32 to f16
// CHECK: %[[B:.*]] = llvm.bitcast %[[N]] : f16 to i16
// CHECK: llvm.store %[[B]], %{{.*}} : i16, !llvm.ptr
llvm.func @instructions(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f16
  %w = llvm.fpext %x : f16 to f32
  %n = llvm.fptrunc %w : f32 to f16
  llvm.store %n, %p : f16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: @other_types
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
llvm.func @other_types(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f32
  llvm.store %x, %p : f32, !llvm.ptr
  llvm.return
}

// Instructions on vectors of bf16 take them as such: registers have no type.
// CHECK-LABEL: llvm.func @instruction
// CHECK: %[[X:.*]] = llvm.bitcast %arg1 : vector<16xi32> to vector<32xi16>
// CHECK: llvm.bitcast %[[X]] : vector<32xi16> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
llvm.func @instruction(%c: vector<16xf32>, %a: vector<16xi32>) -> vector<16xf32> {
  %x = llvm.bitcast %a : vector<16xi32> to vector<32xbf16>
  %r = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%c, %x, %x) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  llvm.return %r : vector<16xf32>
}
