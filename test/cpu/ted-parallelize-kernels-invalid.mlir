// RUN: ted-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(ted-parallelize-kernels)'

#refused = affine_map<(d0) -> (d0)>
func.func @no_such_loop(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{slices: loop is one of [0], got loop = 3}}
  linalg.generic {indexing_maps = [#refused, #refused], iterator_types = ["parallel"], ted.threads = {name = "slices", loop = 3 : i64}} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @nothing_to_share(%x: memref<8xf32>) {
  // expected-error @below {{nothing is decided about memref.dealloc here}}
  memref.dealloc %x {ted.threads = {name = "serial"}} : memref<8xf32>
  return
}

// -----

func.func @no_columns(%x: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{columns: size is 1 or more, got size = 0}}
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      memref.store %zero, %x[%i, %j] : memref<8x8xf32>
    } {ted.parallel}
  } {ted.parallel_inside, ted.threads = {name = "columns", size = 0 : i64}}
  return
}
