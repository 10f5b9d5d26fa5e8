// RUN: ted-opt %s --split-input-file --verify-diagnostics

// One case per rule of dialects/ted/verify_body.py, in its order.

func.func @no_block(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: the body must be one region of one block, got [0] blocks}}
  %0 = "ted.compute"(%A, %init) ({}) {
    extents = array<i64: 4>,
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

func.func @argument_per_read(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: the body must have one scalar argument per read (f32), got (f32, f32)}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32, %b: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @argument_of_another_type(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: the body must have one scalar argument per read (f32), got (f64)}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f64):
    "ted.yield"(%a) : (f64) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @no_yield(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: the body must end in ted.yield, got ub.unreachable}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    ub.unreachable
  }) {
    extents = array<i64: 4>,
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

func.func @call_in_the_body(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: the body may use arith, math and ted.index, ted.load, ted.size, ted.stop_gradient, ted.yield, got vector.print}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    vector.print %a : f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @tensor_in_the_body(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: values in the body must be scalars, got tensor<2xf32> from arith.constant}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %t = arith.constant dense<0.0> : tensor<2xf32>
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @scalar_from_outside(%A: tensor<4xf32>, %init: tensor<4xf32>, %s: f32) {
  // expected-error@+1 {{ted.compute: the body may use its own values, constants, sizes, and tensors through ted.load, got f32 from outside in arith.addf}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %b = arith.addf %a, %s : f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @yield_of_another_type(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: ted.yield must give one value of the result's element type and one index per symbol of the write (f32), got (i1)}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %b = arith.constant true
    "ted.yield"(%b) : (i1) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @index_without_symbol(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: ted.yield must give one value of the result's element type and one index per symbol of the write (f32), got (f32, index)}}
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %i = arith.constant 0 : index
    "ted.yield"(%a, %i) : (f32, index) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @symbol_without_index(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  // expected-error@+1 {{ted.compute: ted.yield must give one value of the result's element type and one index per symbol of the write (f32, index), got (f32)}}
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
    combiner = "add"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @index_out_of_the_box(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.index: dim must be in [0, 1) of the enclosing ted.compute, got 1}}
    %i = "ted.index"() {dim = 1 : i64} : () -> index
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @index_without_dim(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.index: attribute 'dim' must be an i64, got {}}}
    %i = "ted.index"() : () -> index
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @index_of_another_type(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.index: takes nothing and gives an index, got () -> i64}}
    %i = "ted.index"() {dim = 0 : i64} : () -> i64
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_without_predicate(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.load: takes a tensor, a predicate and indices, got (tensor<4xf32>)}}
    %x = "ted.load"(%A) {mode = "check"} : (tensor<4xf32>) -> f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_under_a_number(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.load: the predicate must be i1, got f32}}
    %x = "ted.load"(%A, %a) {mode = "check"} : (tensor<4xf32>, f32) -> f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_without_index(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %p = arith.constant true
    // expected-error@+1 {{ted.load: takes one index per dim of tensor<4xf32>, got ()}}
    %x = "ted.load"(%A, %p) {mode = "check"} : (tensor<4xf32>, i1) -> f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_of_another_type(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %p = arith.constant true
    %i = arith.constant 0 : index
    // expected-error@+1 {{ted.load: the result must have the tensor's element type f32, got f64}}
    %x = "ted.load"(%A, %p, %i) {mode = "check"} : (tensor<4xf32>, i1, index) -> f64
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_in_an_unknown_mode(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %p = arith.constant true
    %i = arith.constant 0 : index
    // expected-error@+1 {{ted.load: attribute 'mode' must be one of check, clip, drop, unchecked, got "wrap"}}
    %x = "ted.load"(%A, %p, %i) {mode = "wrap"} : (tensor<4xf32>, i1, index) -> f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @load_without_mode(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %p = arith.constant true
    %i = arith.constant 0 : index
    // expected-error@+1 {{ted.load: attribute 'mode' must be one of check, clip, drop, unchecked, got None}}
    %x = "ted.load"(%A, %p, %i) : (tensor<4xf32>, i1, index) -> f32
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @stop_gradient_that_converts(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    // expected-error@+1 {{ted.stop_gradient: operand and result must have one type, got (f32) -> (f64)}}
    %x = "ted.stop_gradient"(%a) : (f32) -> f64
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @stop_gradient_of_an_index(%A: tensor<4xf32>, %init: tensor<4xf32>) {
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %i = arith.constant 0 : index
    // expected-error@+1 {{ted.stop_gradient: the type must be a tensor or scalar of f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, got index}}
    %x = "ted.stop_gradient"(%i) : (index) -> index
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>,
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

func.func @stop_gradient_with_two_results(%x: f32) {
  // expected-error@+1 {{ted.stop_gradient: must have one result, got 2}}
  %a, %b = "ted.stop_gradient"(%x) : (f32) -> (f32, f32)
  func.return
}

// -----

func.func @index_outside_of_a_body() {
  // expected-error@+1 {{ted.index: must stand in the body of a ted.compute, got func.func}}
  %i = "ted.index"() {dim = 0 : i64} : () -> index
  func.return
}

// -----

func.func @load_outside_of_a_body(%A: tensor<f32>, %p: i1) {
  // expected-error@+1 {{ted.load: must stand in the body of a ted.compute, got func.func}}
  %x = "ted.load"(%A, %p) {mode = "check"} : (tensor<f32>, i1) -> f32
  func.return
}

// -----

func.func @yield_outside_of_a_body(%x: f32) {
  // expected-error@+1 {{ted.yield: must stand in the body of a ted.compute or ted.scan, got func.func}}
  "ted.yield"(%x) : (f32) -> ()
}

// -----

func.func @unknown_op() {
  // expected-error@+1 {{unregistered operation 'ted.map' found in dialect ('ted')}}
  "ted.map"() : () -> ()
  func.return
}
