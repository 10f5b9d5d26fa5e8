// Equations over a part of a box become equations over the box, with masks.
// RUN: ted-opt %s --ted-mask-boxes --split-input-file --mlir-print-local-scope | filecheck %s

// Sums of products stay as they are, and are masked behind the sum: s[i, j] for j <= i.
// CHECK-LABEL: func.func @mask_of_results
// CHECK: %[[WHOLE:.*]] = "ted.compute"
// CHECK: domain = affine_set<(d0, d1, d2) : (0 == 0)>
// CHECK: "ted.compute"(%[[WHOLE]],
// CHECK-DAG: %[[I:.*]] = "ted.index"() {dim = 0
// CHECK-DAG: %[[J:.*]] = "ted.index"() {dim = 1
// CHECK: %[[SEEN:.*]] = arith.cmpi sge, %[[I]], %[[J]]
// CHECK: arith.select %[[SEEN]]
// CHECK: combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>
func.func @mask_of_results(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = "ted.compute"(%q, %k, %f) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8, 4>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %0 : tensor<8x8xf32>
}

// -----

// A mask along the sum is one of the factor that both its dims index.
// CHECK-LABEL: func.func @mask_of_a_factor
// CHECK: %[[SEEN:.*]] = "ted.compute"(%arg0,
// CHECK: arith.select
// CHECK: "ted.compute"(%[[SEEN]], %arg1,
// CHECK-NOT: arith.select
// CHECK: domain = affine_set<(d0, d1, d2) : (0 == 0)>
func.func @mask_of_a_factor(%w: tensor<8x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = "ted.compute"(%w, %v, %f) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 4, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}

// -----

// Other reductions take their neutral element outside.
// CHECK-LABEL: func.func @maximum
// CHECK: arith.constant 0xFF800000
// CHECK: arith.select
// CHECK: domain = affine_set<(d0, d1) : (0 == 0)>
func.func @maximum(%x: tensor<8x8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// The box is not all in the tensor, and a band is a small part of its box: both stay.
// CHECK-LABEL: func.func @outside
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0, -d0 + d1 + 1 >= 0)>
func.func @outside(%x: tensor<8xf32>, %y: tensor<64xf32>, %s: tensor<8xf32>, %t: tensor<64xf32>)
    -> (tensor<8xf32>, tensor<64xf32>) {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0 - d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = "ted.compute"(%y, %t) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 64, 64>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0, -d0 + d1 + 1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %0, %1 : tensor<8xf32>, tensor<64xf32>
}

// -----

// What is 0 where the mask fails already needs no other mask ...
// CHECK-LABEL: func.func @zero_already
// CHECK: %[[P:.*]] = "ted.compute"(%arg0,
// CHECK: arith.select
// CHECK-NOT: arith.select
// CHECK: "ted.compute"(%[[P]], %arg1,
func.func @zero_already(%w: tensor<8x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %p = "ted.compute"(%w, %e) ({
  ^bb0(%a: f32):
    %i = "ted.index"() {dim = 0} : () -> index
    %j = "ted.index"() {dim = 1} : () -> index
    %seen = arith.cmpi sge, %i, %j : index
    %none = arith.constant 0.0 : f32
    %m = arith.select %seen, %a, %none : f32
    "ted.yield"(%m) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = "ted.compute"(%p, %v, %z) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    "ted.yield"(%m) : (f32) -> ()
  }) {
    extents = array<i64: 8, 4, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// ... but not what goes on from something else.
// CHECK-LABEL: func.func @one_more
// CHECK: %[[P:.*]] = "ted.compute"(%arg0,
// CHECK: arith.select
// CHECK: %[[M:.*]] = "ted.compute"(%[[P]],
// CHECK: arith.select
// CHECK: "ted.compute"(%[[M]], %arg1,
func.func @one_more(%w: tensor<8x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %s = linalg.fill ins(%one : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = "ted.compute"(%w, %s) ({
  ^bb0(%a: f32):
    %i = "ted.index"() {dim = 0} : () -> index
    %j = "ted.index"() {dim = 1} : () -> index
    %seen = arith.cmpi sge, %i, %j : index
    %none = arith.constant 0.0 : f32
    %m = arith.select %seen, %a, %none : f32
    "ted.yield"(%m) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = "ted.compute"(%p, %v, %z) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    "ted.yield"(%m) : (f32) -> ()
  }) {
    extents = array<i64: 8, 4, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add"
  } : (tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// An equation with a read that is nowhere made stays.
// CHECK-LABEL: func.func @never_read
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>
func.func @never_read(%x: tensor<8x8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "ted.compute"(%x, %x, %s) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    "ted.yield"(%m) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (d0 - 9 >= 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max"
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
