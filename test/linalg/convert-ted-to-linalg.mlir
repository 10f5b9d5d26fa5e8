// RUN: ted-opt %s --pass-pipeline='builtin.module(convert-ted-to-linalg,canonicalize)' | filecheck %s

// CHECK-LABEL: func.func @matrix_product
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<16x32xf32>, tensor<32x8xf32>) outs(%{{.*}} : tensor<16x8xf32>)
func.func @matrix_product(%A: tensor<16x32xf32>, %B: tensor<32x8xf32>, %C: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = "ted.compute"(%A, %B, %C) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 16, 8, 32>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(i, j, k) : (0 == 0)>,
    reads = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>],
    guards = [affine_set<(i, j, k) : (0 == 0)>, affine_set<(i, j, k) : (0 == 0)>],
    write = affine_map<(i, j, k) -> (i, j)>, combiner = "add"
  } : (tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  func.return %0 : tensor<16x8xf32>
}

// The transposition is in the map; nothing is moved.
// CHECK-LABEL: func.func @product_with_a_transposed_operand
// CHECK: linalg.matmul indexing_maps = [
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<32x16xf32>, tensor<32x8xf32>)
func.func @product_with_a_transposed_operand(%A: tensor<32x16xf32>, %B: tensor<32x8xf32>, %C: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = "ted.compute"(%A, %B, %C) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 16, 8, 32>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(i, j, k) : (0 == 0)>,
    reads = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>],
    guards = [affine_set<(i, j, k) : (0 == 0)>, affine_set<(i, j, k) : (0 == 0)>],
    write = affine_map<(i, j, k) -> (i, j)>, combiner = "add"
  } : (tensor<32x16xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  func.return %0 : tensor<16x8xf32>
}

// The guard becomes zeros around one copy of the operand.
// CHECK-LABEL: func.func @padded_window_product
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %{{.*}} into %[[ZEROS]][0, 1, 0] [8, 9, 4] [1, 1, 1]
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[PADDED]]
func.func @padded_window_product(%A: tensor<8x9x4xf32>, %W: tensor<3x4x8xf32>, %C: tensor<8x9x8xf32>) -> tensor<8x9x8xf32> {
  %0 = "ted.compute"(%A, %W, %C) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 9, 8, 3, 4>, iterators = ["parallel", "parallel", "parallel", "reduction", "reduction"],
    domain = affine_set<(i, j, k, l, m) : (0 == 0)>,
    reads = [affine_map<(i, j, k, l, m) -> (i, j + l - 1, m)>, affine_map<(i, j, k, l, m) -> (l, m, k)>],
    guards = [affine_set<(i, j, k, l, m) : (j + l - 1 >= 0, 9 - j - l >= 0)>, affine_set<(i, j, k, l, m) : (0 == 0)>],
    write = affine_map<(i, j, k, l, m) -> (i, j, k)>, combiner = "add"
  } : (tensor<8x9x4xf32>, tensor<3x4x8xf32>, tensor<8x9x8xf32>) -> tensor<8x9x8xf32>
  func.return %0 : tensor<8x9x8xf32>
}

// The larger factor of a sum is read along its elements, the smaller one is laid out the other way round.
// CHECK-LABEL: func.func @larger_factor_read_backwards
// CHECK: %[[TURNED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<9xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}}, %[[TURNED]] : tensor<100xf32>, tensor<9xf32>)
// CHECK-NOT: tensor.extract %
func.func @larger_factor_read_backwards(%X: tensor<100xf32>, %W: tensor<9xf32>, %y: tensor<92xf32>) -> tensor<92xf32> {
  %0 = "ted.compute"(%X, %W, %y) ({
  ^bb0(%x: f32, %w: f32):
    %p = arith.mulf %x, %w : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {extents = array<i64: 92, 9>, iterators = ["parallel", "reduction"], domain = affine_set<(d0, d1) : (0 == 0)>,
      reads = [affine_map<(d0, d1) -> (d0 - d1 + 8)>, affine_map<(d0, d1) -> (d1)>],
      guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0)>, combiner = "add"} : (tensor<100xf32>, tensor<9xf32>, tensor<92xf32>) -> tensor<92xf32>
  return %0 : tensor<92xf32>
}

// A guard of one dim cuts the box; no test is left at any point.
// CHECK-LABEL: func.func @guarded_map
// CHECK-NOT: scf.if
// CHECK: tensor.extract_slice %{{.*}}[0] [15] [1]
// CHECK: linalg.generic
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[1] [15] [1]
// CHECK-NOT: scf.if
// CHECK: return
func.func @guarded_map(%A: tensor<16xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %0 = "ted.compute"(%A, %e) ({
  ^bb0(%a: f32):
    %p = math.sqrt %a : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 16>, iterators = ["parallel"],
    domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i - 1)>],
    guards = [affine_set<(i) : (i - 1 >= 0)>],
    write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  func.return %0 : tensor<16xf32>
}

// A triangle is scanned as a triangle, its total in a scalar.
// CHECK-LABEL: func.func @triangle
// CHECK: scf.for %[[I:[a-z0-9]+]] = %{{.*}} to %c9
// CHECK: %[[END:.*]] = affine.apply #{{.*}}(%[[I]])
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK: tensor.insert
func.func @triangle(%A: tensor<9x9xf32>, %C: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "ted.compute"(%A, %C) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 9, 9>, iterators = ["parallel", "reduction"],
    domain = affine_set<(i, j) : (i - j >= 0)>,
    reads = [affine_map<(i, j) -> (i, j)>],
    guards = [affine_set<(i, j) : (0 == 0)>],
    write = affine_map<(i, j) -> (i)>, combiner = "add"
  } : (tensor<9x9xf32>, tensor<9xf32>) -> tensor<9xf32>
  func.return %0 : tensor<9xf32>
}

// A strided write works on a strided slice of the running result.
// CHECK-LABEL: func.func @residue_class
// CHECK: %[[CLASS:.*]] = tensor.extract_slice %[[C:.*]][1] [4] [2]
// CHECK: linalg.generic {{.*}} outs(%[[CLASS]]
// CHECK: tensor.insert_slice %{{.*}} into %[[C]][1] [4] [2]
func.func @residue_class(%A: tensor<4xf32>, %C: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "ted.compute"(%A, %C) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"],
    domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>],
    guards = [affine_set<(i) : (0 == 0)>],
    write = affine_map<(i) -> (2 * i + 1)>, combiner = "add"
  } : (tensor<4xf32>, tensor<9xf32>) -> tensor<9xf32>
  func.return %0 : tensor<9xf32>
}

// CHECK-LABEL: func.func @diagonal
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%[[I]], %[[I]]]
func.func @diagonal(%A: tensor<6xf32>, %C: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %0 = "ted.compute"(%A, %C) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["parallel"],
    domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>],
    guards = [affine_set<(i) : (0 == 0)>],
    write = affine_map<(i) -> (i, i)>, combiner = "set"
  } : (tensor<6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  func.return %0 : tensor<6x6xf32>
}

// CHECK-LABEL: func.func @checked_scatter
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: scf.if %[[INSIDE]]
// CHECK: tensor.insert
// CHECK: else
// CHECK: func.call @ted_index_error
func.func @checked_scatter(%A: tensor<6xf32>, %I: tensor<6xi64>, %C: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "ted.compute"(%A, %I, %C) ({
  ^bb0(%a: f32, %b: i64):
    %s = arith.index_cast %b : i64 to index
    "ted.yield"(%a, %s) : (f32, index) -> ()
  }) {
    extents = array<i64: 6>, iterators = ["reduction"],
    domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    guards = [affine_set<(i) : (0 == 0)>, affine_set<(i) : (0 == 0)>],
    write = affine_map<(i)[s0] -> (s0)>, combiner = "add"
  } : (tensor<6xf32>, tensor<6xi64>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// Half precision is summed in f32 and rounded once.
// An index that the user vouches for is used as it is.
// CHECK-LABEL: func.func @unchecked_scatter_of_an_unchecked_read
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK-NOT: arith.cmpi
// CHECK-NOT: ted_index_error
// CHECK: tensor.insert
// CHECK: return
func.func @unchecked_scatter_of_an_unchecked_read(%T: tensor<6xf32>, %n: tensor<5xi64>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "ted.compute"(%n, %init) ({
  ^bb0(%b: i64):
    %yes = arith.constant true
    %i = arith.index_cast %b : i64 to index
    %a = "ted.load"(%T, %yes, %i) {mode = "unchecked"} : (tensor<6xf32>, i1, index) -> f32
    "ted.yield"(%a, %i) : (f32, index) -> ()
  }) {
    extents = array<i64: 5>, iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>, combiner = "add", mode = "unchecked"
  } : (tensor<5xi64>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @half_sum
// CHECK: arith.extf
// CHECK: tensor<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,nsz,contract> : f32
// CHECK: arith.truncf
func.func @half_sum(%A: tensor<4x64xf16>, %C: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "ted.compute"(%A, %C) ({
  ^bb0(%a: f16):
    "ted.yield"(%a) : (f16) -> ()
  }) {
    extents = array<i64: 4, 64>, iterators = ["parallel", "reduction"],
    domain = affine_set<(i, j) : (0 == 0)>,
    reads = [affine_map<(i, j) -> (i, j)>],
    guards = [affine_set<(i, j) : (0 == 0)>],
    write = affine_map<(i, j) -> (i)>, combiner = "add"
  } : (tensor<4x64xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// CHECK-LABEL: func.func @unit_dims
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<8x1xf32> into tensor<8xf32>
// CHECK: linalg.generic
func.func @unit_dims(%A: tensor<8x5xf32>, %M: tensor<8x1xf32>) -> tensor<8x5xf32> {
  %e = tensor.empty() : tensor<8x5xf32>
  %0 = "ted.compute"(%A, %M, %e) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 5>, iterators = ["parallel", "parallel"],
    domain = affine_set<(i, j) : (0 == 0)>,
    reads = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
    guards = [affine_set<(i, j) : (0 == 0)>, affine_set<(i, j) : (0 == 0)>],
    write = affine_map<(i, j) -> (i, j)>, combiner = "set"
  } : (tensor<8x5xf32>, tensor<8x1xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  func.return %0 : tensor<8x5xf32>
}
