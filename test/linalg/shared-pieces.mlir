// Two tensors that start from the same piece have memory, and that piece, of their own, whether they
// go on with other elements or with sums.
// RUN: ted-opt %s --pass-pipeline='builtin.module(convert-ted-to-linalg)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-forms,convert-ted-to-linalg)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(convert-ted-to-linalg,ted-lower-tensors)' | filecheck %s --check-prefix=MEMORY

// CHECK-COUNT-4: tensor.insert_slice
// MEMORY: %[[X:.*]] = memref.collapse_shape %arg0
// MEMORY-COUNT-2: memref.copy %[[X]]
// MEMORY-NOT: memref.copy %alloc
// MEMORY: linalg.generic

func.func @both(%x: tensor<1xf32>, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<3xf32> {
  %init = tensor.empty() : tensor<3xf32>
  %first = "ted.compute"(%x, %init) ({
  ^bb0(%v: f32):
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 1>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<1xf32>, tensor<3xf32>) -> tensor<3xf32>
  %p = "ted.compute"(%a, %first) ({
  ^bb0(%v: f32):
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 2>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + 1)>, combiner = "set"
  } : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  %q = "ted.compute"(%b, %first) ({
  ^bb0(%v: f32):
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 2>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 + 1)>, combiner = "set"
  } : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  %r = tensor.empty() : tensor<3xf32>
  %y = "ted.compute"(%p, %q, %r) ({
  ^bb0(%v: f32, %w: f32):
    %z = arith.mulf %v, %w : f32
    "ted.yield"(%z) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK-COUNT-2: arith.negf
// MEMORY-LABEL: func.func @sums
// MEMORY-NOT: memref.copy
// MEMORY: return
func.func @sums(%x: tensor<3xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
  %init = tensor.empty() : tensor<3xf32>
  %first = "ted.compute"(%x, %init) ({
  ^bb0(%v: f32):
    %n = arith.negf %v : f32
    "ted.yield"(%n) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %p = "ted.compute"(%a, %first) ({
  ^bb0(%v: f32):
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "max"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %q = "ted.compute"(%b, %first) ({
  ^bb0(%v: f32):
    "ted.yield"(%v) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "max"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %p, %q : tensor<3xf32>, tensor<3xf32>
}
