// RUN: ted-opt %s --ted-time-kernels | filecheck %s

// A clock is read before and after each call; what is between two calls belongs to none. Behind it is
// asked what the call met of small numbers.
// CHECK: func.func private @ted_nanoseconds() -> i64
// CHECK: func.func private @ted_small_met() -> i64
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: memref<4xf32> {llvm.noalias}, %[[TIMES:.*]]: memref<6xi64>)
// CHECK: memref.alloc
// CHECK: %[[A:.*]] = call @ted_nanoseconds
// CHECK: memref.store %[[A]], %[[TIMES]][%c0
// CHECK: call @kernel(%[[X]]
// CHECK: %[[B:.*]] = call @ted_nanoseconds
// CHECK: memref.store %[[B]], %[[TIMES]][%c1
// CHECK: %[[MET:.*]] = call @ted_small_met
// CHECK: memref.store %[[MET]], %[[TIMES]][%c2
// CHECK: call @ted_nanoseconds
// CHECK: call @kernel
// CHECK: call @ted_nanoseconds
// CHECK: call @ted_small_met
// CHECK: memref.dealloc
func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
func.func @main(%x: memref<4xf32> {llvm.noalias}) {
  %t = memref.alloc() : memref<4xf32>
  call @kernel(%x, %t) : (memref<4xf32>, memref<4xf32>) -> ()
  call @kernel(%t, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  memref.dealloc %t : memref<4xf32>
  return
}
