// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-latches)' | filecheck %s

// CHECK-DAG: #[[DISABLED:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[SHORT:.*]] = #llvm.loop_annotation<unroll = #[[DISABLED]]>
// CHECK-DAG: #[[LONG:.*]] = #llvm.loop_annotation<interleave = #{{.*}}, unroll = #{{.*}}>

// CHECK-DAG: #[[WIDTH:.*]] = #llvm.loop_vectorize<width = 8 : i32>
// CHECK-DAG: #[[TWO:.*]] = #llvm.loop_interleave<count = 2 : i32>
// CHECK-DAG: #[[CALLS:.*]] = #llvm.loop_annotation<vectorize = #[[WIDTH]], interleave = #[[TWO]], unroll = #{{.*}}>

// CHECK-DAG: #[[EIGHT:.*]] = #llvm.loop_unroll<count = 8 : i32>
// CHECK-DAG: #[[MOVES:.*]] = #llvm.loop_annotation<unroll = #[[EIGHT]]>

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

// CHECK-LABEL: llvm.func @loops_of_63_and_64_trips
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[SHORT]]}
// CHECK: llvm.br ^bb4(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
llvm.func @loops_of_63_and_64_trips() {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %few = llvm.mlir.constant(63 : i64) : i64
  %many = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %few : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.br ^bb4(%zero : i64)
^bb4(%j: i64):
  %on = llvm.icmp "slt" %j, %many : i64
  llvm.cond_br %on, ^bb5, ^bb6
^bb5:
  %after = llvm.add %j, %one : i64
  llvm.br ^bb4(%after : i64)
^bb6:
  llvm.return
}

// The branch to the header may be the loop's own condition; other branches stay as they are.
// CHECK-LABEL: llvm.func @loop_of_one_block
// CHECK: llvm.br ^bb1(%{{.*}} : i64){{$}}
// CHECK: llvm.cond_br %{{.*}}, ^bb1(%{{.*}} : i64), ^bb2 {loop_annotation = #[[LONG]]}
llvm.func @loop_of_one_block() {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %many = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %next = llvm.add %i, %one : i64
  %go = llvm.icmp "slt" %next, %many : i64
  llvm.cond_br %go, ^bb1(%next : i64), ^bb2
^bb2:
  llvm.return
}

llvm.func @sine(f64) -> f64 attributes {ted.together = array<i64: 2, 8>}
llvm.func @other(f32) -> f32 attributes {ted.together = array<i64: 2, 16>}

// What is called in a long loop says for how many elements at once; four registers are under way.
// CHECK-LABEL: llvm.func @calls_in_a_long_loop
// CHECK: llvm.br ^bb1(%{{.*}}) {loop_annotation = #[[CALLS]]}
llvm.func @calls_in_a_long_loop(%x: f64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %y = llvm.call @sine(%x) : (f64) -> f64
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  %after = llvm.call @sine(%x) : (f64) -> f64
  llvm.return
}

// Two functions that want different numbers of elements get one register each.
// CHECK-LABEL: llvm.func @calls_that_do_not_agree
// CHECK: llvm.br ^bb1(%{{.*}}) {loop_annotation = #[[LONG]]}
llvm.func @calls_that_do_not_agree(%x: f64, %z: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %y = llvm.call @sine(%x) : (f64) -> f64
  %w = llvm.call @other(%z) : (f32) -> f32
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// A call behind a long loop is not one in it.
// CHECK-LABEL: llvm.func @call_behind_a_loop
// CHECK: llvm.br ^bb1(%{{.*}}) {loop_annotation = #[[LONG]]}
llvm.func @call_behind_a_loop(%x: f64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  %after = llvm.call @sine(%x) : (f64) -> f64
  llvm.return
}

// Reads at data, and little more: no vectoriser makes gathers of `unordered` reads; eight in a turn.
// CHECK-LABEL: llvm.func @moves_from_where_data_say
// CHECK: %[[AT:.*]] = llvm.load %{{[0-9]+}} : !llvm.ptr -> i64
// CHECK: llvm.load %{{.*}} atomic unordered {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[MOVES]]}
llvm.func @moves_from_where_data_say(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr, %w: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %q = llvm.getelementptr %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %y = llvm.fmul %x, %w : f32
  %r = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %y, %r : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// Vectors divide faster, although they gather.
// CHECK-LABEL: llvm.func @divides_what_it_gathers
// CHECK-NOT: unordered
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
llvm.func @divides_what_it_gathers(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr, %w: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %q = llvm.getelementptr %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %y = llvm.fdiv %x, %w : f32
  %r = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %y, %r : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// Rows that data choose are read as they lie: the index is another one in the outer loop only.
// CHECK-LABEL: llvm.func @rows_from_where_data_say
// CHECK-NOT: unordered
// CHECK: llvm.br ^bb3(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
llvm.func @rows_from_where_data_say(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb6
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %row = llvm.mul %at, %end : i64
  llvm.br ^bb3(%zero : i64)
^bb3(%j: i64):
  %on = llvm.icmp "slt" %j, %end : i64
  llvm.cond_br %on, ^bb4, ^bb5
^bb4:
  %place = llvm.add %row, %j : i64
  %q = llvm.getelementptr %from[%place] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %r = llvm.getelementptr %to[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %x, %r : f32, !llvm.ptr
  %after = llvm.add %j, %one : i64
  llvm.br ^bb3(%after : i64)
^bb5:
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb6:
  llvm.return
}

// A total that is carried has lanes of its own.
// CHECK-LABEL: llvm.func @adds_what_it_gathers
// CHECK-NOT: unordered
// CHECK: llvm.br ^bb1(%{{.*}}, %{{.*}} : i64, f32) {loop_annotation = #[[LONG]]}
llvm.func @adds_what_it_gathers(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr, %w: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero, %w : i64, f32)
^bb1(%i: i64, %s: f32):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %q = llvm.getelementptr %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %y = llvm.fadd %s, %x : f32
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next, %y : i64, f32)
^bb3:
  llvm.return
}

// No processor reads a bit by itself.
// CHECK-LABEL: llvm.func @gathers_bits
// CHECK-NOT: unordered
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[LONG]]}
llvm.func @gathers_bits(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr, %w: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(64 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %q = llvm.getelementptr %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i1
  %x = llvm.load %q : !llvm.ptr -> i1
  %r = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i1
  llvm.store %x, %r : i1, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// A short loop is not unrolled.
// CHECK-LABEL: llvm.func @moves_a_few
// CHECK-NOT: unordered
// CHECK: llvm.br ^bb1(%{{.*}} : i64) {loop_annotation = #[[SHORT]]}
llvm.func @moves_a_few(%to: !llvm.ptr, %from: !llvm.ptr, %indices: !llvm.ptr, %w: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %end = llvm.mlir.constant(8 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %go = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %p = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %at = llvm.load %p : !llvm.ptr -> i64
  %q = llvm.getelementptr %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %r = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %x, %r : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}
