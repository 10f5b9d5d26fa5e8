// RUN: ted-opt %s --ted-leave-loops | filecheck %s

func.func private @ted_loop_goes_on(i1)

// CHECK-LABEL: @left_by_its_condition
// CHECK: scf.while (%[[T:.*]] = %c0) : (index) -> index {
// CHECK: memref.store %{{.*}}, %arg0[%[[T]]]
// CHECK: %[[GOING:.*]] = memref.load %arg1[]
// CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %c1
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %c9
// CHECK: %[[BOTH:.*]] = arith.andi %[[GOING]], %[[MORE]]
// CHECK: scf.condition(%[[BOTH]]) %[[NEXT]]
// CHECK-NOT: ted_loop_goes_on
func.func @left_by_its_condition(%a: memref<9xf64>, %p: memref<i1>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %t = %c0 to %c9 step %c1 {
    memref.store %zero, %a[%t] : memref<9xf64>
    %going = memref.load %p[] : memref<i1>
    func.call @ted_loop_goes_on(%going) : (i1) -> ()
  }
  return
}
