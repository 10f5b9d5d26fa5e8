// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-store-bools-as-bytes)' | filecheck %s

// CHECK-LABEL: llvm.func @negate
// CHECK: %[[P:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: %[[BYTE:.*]] = llvm.load %[[P]] : !llvm.ptr -> i8
// CHECK: %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]]
// CHECK: %[[NOT:.*]] = llvm.xor %[[BIT]]
// CHECK: %[[WIDE:.*]] = llvm.zext %[[NOT]] : i1 to i8
// CHECK: llvm.store %[[WIDE]], %[[P]] : i8
llvm.func @negate(%p: !llvm.ptr, %i: i64) {
  %true = llvm.mlir.constant(true) : i1
  %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i1
  %x = llvm.load %q : !llvm.ptr -> i1
  %y = llvm.xor %x, %true : i1
  llvm.store %y, %q : i1, !llvm.ptr
  llvm.return
}
