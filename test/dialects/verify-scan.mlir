// RUN: ted-opt %s --split-input-file --verify-diagnostics

// One case per rule of dialects/ted/verify_scan.py, in its order.

func.func @no_times(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: attribute 'times' must be present as array<i64: ...>, got none}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @steps_of_another_kind(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: attribute 'steps' must be an integer or an affine_map, got 5.0}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5.0 : f64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @no_direction(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: attribute 'reverse' must be present as a bool, got none}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @one_time_per_history(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: one init, one time dim and one result per history, got 1 inits, 2 times and 1 results}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0, 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @dynamic_history(%x: tensor<5xf64>, %init: tensor<?xf64>) {
  // expected-error@+1 {{ted.scan: operand 0 must be a tensor with static or symbolic sizes, got tensor<?xf64>}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<?xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @init_of_another_type(%x: tensor<5xf64>, %init: tensor<6xf64>) {
  // expected-error@+1 {{ted.scan: init 0 must have the type of its result tensor<5xf64>, got tensor<6xf64>}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<6xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @time_beyond_the_rank(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: time 0 must be a dim of tensor<5xf64>, got 1}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 1>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @steps_beyond_the_extent(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: history 0 must have one extent per step in its time dim 0, got tensor<5xf64> and 6 steps}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 6 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @no_block(%init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: the body must be one region of one block, got [0] blocks}}
  %c = "ted.scan"(%init) ({}) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @an_argument_too_many(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: the body must have one argument per history (tensor<5xf64>), got (tensor<5xf64>, tensor<5xf64>)}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>, %d0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @no_yield(%init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: the body must end in ted.yield, got ub.unreachable}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    ub.unreachable
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @another_op_in_the_body(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: the body may use ted.compute, ted.scan, arith.constant, ted.yield, got tensor.empty}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = tensor.empty() : tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @a_nested_scan_along_the_same_dim(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: a scan in the body must run along other dims than this one, got dim 0 of history 0 for both}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.scan"(%c0) ({
    ^bb0(%d0: tensor<5xf64>):
      "ted.yield"(%d0) : (tensor<5xf64>) -> ()
    }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @an_equation_of_a_tensor_from_outside(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: equation 0 must start from a block argument of the body, got another}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %init) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @two_states_of_one_history(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: equation 1 must start from the last state of history 0}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %c2 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @an_old_state_yielded(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: ted.yield must give the last state of history 0, got another value}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c0) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @nothing_yielded(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: ted.yield must give one value per history, got 0}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%c0, %x, %c0) ({
    ^bb0(%before: f64, %now: f64):
      %sum = arith.addf %before, %now : f64
      "ted.yield"(%sum) : (f64) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>,
      reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0) -> (d0)>, combiner = "set"
    } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"() : () -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @a_time_that_is_data(%x: tensor<5xf64>, %init: tensor<5xf64>) {
  // expected-error@+1 {{ted.scan: equation 0 must write the time dim 0 of history 0 at an affine index, got data}}
  %c = "ted.scan"(%init) ({
  ^bb0(%c0: tensor<5xf64>):
    %c1 = "ted.compute"(%x, %c0) ({
    ^bb0(%now: f64):
      %at = "ted.index"() {dim = 0 : i64} : () -> index
      "ted.yield"(%now, %at) : (f64, index) -> ()
    }) {
      extents = array<i64: 5>, iterators = ["parallel"],
      domain = affine_set<(d0) : (0 == 0)>, reads = [affine_map<(d0) -> (d0)>],
      guards = [affine_set<(d0) : (0 == 0)>],
      write = affine_map<(d0)[s0] -> (s0)>, combiner = "add"
    } : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    "ted.yield"(%c1) : (tensor<5xf64>) -> ()
  }) {times = array<i64: 0>, steps = 5 : i64, reverse = false} : (tensor<5xf64>) -> tensor<5xf64>
  func.return
}
