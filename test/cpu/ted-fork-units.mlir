// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-fork-units)' | filecheck %s

// CHECK: llvm.func @ted_parallel_for(!llvm.ptr, !llvm.ptr, i64)
// CHECK: llvm.func @all_unit(%[[FRAME:.*]]: !llvm.ptr, %[[U:.*]]: i64)
// CHECK: %[[P:.*]] = llvm.getelementptr %[[FRAME]][0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, f32)>
// CHECK: %[[A:.*]] = llvm.load %[[P]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[FRAME]][0, 1]
// CHECK: %[[B:.*]] = llvm.load %[[Q]] : !llvm.ptr -> f32
// CHECK: llvm.call @one(%[[A]], %[[U]], %[[B]])
// CHECK: llvm.func @all(%[[B:.*]]: f32, %[[A:.*]]: !llvm.ptr) attributes {sym_visibility = "private"}
// CHECK: llvm.store %[[A]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: llvm.store %[[B]], %{{.*}} : f32, !llvm.ptr
// CHECK: %[[F:.*]] = llvm.mlir.addressof @all_unit
// CHECK: %[[N:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: llvm.call @ted_parallel_for(%[[F]], %{{.*}}, %[[N]])
// CHECK-NOT: llvm.cond_br
llvm.func @one(!llvm.ptr, i64, f32)
llvm.func @all(%b: f32, %a: !llvm.ptr) attributes {sym_visibility = "private", ted.units = 8 : i64} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %eight = llvm.mlir.constant(8 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%u: i64):
  %more = llvm.icmp "slt" %u, %eight : i64
  llvm.cond_br %more, ^bb2, ^bb3
^bb2:
  llvm.call @one(%a, %u, %b) : (!llvm.ptr, i64, f32) -> ()
  %next = llvm.add %u, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}
