// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-latches)' | filecheck %s

// CHECK-DAG: #[[SHORT:.*]] = #llvm.loop_annotation<unroll = #{{[a-z_]+}}>
// CHECK-DAG: #[[LONG:.*]] = #llvm.loop_annotation<interleave = #{{.*}}, unroll = #{{.*}}>

// CHECK-LABEL: llvm.func @long_loop
// CHECK: llvm.br ^bb1(%{{.*}} : i64){{$}}
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
llvm.func @long_loop(%p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(1000 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// CHECK-LABEL: llvm.func @loop_of_unknown_length
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[SHORT]]}
llvm.func @loop_of_unknown_length(%end: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}
