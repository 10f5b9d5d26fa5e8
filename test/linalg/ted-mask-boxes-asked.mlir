// On CPUs equations are masked that ask for it, sums wherever they write.
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-mask-boxes{asked=true})' --split-input-file --mlir-print-local-scope | filecheck %s

// CHECK-LABEL: func.func @shifted_write
// CHECK: "ted.compute"(%arg0
// CHECK: arith.select
// CHECK: combiner = "max", domain = affine_set<(d0, d1) : (0 == 0)>
// CHECK-NOT: ted.form
// CHECK-SAME: write = affine_map<(d0, d1) -> (d0 + 4)>
func.func @shifted_write(%a: tensor<4x8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 4, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 + 4 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 + 4)>, combiner = "max", ted.form = {name = "masked"}
  } : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @does_not_ask
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>
func.func @does_not_ask(%a: tensor<8x8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max"
  } : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// What is read is not there for all of the box: it stays as it is, if it asks for no more.
// CHECK-LABEL: func.func @if_possible
// CHECK: domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>
// CHECK-NOT: ted.form
func.func @if_possible(%a: tensor<8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "ted.compute"(%a, %init) ({
  ^bb0(%x: f32):
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0 - d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "max",
    ted.form = {name = "masked", if_possible = true}
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// A computed factor may be infinite where the domain ends: the product is masked, no factor is.
// CHECK-LABEL: func.func @computed_factor
// CHECK: "ted.compute"(%arg0, %arg1
// CHECK: math.exp
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// CHECK: arith.select %{{.*}}, %[[PRODUCT]]
// CHECK: domain = affine_set<(d0, d1) : (0 == 0)>
func.func @computed_factor(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %0 = "ted.compute"(%a, %b, %init) ({
  ^bb0(%x: f32, %y: f32):
    %e = math.exp %y : f32
    %p = arith.mulf %x, %e : f32
    "ted.yield"(%p) : (f32) -> ()
  }) {
    extents = array<i64: 8, 8>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add", ted.form = {name = "masked"}
  } : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
