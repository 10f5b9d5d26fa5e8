// RUN: ted-opt %s --split-input-file --verify-diagnostics

func.func @map_without_the_sizes(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>)
    -> tensor<?xf32, affine_map<()[s0] -> (s0)>> {
  // expected-error@+1 {{ted.compute: read 0 must have 1 symbols, the sizes, got 0}}
  %0 = "ted.compute"(%x, %x) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = affine_map<()[s0] -> (s0)>, iterators = ["parallel"],
    domain = affine_set<(d0)[s0] : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0)[s0] : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (d0)>, combiner = "add"
  } : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  func.return %0 : tensor<?xf32, affine_map<()[s0] -> (s0)>>
}

// -----
func.func @extents_that_depend_on_dims(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{ted.compute: extents must have no dims, got (d0) -> (d0)}}
  %0 = "ted.compute"(%x, %x) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = affine_map<(d0) -> (d0)>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>], write = affine_map<(d0) -> (d0)>, combiner = "add"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----
// The encoding says another extent than the type.
func.func @encoding_and_type(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>)
    -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>> {
  // expected-error@+1 {{ted.compute: operand 0 must be a tensor with static or symbolic sizes, got tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>}}
  %0 = "ted.compute"(%x) ({
    %c = arith.constant 1.0 : f32
    "ted.yield"(%c) : (f32) -> ()
  }) {
    extents = affine_map<()[s0] -> (s0, 4)>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1)[s0] : (0 == 0)>, reads = [], guards = [],
    write = affine_map<(d0, d1)[s0] -> (d0, d1)>, combiner = "add"
  } : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>
  func.return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>
}

// -----
func.func @size_of_nothing() -> index {
  // expected-error@+1 {{ted.size: value must map sizes to one result, without dims, got affine_map<(d0) -> (d0)>}}
  %0 = "ted.size"() {value = affine_map<(d0) -> (d0)>} : () -> index
  func.return %0 : index
}

// -----
func.func @size_divided_by_zero() -> index {
  // expected-error@+1 {{ted.size: value must divide by positive numbers, got affine_map<()[s0] -> (s0 floordiv 0)>}}
  %0 = "ted.size"() {value = affine_map<()[s0] -> (s0 floordiv 0)>} : () -> index
  func.return %0 : index
}

// -----
func.func @encoding_divides_by_zero(%x: tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>>)
    -> tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>> {
  // expected-error@+1 {{ted.compute: operand 0 must have sizes that are divided by positive numbers, got tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>>}}
  %0 = "ted.compute"(%x) ({
    %c = arith.constant 1.0 : f32
    "ted.yield"(%c) : (f32) -> ()
  }) {
    extents = affine_map<()[s0] -> (s0)>, iterators = ["parallel"],
    domain = affine_set<(d0)[s0] : (0 == 0)>, reads = [], guards = [],
    write = affine_map<(d0)[s0] -> (d0)>, combiner = "add"
  } : (tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>>
  func.return %0 : tensor<?xf32, affine_map<()[s0] -> (s0 mod 0)>>
}
