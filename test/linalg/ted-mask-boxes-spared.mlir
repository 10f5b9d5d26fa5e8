// Which masks are spared, and which equations keep their domain; values are what they were.
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-mask-boxes{asked=true})' --ted-validate --split-input-file --mlir-print-local-scope | filecheck %s

// What is 0 where one of two conditions fails is masked by both.
// CHECK-LABEL: func.func @zero_by_one_of_two
// CHECK-COUNT-2: arith.select
// CHECK: domain = affine_set<(d0, d1) : (0 == 0)>
func.func @zero_by_one_of_two(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %z) ({
  ^bb0(%v0: f32):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %t = arith.cmpi sge, %i, %j : index
    %n = arith.constant 0.0 : f32
    %s = arith.select %t, %v0, %n : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0, d0 + d1 - 3 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// So is a factor.
// CHECK-LABEL: func.func @factor_zero_by_one_of_two
// CHECK-COUNT-2: arith.select
// CHECK: combiner = "add", domain = affine_set<(d0, d1, d2) : (0 == 0)>
func.func @factor_zero_by_one_of_two(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = "ted.compute"(%a, %z) ({
  ^bb0(%v0: f32):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %t = arith.cmpi sge, %i, %j : index
    %n = arith.constant 0.0 : f32
    %s = arith.select %t, %v0, %n : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%t, %b, %z) ({
  ^bb0(%v0: f32, %v1: f32):
    %p = arith.mulf %v0, %v1 : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d2 >= 0, d0 + d2 - 3 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// Of a tensor that is written turned no zeros are known.
// CHECK-LABEL: func.func @written_turned
// CHECK-COUNT-2: arith.select
// CHECK: combiner = "add", domain = affine_set<(d0, d1) : (0 == 0)>
func.func @written_turned(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8x8xf32>) -> tensor<8x8xf32>
  %yc = arith.constant 0.0 : f32
  %ye = tensor.empty() : tensor<8xf32>
  %y = linalg.fill ins(%yc : f32) outs(%ye : tensor<8xf32>) -> tensor<8xf32>
  %t = "ted.compute"(%a, %z) ({
  ^bb0(%v0: f32):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %t = arith.cmpi sge, %i, %j : index
    %n = arith.constant 0.0 : f32
    %s = arith.select %t, %v0, %n : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d1, d0)>, combiner = "set"
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%t, %y) ({
  ^bb0(%v0: f32):
    "ted.yield"(%v0) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// A sum into a tensor is made apart, masked and added.
// CHECK-LABEL: func.func @into_a_tensor
// CHECK: arith.select
// CHECK: combiner = "add"
func.func @into_a_tensor(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = "ted.compute"(%a, %b, %c) ({
  ^bb0(%v0: f32, %v1: f32):
    %p = arith.mulf %v0, %v1 : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0, d1)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// Masks of results are for sums at their own point.
// CHECK-LABEL: func.func @results_elsewhere
// CHECK-NOT: arith.select
// CHECK: domain = affine_set<(d0, d1, d2) : (d0 - d1 + 4 >= 0)>
func.func @results_elsewhere(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "ted.compute"(%a, %b, %z) ({
  ^bb0(%v0: f32, %v1: f32):
    %p = arith.mulf %v0, %v1 : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 4, 8, 8>, iterators = ["parallel", "parallel", "reduction"],
    domain = affine_set<(d0, d1, d2) : (d0 - d1 + 4 >= 0)>,
    reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
    write = affine_map<(d0, d1, d2) -> (d0 + 4, d1)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// Conditions with divisions stay.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: arith.select
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 floordiv 2 >= 0)>
func.func @rounded(%a: tensor<8x8xf32>) -> tensor<8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%a, %z) ({
  ^bb0(%v0: f32):
    "ted.yield"(%v0) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 floordiv 2 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

// A condition on dims that a read does not have is another one.
// CHECK-LABEL: func.func @other_dims
// CHECK-COUNT-2: arith.select
// CHECK: combiner = "add", domain = affine_set<(d0, d1) : (0 == 0)>
func.func @other_dims(%a: tensor<8xf32>) -> tensor<8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<8xf32>) -> tensor<8xf32>
  %t = "ted.compute"(%a, %z) ({
  ^bb0(%v0: f32):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %l = arith.constant 0 : index
    %t = arith.cmpi sge, %i, %l : index
    %n = arith.constant 0.0 : f32
    %s = arith.select %t, %v0, %n : f32
    "ted.yield"(%s) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = "ted.compute"(%t, %z) ({
  ^bb0(%v0: f32):
    "ted.yield"(%v0) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add", ted.form = {name = "masked", if_possible = true}
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}
