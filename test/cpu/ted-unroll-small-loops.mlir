// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-unroll-small-loops)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-unroll-small-loops{limit=1 row=0 search=0})' | filecheck %s --check-prefix=KEPT

// A window of two in each pixel becomes straight-line code.
// CHECK-LABEL: func.func @window
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: memref.load
// CHECK: memref.load
// CHECK: return
// KEPT-LABEL: func.func @window
// KEPT: scf.for
// KEPT: scf.for
func.func @window(%a: memref<64x2xf32>, %b: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %s = scf.for %r = %c0 to %c2 step %c1 iter_args(%t = %z) -> (f32) {
      %x = memref.load %a[%i, %r] : memref<64x2xf32>
      %u = arith.addf %t, %x : f32
      scf.yield %u : f32
    }
    memref.store %s, %b[%i] : memref<64xf32>
  }
  return
}

// A short loop that stands alone stays.
// CHECK-LABEL: func.func @alone
// CHECK: scf.for
func.func @alone(%a: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %z, %a[%i] : memref<2xf32>
  }
  return
}

// Rows of ten numbers end in a part of a register: sums of them are unrolled, and loops beside others.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-COUNT-10: arith.addf
// CHECK-COUNT-10: arith.subf
// CHECK: return
// KEPT-LABEL: func.func @rows
// KEPT-COUNT-3: scf.for
func.func @rows(%a: memref<64x10xf32>, %t: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %r = %c0 to %c10 step %c1 {
      %x = memref.load %a[%i, %r] : memref<64x10xf32>
      %o = memref.load %t[%i] : memref<64xf32>
      %u = arith.addf %o, %x : f32
      memref.store %u, %t[%i] : memref<64xf32>
    }
    scf.for %r = %c0 to %c10 step %c1 {
      %x = memref.load %a[%i, %r] : memref<64x10xf32>
      %o = memref.load %t[%i] : memref<64xf32>
      %u = arith.subf %o, %x : f32
      memref.store %u, %a[%i, %r] : memref<64x10xf32>
    }
  }
  return
}

// Alone in its row, a loop that is no sum stays, and so does a sum that fills its registers.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-4: scf.for
// CHECK: return
func.func @long(%a: memref<64x10xf32>, %b: memref<64x12xf64>, %t: memref<64xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %r = %c0 to %c10 step %c1 {
      %x = memref.load %a[%i, %r] : memref<64x10xf32>
      %u = arith.mulf %x, %x : f32
      memref.store %u, %a[%i, %r] : memref<64x10xf32>
    }
  }
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %r = %c0 to %c12 step %c1 {
      %x = memref.load %b[%i, %r] : memref<64x12xf64>
      %o = memref.load %t[%i] : memref<64xf64>
      %u = arith.addf %o, %x : f64
      memref.store %u, %t[%i] : memref<64xf64>
    }
  }
  return
}

// A row of whole registers in which the place of the greatest is searched for.
// CHECK-LABEL: func.func @place
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: return
// KEPT-LABEL: func.func @place
// KEPT-COUNT-2: scf.for
func.func @place(%a: memref<64x16xf64>, %best: memref<64xf64>, %at: memref<64xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %r = %c0 to %c16 step %c1 {
      %x = memref.load %a[%i, %r] : memref<64x16xf64>
      %b = memref.load %best[%i] : memref<64xf64>
      %k = memref.load %at[%i] : memref<64xi64>
      %n = arith.index_cast %r : index to i64
      %is_more = arith.cmpf ogt, %x, %b : f64
      %value = arith.select %is_more, %x, %b : f64
      %place = arith.select %is_more, %n, %k : i64
      memref.store %value, %best[%i] : memref<64xf64>
      memref.store %place, %at[%i] : memref<64xi64>
    }
  }
  return
}

// Of a nest of short loops the outermost stays.
// CHECK-LABEL: func.func @nest
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: return
func.func @nest(%a: memref<2x2x2x2x2x2x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  scf.for %i0 = %c0 to %c2 step %c1 {
    scf.for %i1 = %c0 to %c2 step %c1 {
      scf.for %i2 = %c0 to %c2 step %c1 {
        scf.for %i3 = %c0 to %c2 step %c1 {
          scf.for %i4 = %c0 to %c2 step %c1 {
            scf.for %i5 = %c0 to %c2 step %c1 {
              scf.for %i6 = %c0 to %c2 step %c1 {
                memref.store %z, %a[%i0, %i1, %i2, %i3, %i4, %i5, %i6] : memref<2x2x2x2x2x2x2xf32>
              }
            }
          }
        }
      }
    }
  }
  return
}
