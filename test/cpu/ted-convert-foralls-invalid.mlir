// RUN: ted-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(ted-convert-foralls)'

func.func @unknown_bounds(%x: memref<8xf32>, %v: f32, %n: index) {
  // expected-error @below {{a loop on memrefs with constant bounds, got 1 operands and 0 results}}
  scf.forall (%i) in (%n) {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  return
}
