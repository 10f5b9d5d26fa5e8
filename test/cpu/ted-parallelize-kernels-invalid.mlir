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
