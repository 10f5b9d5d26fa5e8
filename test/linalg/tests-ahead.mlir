// RUN: ted-opt %s --pass-pipeline='builtin.module(convert-ted-to-linalg{ahead=true},canonicalize,cse)' | filecheck %s

// Indices of rows are tested before the rows are read, a block at a time; the rest tests nothing.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[FIRST:.*]] = arith.muli %[[B]]
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[BAD:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] {{.*}} iter_args(%[[ANY:.*]] = %false) -> (i1)
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK: %[[OUT:.*]] = arith.cmpi uge, %[[I]], %c9
// CHECK: arith.ori %[[ANY]], %[[OUT]] : i1
// CHECK: scf.if %[[BAD]] {
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// CHECK: scf.if
// CHECK-NEXT: call @ted_index_error
// CHECK: {ted.parallel}
// CHECK: linalg.generic
// CHECK: %[[AT:.*]] = arith.minui %{{.*}}, %c8
// CHECK-NEXT: tensor.extract %{{.*}}[%[[AT]], %{{.*}}]
// CHECK-NEXT: linalg.yield
func.func @rows(%T: tensor<9x8xf32>, %at: tensor<5000xi64>, %init: tensor<5000x8xf32>)
    -> tensor<5000x8xf32> {
  %0 = "ted.compute"(%at, %init) ({
  ^bb0(%n: i64):
    %yes = arith.constant true
    %i = arith.index_cast %n : i64 to index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %x = "ted.load"(%T, %yes, %i, %j) {mode = "check", checked = array<i64: 0>}
        : (tensor<9x8xf32>, i1, index, index) -> f32
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 5000, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>, reads = [affine_map<(d0, d1) -> (d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<5000xi64>, tensor<5000x8xf32>) -> tensor<5000x8xf32>
  func.return %0 : tensor<5000x8xf32>
}

// Where each index is used once and little is done with it, the test stays where it is used.
// CHECK-LABEL: func.func @once
// CHECK-NOT: scf.for
// CHECK: linalg.generic
// CHECK: scf.if
// CHECK: call @ted_index_error
func.func @once(%T: tensor<9xf32>, %at: tensor<50xi64>, %init: tensor<50xf32>) -> tensor<50xf32> {
  %0 = "ted.compute"(%at, %init) ({
  ^bb0(%n: i64):
    %yes = arith.constant true
    %i = arith.index_cast %n : i64 to index
    %x = "ted.load"(%T, %yes, %i) {mode = "check"} : (tensor<9xf32>, i1, index) -> f32
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 50>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<50xi64>, tensor<50xf32>) -> tensor<50xf32>
  func.return %0 : tensor<50xf32>
}

// A predicate along columns is part of the test; the read stays under it.
// CHECK-LABEL: func.func @guarded
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (i1)
// CHECK: %[[YES:.*]] = tensor.extract %{{.*}} : tensor<40x8xi1>
// CHECK: %[[OUT:.*]] = arith.cmpi uge
// CHECK: arith.andi %[[YES]], %[[OUT]] : i1
// CHECK: linalg.generic
// CHECK-NOT: call
// CHECK: scf.if
func.func @guarded(%T: tensor<9x8xf32>, %at: tensor<40xi64>, %m: tensor<40x8xi1>,
    %init: tensor<40x8xf32>) -> tensor<40x8xf32> {
  %0 = "ted.compute"(%at, %m, %init) ({
  ^bb0(%n: i64, %yes: i1):
    %i = arith.index_cast %n : i64 to index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %x = "ted.load"(%T, %yes, %i, %j) {mode = "check", checked = array<i64: 0>}
        : (tensor<9x8xf32>, i1, index, index) -> f32
    %y = math.exp %x : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<40xi64>, tensor<40x8xi1>, tensor<40x8xf32>) -> tensor<40x8xf32>
  func.return %0 : tensor<40x8xf32>
}

// A write at data: rows are tested once, and then added without a condition.
// CHECK-LABEL: func.func @added
// CHECK: scf.for {{.*}} -> (i1)
// CHECK: call @ted_index_error
// CHECK: scf.for {{.*}} -> (tensor<9x8xf32>)
// CHECK: scf.for {{.*}} -> (tensor<9x8xf32>)
// CHECK-NOT: scf.if
// CHECK: arith.minui
// CHECK-NOT: scf.if
// CHECK: {ted.parallel}
// CHECK: {ted.parallel_inside}
// CHECK: return
func.func @added(%v: tensor<40x8xf32>, %at: tensor<40xi64>, %init: tensor<9x8xf32>)
    -> tensor<9x8xf32> {
  %0 = "ted.compute"(%v, %at, %init) ({
  ^bb0(%x: f32, %n: i64):
    %i = arith.index_cast %n : i64 to index
    "ted.yield"(%x, %i) : (f32, index) -> ()
  }) {
    extents = array<i64: 8, 40>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1)[s0] -> (s0, d0)>, combiner = "add"
  } : (tensor<40x8xf32>, tensor<40xi64>, tensor<9x8xf32>) -> tensor<9x8xf32>
  func.return %0 : tensor<9x8xf32>
}

// Nothing is inside a tensor without rows: all that is left are the reports.
// CHECK-LABEL: func.func @no_rows
// CHECK: call @ted_index_error
// CHECK: linalg.generic
// CHECK-NOT: tensor.extract
// CHECK: linalg.yield
func.func @no_rows(%T: tensor<0x8xf32>, %at: tensor<40xi64>, %init: tensor<40x8xf32>)
    -> tensor<40x8xf32> {
  %0 = "ted.compute"(%at, %init) ({
  ^bb0(%n: i64):
    %yes = arith.constant true
    %i = arith.index_cast %n : i64 to index
    %j = "ted.index"() {dim = 1 : i64} : () -> index
    %x = "ted.load"(%T, %yes, %i, %j) {mode = "check", checked = array<i64: 0>}
        : (tensor<0x8xf32>, i1, index, index) -> f32
    "ted.yield"(%x) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "parallel"],
    domain = affine_set<(d0, d1) : (0 == 0)>, reads = [affine_map<(d0, d1) -> (d0)>],
    guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
  } : (tensor<40xi64>, tensor<40x8xf32>) -> tensor<40x8xf32>
  func.return %0 : tensor<40x8xf32>
}
