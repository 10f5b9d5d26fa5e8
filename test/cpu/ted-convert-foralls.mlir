// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-convert-foralls)' | filecheck %s

// CHECK-LABEL: func.func @nest
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c8{{.*}} step %c1
// CHECK: scf.for %[[J:.*]] = %c2{{.*}} to %c16{{.*}} step %c4
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
// CHECK: } {ted.parallel}
// CHECK: } {ted.parallel}
// CHECK-NOT: scf.forall
func.func @nest(%x: memref<8x16xf32>, %v: f32) {
  scf.forall (%i, %j) = (0, 2) to (8, 16) step (1, 4) {
    memref.store %v, %x[%i, %j] : memref<8x16xf32>
  }
  return
}
