// RUN: ted-opt %s --split-input-file --verify-diagnostics

// One case per rule of dialects/ted/verify_compute.py, in its order.

func.func @unusual_integers(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'extents' must be of a known kind, got an array of unusual integers}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i1000: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_extents(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'extents' must be present as array<i64: ...> or an affine_map, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_iterators(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'iterators' must be present as an array of strings, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_domain(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'domain' must be present as an affine_set, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_reads(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'reads' must be present as an array of affine_maps, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_guards(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'guards' must be present as an array of affine_sets, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_write(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'write' must be present as an affine_map, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_combiner(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'combiner' must be present as a string, got none}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @extents_of_another_kind(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'extents' must be array<i64: ...> or an affine_map, got [4]}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = [4],
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @domain_is_a_map(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: attribute 'domain' must be an affine_set, got affine_map<(d0) -> (d0)>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_map<(d0) -> (d0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @read_is_a_set(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'reads' element 0 must be an affine_map, got affine_set<(d0) : (0 == 0)>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_set<(d0) : (0 == 0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @iterator_is_a_number(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'iterators' element 0 must be a string, got 1 : i64}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = [1],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @read_divides_by_zero(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'reads' must divide by positive numbers, got [affine_map<(d0) -> (d0 floordiv 0)>]}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0 floordiv 0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @remainder_of_a_negative_number(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'write' must divide by positive numbers, got affine_map<(d0) -> (d0 mod -1)>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0 mod -1)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @guard_divides_by_zero(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'guards' must divide by positive numbers, got [affine_set<(d0) : (d0 ceildiv 0 >= 0)>]}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (d0 ceildiv 0 >= 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @domain_divides_by_zero(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: 'domain' must divide by positive numbers, got affine_set<(d0) : (d0 mod 0 == 0)>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (d0 mod 0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @negative_extent(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: extents must be zero or positive, got [-4]}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: -4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @iterator_per_extent(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: one iterator per extent, got 2 iterators and 1 extents}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel", "parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @unknown_iterator(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: iterator 0 must be one of parallel, reduction, got 'window'}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["window"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @reduction_first(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: parallel iterators come before reduction iterators, got ['reduction', 'parallel']}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4, 4>,
    iterators = ["reduction", "parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @guard_per_read(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: one guard per read, got 1 reads and 0 guards}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @domain_of_another_box(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: domain must have one dim per extent, got 2 dims and 1 extents}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @read_of_another_box(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: read 0 must have one dim per extent, got 2 dims and 1 extents}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @guard_of_another_box(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: guard 0 must have one dim per extent, got 0 dims and 1 extents}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<() : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @write_of_another_box(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: write must have one dim per extent, got 2 dims and 1 extents}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @read_with_a_symbol(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: read 0 must have no symbols, got 1}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0)[s0] -> (s0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @domain_with_a_symbol(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: domain must have no symbols, got 1}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0)[s0] : (s0 - d0 >= 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @unknown_combiner(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: combiner must be one of set, add, mul, max, min, argmax, argmin, got 'xor'}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "xor"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @argmax_with_one_result(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: combiner 'argmax' wants 2 result(s), got 1}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "argmax"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @set_with_a_reduction(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: combiner 'set' allows no reduction iterator, got ['reduction']}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @data_dependent_set(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: a write with symbols wants a combiner of add, max, min, got 'set'}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_init(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: one operand per read and one init per result (1 + 1), got 1 operands}}
  %0 = "ted.compute"(%A) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @dynamic_size(%A: tensor<?xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: operand 0 must be a tensor with static or symbolic sizes, got tensor<?xf32>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @scalar_operand(%A: f32, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: operand 0 must be a tensor with static or symbolic sizes, got f32}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (f32, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @unknown_element_type(%A: tensor<4xi7>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: operand 0 must have an element type of f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, got i7}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xi7>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @read_of_another_rank(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: read 0 must give one index per dim of its input, got 2 and tensor<4xf32>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0, d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @write_of_another_rank(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: write must give one index per dim of the result, got 0 and tensor<4xf32>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> ()>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @init_of_another_type(%A: tensor<4xf32>, %init: tensor<5xf32>) {
  // expected-error@+1 {{ted.compute: init 0 must have the type of its result tensor<4xf32>, got tensor<5xf32>}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set"
  } : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @mode_that_does_not_exist(%A: tensor<4xf32>, %at: tensor<4xi64>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: mode must be one of check, clip, drop, unchecked, got "wrap"}}
  %0 = "ted.compute"(%A, %at, %init) ({
  ^bb0(%a: f32, %n: i64):
    %i = arith.index_cast %n : i64 to index
    "ted.yield"(%a, %i) : (f32, index) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["reduction"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>,
    combiner = "add",
    mode = "wrap"
  } : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @mode_of_an_affine_write(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: a mode is for a write with symbols, got "drop"}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "set",
    mode = "drop"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @argmax_with_a_float_index(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: combiner 'argmax' has a value and an i64 index of its shape as results, got tensor<4xf32> and tensor<4xf32>}}
  %0:2 = "ted.compute"(%A, %init, %init) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
    iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>,
    combiner = "argmax"
  } : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
