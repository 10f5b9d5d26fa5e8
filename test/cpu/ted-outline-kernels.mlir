// RUN: ted-opt %s --split-input-file --pass-pipeline='builtin.module(ted-outline-kernels)' | filecheck %s

// Equal nests are one kernel, whatever their tensors are called. Memory that is no other stays so.
// CHECK: func.func private @[[K:kernel_[0-9a-f]+]](%{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<8xf32> {llvm.noalias})
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: func.func @equal_layers(%[[X:.*]]: memref<8xf32> {llvm.noalias}, %[[Y:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[H:.*]] = memref.alloc
// CHECK: call @[[K]](%[[X]], %[[H]])
// CHECK: call @[[K]](%[[H]], %[[Y]])
// CHECK: memref.dealloc %[[H]]
#id = affine_map<(d0) -> (d0)>
func.func @equal_layers(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %h = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%h : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } loc("first")
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%h : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } loc("second")
  memref.dealloc %h : memref<8xf32>
  return
}

// -----

// A number that only one of them has makes two of them, but where it is added or multiplied.
// CHECK-COUNT-2: func.func private @kernel_
// CHECK: func.func @constants_differ
func.func @constants_differ(%x: memref<8xf32>, %y: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  linalg.fill ins(%one : f32) outs(%x : memref<8xf32>)
  linalg.fill ins(%two : f32) outs(%y : memref<8xf32>)
  return
}

// -----

// The fill goes to what accumulates into the same memory, past an operation on other memory: tiles
// of a contraction start from it. Only one of two arguments is known to be no other.
// CHECK: func.func private @[[S:.*]](%[[OUT:.*]]: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<8x4xf32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[OUT]]
// CHECK-NEXT: linalg.generic
// CHECK: func.func private @[[C:.*]](%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>)
// CHECK-NEXT: memref.copy
// CHECK: func.func @fill_before_its_user
// CHECK-NOT: linalg
// CHECK: call @[[C]]
// CHECK-NEXT: call @[[S]]
func.func @fill_before_its_user(%x: memref<8x4xf32>, %y: memref<8xf32> {llvm.noalias}, %p: memref<4xf32>, %q: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8xf32>)
  memref.copy %p, %q : memref<4xf32> to memref<4xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x4xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A fill whose memory is read by a load, or never touched again, is a kernel of its own; one whose
// memory is freed takes the memory along.
// CHECK-COUNT-2: func.func private @kernel_
// CHECK: func.func private @kernel_{{[0-9a-f]+}}()
// CHECK: memref.alloc
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: memref.dealloc
// CHECK: func.func @fills_alone
// CHECK-NOT: memref.alloc
// CHECK: call @kernel_
// CHECK: call @kernel_
// CHECK-NEXT: memref.load
// CHECK: call @kernel_
// CHECK-NEXT: return
func.func @fills_alone(%y: memref<7xf32>, %z: memref<8xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = memref.alloc() : memref<6xf32>
  linalg.fill ins(%zero : f32) outs(%x : memref<6xf32>)
  memref.dealloc %x : memref<6xf32>
  linalg.fill ins(%zero : f32) outs(%y : memref<7xf32>)
  %0 = memref.load %y[%c0] : memref<7xf32>
  linalg.fill ins(%zero : f32) outs(%z : memref<8xf32>)
  return %0 : f32
}

// -----

// The number of an access is an argument, so that equal kernels may report different tensors.
// CHECK: func.func private @[[K:kernel_.*]](%[[X:.*]]: memref<1xi64>, %[[N:.*]]: i64)
// CHECK-NOT: arith.constant 3 : i64
// CHECK: call @ted_index_error(%[[N]],
// CHECK: func.func @index_errors
// CHECK: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK-NEXT: call @[[K]](%{{.*}}, %[[THREE]])
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK-NEXT: call @[[K]](%{{.*}}, %[[FOUR]])
func.func private @ted_index_error(i64, i64, i64, i64)
func.func @index_errors(%x: memref<1xi64>, %y: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  scf.for %i = %c0 to %c1 step %c1 {
    %0 = memref.load %x[%i] : memref<1xi64>
    %three = arith.constant 3 : i64
    func.call @ted_index_error(%three, %zero, %0, %zero) : (i64, i64, i64, i64) -> ()
  }
  scf.for %i = %c0 to %c1 step %c1 {
    %0 = memref.load %y[%i] : memref<1xi64>
    %four = arith.constant 4 : i64
    func.call @ted_index_error(%four, %zero, %0, %zero) : (i64, i64, i64, i64) -> ()
  }
  return
}

// -----

// Views are made again from the memory that they are of, which is passed once; so is a slot of the
// frame that only this kernel uses, directly or through a view.
// CHECK: func.func private @kernel_{{[0-9a-f]*}}(%[[X:.*]]: memref<8x4xf32> {llvm.noalias}, %[[I:.*]]: index)
// CHECK-DAG: memref.subview %[[X]][%[[I]], 0]
// CHECK-DAG: memref.subview %[[X]][3, 0]
// CHECK-DAG: memref.alloca() : memref<1x4xf32>
// CHECK: func.func @views
// CHECK-NOT: memref.alloca() : memref<1x4xf32>
// CHECK: %[[SHARED:.*]] = memref.alloca() : memref<2xf32>
// CHECK-NOT: memref.alloca() : memref<1x4xf32>
// CHECK: call @kernel_{{[0-9a-f]*}}(%{{.*}}, %{{.*}}) : (memref<8x4xf32>, index) -> ()
// CHECK: call @kernel_{{[0-9a-f]*}}(%[[SHARED]]) : (memref<2xf32>) -> ()
// CHECK: call @kernel_{{[0-9a-f]*}}(%[[SHARED]], %{{.*}})
func.func @views(%x: memref<8x4xf32> {llvm.noalias}, %i: index, %y: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %slot = memref.alloca() : memref<1x4xf32>
  %shared = memref.alloca() : memref<2xf32>
  %a = memref.subview %x[%i, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
  %b = memref.subview %x[3, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 12>>
  %s = memref.cast %slot : memref<1x4xf32> to memref<1x4xf32, strided<[4, 1]>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %c1 step %c1 {
    memref.copy %a, %s : memref<1x4xf32, strided<[4, 1], offset: ?>> to memref<1x4xf32, strided<[4, 1]>>
    memref.copy %slot, %b : memref<1x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 12>>
  }
  scf.for %k = %c0 to %c1 step %c1 {
    memref.store %zero, %shared[%k] : memref<2xf32>
  }
  memref.copy %shared, %y : memref<2xf32> to memref<2xf32>
  return
}

// -----

// Scalars go in and out.
// CHECK: func.func private @[[K:kernel_.*]](%{{.*}}: f32, %{{.*}}: memref<8xf32>) -> f32
// CHECK: func.func @scalars
// CHECK: %[[SUM:.*]] = call @[[K]](%{{.*}}, %{{.*}}) : (f32, memref<8xf32>) -> f32
// CHECK: return %[[SUM]]
func.func @scalars(%x: memref<8xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %init) -> f32 {
    %0 = memref.load %x[%i] : memref<8xf32>
    %1 = arith.addf %s, %0 : f32
    scf.yield %1 : f32
  }
  return %sum : f32
}

// -----

// Nothing is known of memory that is one or the other: what gives it stays, what uses it may not
// say that its arguments are apart.
// CHECK: func.func private @kernel_{{.*}}(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>) {
// CHECK: func.func @one_or_the_other
// CHECK: scf.if
// CHECK: call @kernel_
func.func @one_or_the_other(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}, %p: i1) {
  %m = scf.if %p -> memref<8xf32> {
    scf.yield %x : memref<8xf32>
  } else {
    scf.yield %y : memref<8xf32>
  }
  memref.copy %x, %m : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A layout with unknown numbers is no plain pointer: the loop stays where it is.
// CHECK-NOT: kernel_
// CHECK: func.func @unknown_layout
// CHECK-NEXT: memref.copy
func.func @unknown_layout(%x: memref<8xf32, strided<[?], offset: ?>>, %y: memref<8xf32>) {
  memref.copy %x, %y : memref<8xf32, strided<[?], offset: ?>> to memref<8xf32>
  return
}

// -----

// Numbers that are added and multiplied alone are arguments where kernels differ in them alone; 3 is
// the same in both, and of the last one the number is compared.
// CHECK: func.func private @[[MAXIMUM:kernel_[0-9a-f]+]](
// CHECK: func.func private @[[OTHER:kernel_[0-9a-f]+]](
// CHECK: func.func private @[[K:kernel_[0-9a-f]+]](%{{.*}}: memref<8xf32>, %[[N:.*]]: f32)
// CHECK-NEXT: %[[THREE:.*]] = arith.constant 3.0
// CHECK-NEXT: linalg.generic
// CHECK: arith.mulf %{{.*}}, %[[N]]
// CHECK: arith.addf %{{.*}}, %[[THREE]]
// CHECK-NOT: private
// CHECK: func.func @numbers_differ(%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK: %[[ONE:.*]] = arith.constant 1.0
// CHECK-NEXT: call @[[K]](%[[X]], %[[ONE]])
// CHECK: %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT: call @[[K]](%[[Y]], %[[TWO]])
// CHECK-NEXT: call @[[OTHER]](%[[X]])
// CHECK-NEXT: call @[[MAXIMUM]](%[[X]])
#id = affine_map<(d0) -> (d0)>
func.func @numbers_differ(%x: memref<8xf32>, %y: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %one : f32
    %1 = arith.addf %0, %three : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %two : f32
    %1 = arith.addf %0, %three : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.maximumf %a, %one : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.maximumf %a, %two : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// What takes a number from elsewhere is the same kernel.
// CHECK-COUNT-1: func.func private @kernel_
// CHECK-NOT: private
// CHECK-LABEL: func.func @number_given(%{{.*}}: memref<8xf32>, %[[N:.*]]: f32)
// CHECK: call @[[K:.*]](%{{.*}}, %[[N]])
// CHECK: call @[[K]](
// CHECK: call @[[K]](
#id = affine_map<(d0) -> (d0)>
func.func @number_given(%x: memref<8xf32>, %n: f32) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %n : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %one : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %two : f32
    linalg.yield %0 : f32
  }
  return
}
