// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-check-bounds)' --split-input-file --verify-diagnostics

// Intervals say [-4, 4]; on the triangle the index stays in [0, 4].
func.func @skewed_read_of_a_triangle(%A: tensor<5xf32>, %I: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 5, 5>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0 - d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  func.return %C : tensor<5x5xf32>
}

// -----

// Intervals say [0, 11]; quotient and remainder of one dim make the dim again.
func.func @quotient_and_remainder(%A: tensor<10xf32>, %I: tensor<10xf32>) -> tensor<10xf32> {
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 10>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (4 * (d0 floordiv 4) + d0 mod 4)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  func.return %C : tensor<10xf32>
}

// -----

func.func @quotient_and_remainder_beyond_the_end(%A: tensor<9xf32>, %I: tensor<10xf32>)
    -> tensor<10xf32> {
  // expected-error @+1 {{read 0 uses index d0 in [0, 9], tensor of operand 0 has extent 9 in dim 0, first at d0=9}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 10>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (4 * (d0 floordiv 4) + d0 mod 4)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<9xf32>, tensor<10xf32>) -> tensor<10xf32>
  func.return %C : tensor<10xf32>
}

// -----

func.func @guarded_read(%A: tensor<8xf32>, %I: tensor<12xf32>) -> tensor<12xf32> {
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 12>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0 - 2)>],
    guards = [affine_set<(d0) : (d0 - 2 >= 0, -d0 + 9 >= 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<12xf32>) -> tensor<12xf32>
  func.return %C : tensor<12xf32>
}

// -----

func.func @shifted_read(%A: tensor<8xf32>, %I: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{read 0 uses index d0 + 3 in [3, 10], tensor of operand 0 has extent 8 in dim 0, first at d0=5}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0 + 3)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %C : tensor<8xf32>
}

// -----

func.func @write_beyond_the_end(%A: tensor<4xf32>, %I: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{write uses index 2*d0 in [0, 6], tensor of the result has extent 6 in dim 0, first at d0=3}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 * 2)>, combiner = "add"
  } : (tensor<4xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return %C : tensor<6xf32>
}

// -----

func.func @element_set_twice(%A: tensor<4xf32>, %I: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{set writes an element once, got [(d0 // 2)] equal at points}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 floordiv 2)>, combiner = "set"
  } : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %C : tensor<2xf32>
}
