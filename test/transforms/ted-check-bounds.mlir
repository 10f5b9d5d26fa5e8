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

// -----

// All earlier steps may be read, and a history of this step that is complete.
func.func @triangle_of_earlier_steps(%x: tensor<5xf32>, %s: tensor<5xf32>, %y: tensor<5xf32>)
    -> tensor<5xf32> {
  %0:2 = "ted.scan"(%s, %y) ({
  ^bb0(%s0: tensor<5xf32>, %y0: tensor<5xf32>):
    %s1 = "ted.compute"(%y0, %s0) ({
    ^bb0(%a: f32):
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 5, 5>, iterators = ["parallel", "reduction"],
      domain = affine_set<(d0, d1) : (d0 - d1 - 1 >= 0)>,
      reads = [affine_map<(d0, d1) -> (d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
    } : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %y1 = "ted.compute"(%s1, %x, %y0) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      "ted.yield"(%c) : (f32) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "ted.yield"(%s1, %y1) : (tensor<5xf32>, tensor<5xf32>) -> ()
  }) {times = array<i64: 0, 0>, steps = 5 : i64, reverse = false}
    : (tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>)
  func.return %0#1 : tensor<5xf32>
}

// -----

func.func @a_step_that_reads_the_next(%init: tensor<5xf32>) -> tensor<5xf32> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf32>):
    // expected-error @+1 {{ted.scan: a step of history 0 reads the future: history 0 at time d0 + 1 = 1 in the step of time d0 = 0, first at d0=0}}
    %c1 = "ted.compute"(%c0, %c0) ({
    ^bb0(%a: f32):
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 + 1)>], guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "ted.yield"(%c1) : (tensor<5xf32>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

func.func @a_step_that_reads_what_it_has_yet_to_write(%init: tensor<5xf32>) -> tensor<5xf32> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf32>):
    // expected-error @+1 {{a step of history 0 reads the future: history 0 at time d0//2 = 0 in the step of time d0 = 0, first at d0=0}}
    %c1 = "ted.compute"(%c0, %c0) ({
    ^bb0(%a: f32):
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 floordiv 2)>], guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "ted.yield"(%c1) : (tensor<5xf32>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

// In reverse the next step is in the past; at a computed index the guard still counts.
func.func @the_next_step_in_reverse(%at: tensor<4xi64>, %init: tensor<5x4xf32>)
    -> tensor<5x4xf32> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5x4xf32>):
    %c1 = "ted.compute"(%at, %c0) ({
    ^bb0(%n: i64):
      %t = "ted.index"() {dim = 0 : i64} : () -> index
      %one = arith.constant 1 : index
      %next = arith.addi %t, %one : index
      %four = arith.constant 4 : index
      %inside = arith.cmpi slt, %t, %four : index
      %j = arith.index_cast %n : i64 to index
      %a = "ted.load"(%c0, %inside, %next, %j) {mode = "check"}
          : (tensor<5x4xf32>, i1, index, index) -> f32
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 5, 4>, iterators = ["parallel", "parallel"],
      domain = affine_set<(d0, d1) : (0 == 0)>,
      reads = [affine_map<(d0, d1) -> (d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
      write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
    } : (tensor<4xi64>, tensor<5x4xf32>) -> tensor<5x4xf32>
    "ted.yield"(%c1) : (tensor<5x4xf32>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = true}
    : (tensor<5x4xf32>) -> tensor<5x4xf32>
  func.return %c : tensor<5x4xf32>
}

// -----

func.func @a_time_that_is_data_and_earlier(%at: tensor<5xi64>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf32>):
    %c1 = "ted.compute"(%at, %c0) ({
    ^bb0(%n: i64):
      %now = "ted.index"() {dim = 0 : i64} : () -> index
      %t = arith.index_cast %n : i64 to index
      %earlier = arith.cmpi slt, %t, %now : index
      %a = "ted.load"(%c0, %earlier, %t) {mode = "check"} : (tensor<5xf32>, i1, index) -> f32
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xi64>, tensor<5xf32>) -> tensor<5xf32>
    "ted.yield"(%c1) : (tensor<5xf32>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

func.func @a_time_that_is_data(%at: tensor<5xi64>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf32>):
    // expected-error @+1 {{ted.scan: a step of history 0 reads the future: history 0 at time index(}}
    %c1 = "ted.compute"(%at, %c0) ({
    ^bb0(%n: i64):
      %yes = arith.constant true
      %t = arith.index_cast %n : i64 to index
      %a = "ted.load"(%c0, %yes, %t) {mode = "check"} : (tensor<5xf32>, i1, index) -> f32
      "ted.yield"(%a) : (f32) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xi64>, tensor<5xf32>) -> tensor<5xf32>
    "ted.yield"(%c1) : (tensor<5xf32>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

func.func @an_index_that_leaves_64_bits_on_the_way(%A: tensor<3xf32>, %I: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{ted.compute: read 0: an index fits into 64 bits, got (d0 * 5000000000000000000) mod 3, computed in [0, 10000000000000000000]}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> ((d0 * 5000000000000000000) mod 3)>],
    guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %C : tensor<3xf32>
}

// -----

// The read is not made where the index is too large.
func.func @an_index_that_fits_where_it_is_used(%A: tensor<3xf32>, %I: tensor<3xf32>) -> tensor<3xf32> {
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> ((d0 * 5000000000000000000) mod 3)>],
    guards = [affine_set<(d0) : (1 - d0 >= 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %C : tensor<3xf32>
}

// -----

func.func @a_domain_that_leaves_64_bits(%A: tensor<3xf32>, %I: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{ted.compute: domain: an index fits into 64 bits, got d0 * 9000000000000000001 - 7, computed in [0, 18000000000000000002]}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"],
    domain = affine_set<(d0) : (d0 * 9000000000000000001 - 7 >= 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %C : tensor<3xf32>
}

// -----

func.func @a_body_that_leaves_64_bits(%I: tensor<3xi1>) -> tensor<3xi1> {
  // expected-error @+1 {{ted.compute: body: an index fits into 64 bits, got d0*4611686018427387904 in [0, 9223372036854775808]}}
  %C = "ted.compute"(%I) ({
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %zero = arith.constant 0 : index
    %large = arith.constant 4611686018427387904 : index
    %product = arith.muli %i, %large : index
    %positive = arith.cmpi slt, %zero, %product : index
    "ted.yield"(%positive) : (i1) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [], guards = [], write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi1>) -> tensor<3xi1>
  func.return %C : tensor<3xi1>
}

// -----

func.func @a_place_that_leaves_64_bits(%A: tensor<3xf32>, %I: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{ted.compute: body: an index fits into 64 bits, got d0*4611686018427387904 in [0, 9223372036854775808]}}
  %C = "ted.compute"(%A, %I) ({
  ^bb0(%a: f32):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %three = arith.constant 3 : index
    %large = arith.constant 4611686018427387904 : index
    %product = arith.muli %i, %large : index
    %place = arith.minsi %product, %three : index
    "ted.yield"(%a, %place) : (f32, index) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["reduction"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0)[s0] -> (s0)>, combiner = "add"
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %C : tensor<3xf32>
}

// -----

func.func @a_dim_that_leaves_its_type(%I: tensor<300xi8>) -> tensor<300xi8> {
  // expected-error @+1 {{ted.compute: body: an index fits into 8 bits, got d0 in [0, 299]}}
  %C = "ted.compute"(%I) ({
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %narrow = arith.index_cast %i : index to i8
    "ted.yield"(%narrow) : (i8) -> ()
  }) {
    extents = array<i64: 300>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [], guards = [], write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<300xi8>) -> tensor<300xi8>
  func.return %C : tensor<300xi8>
}

// -----

func.func @a_step_that_leaves_64_bits(%init: tensor<4xi1>) -> tensor<4xi1> {
  %c = "ted.scan"(%init) ({
  ^bb0(%h: tensor<4xi1>):
    // expected-error @+1 {{ted.compute: body: an index fits into 64 bits, got d0*4611686018427387904 in [0, 13835058055282163712]}}
    %0 = "ted.compute"(%h) ({
      %i = "ted.index"() {dim = 0 : i64} : () -> index
      %zero = arith.constant 0 : index
      %large = arith.constant 4611686018427387904 : index
      %product = arith.muli %i, %large : index
      %positive = arith.cmpi slt, %zero, %product : index
      "ted.yield"(%positive) : (i1) -> ()
    }) {
      extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
      reads = [], guards = [], write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<4xi1>) -> tensor<4xi1>
    "ted.yield"(%0) : (tensor<4xi1>) -> ()
  }) {steps = 4 : i64, times = array<i64: 0>, reverse = false} : (tensor<4xi1>) -> tensor<4xi1>
  func.return %c : tensor<4xi1>
}

// -----

// The message has the user's name of the data.
func.func @a_body_that_leaves_64_bits_beside_data(%P: tensor<3xi64> loc("places"), %I: tensor<3xi1>) -> tensor<3xi1> {
  // expected-error @+1 {{ted.compute: body: an index fits into 64 bits, got minimum(index(places[d0]), d0)*4611686018427387904 in [-inf, 9223372036854775808]}}
  %C = "ted.compute"(%P, %I) ({
  ^bb0(%p: i64):
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %place = arith.index_cast %p : i64 to index
    %zero = arith.constant 0 : index
    %large = arith.constant 4611686018427387904 : index
    %least = arith.minsi %place, %i : index
    %product = arith.muli %least, %large : index
    %positive = arith.cmpi slt, %zero, %product : index
    "ted.yield"(%positive) : (i1) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>, tensor<3xi1>) -> tensor<3xi1>
  func.return %C : tensor<3xi1>
}

// -----

// The product is used for the first two points alone.
func.func @a_body_that_fits_where_it_is_used(%I: tensor<3xi64>) -> tensor<3xi64> {
  %C = "ted.compute"(%I) ({
    %i = "ted.index"() {dim = 0 : i64} : () -> index
    %two = arith.constant 2 : index
    %large = arith.constant 4611686018427387904 : index
    %product = arith.muli %i, %large : index
    %few = arith.cmpi slt, %i, %two : index
    %chosen = arith.select %few, %product, %two : index
    %value = arith.index_cast %chosen : index to i64
    "ted.yield"(%value) : (i64) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [], guards = [], write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>) -> tensor<3xi64>
  func.return %C : tensor<3xi64>
}
