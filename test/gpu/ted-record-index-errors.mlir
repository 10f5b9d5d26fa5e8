// A report of a bad index becomes a record: the first one wins, and stores its value.
// RUN: ted-opt %s --ted-record-index-errors | filecheck %s
// RUN: sed 's/"table"/ /' %s | not ted-opt --ted-record-index-errors 2>&1 | filecheck %s --check-prefix=UNNAMED
// UNNAMED: a report of an index is of one of the 0 accesses that the module names, got number 0

// CHECK: module attributes {
// CHECK-SAME: ted.checks = {{\[}}["table", 0, 10, ""]]
// CHECK-NOT: @ted_index_error
module attributes {ted.indexed_tensors = ["table"]} {
  func.func private @ted_index_error(i64, i64, i64, i64)
  // CHECK: func.func @main(%{{.*}}: memref<7xi64>, %[[FLAG:.*]]: memref<4xi64>) attributes {ted.errors = 1
  func.func @main(%i: memref<7xi64>) {
    %c0 = arith.constant 0 : index
    %tensor = arith.constant 0 : i64
    %ten = arith.constant 10 : i64
    %v = memref.load %i[%c0] : memref<7xi64>
    %bad = arith.cmpi uge, %v, %ten : i64
    // CHECK: scf.if
    scf.if %bad {
      // CHECK: %[[CODE:.*]] = arith.constant 1 : i64
      // CHECK: %[[AT:.*]] = memref.extract_aligned_pointer_as_index %[[FLAG]]
      // CHECK: llvm.cmpxchg %{{.*}}, %{{.*}}, %[[CODE]] monotonic monotonic
      // CHECK: arith.cmpi eq
      // CHECK: memref.store %{{.*}}, %[[FLAG]][%{{.*}}]
      func.call @ted_index_error(%tensor, %tensor, %v, %ten) : (i64, i64, i64, i64) -> ()
    }
    return
  }
}
