// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{results=1})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{results=1 json=true})' | filecheck %s --check-prefix=JSON
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{results=1 max-ratio=0.94})' | filecheck %s
// RUN: not ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{results=1 max-ratio=0.9})' 2>&1 | filecheck %s --check-prefix=ABOVE
// RUN: not ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{max-ratio=0.9})' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ted-opt %s --pass-pipeline='builtin.module(ted-report-gradient{results=1 max-ratio=nan})' 2>&1 | filecheck %s --check-prefix=ILL

// ABOVE: error: ted-report-gradient: gradients of @squares must cost at most 0.9 times its results, got 0.9375 times (30 and 32 operations)
// UNKNOWN: error: ted-report-gradient: max-ratio needs results=N, the number of results that are not gradients, got 0
// ILL: error: ted-report-gradient: max-ratio must be positive, got nan

// CHECK-LABEL: gradient report of @squares
// CHECK-NEXT: C: add, gather, disjoint, 32 operations at 16 points, 160 bytes (model.py:41)
// CHECK-NEXT: dA: add, scatter (the write depends on reduction dims d0, d1), sequential, 30 operations at 10 points
// CHECK-NEXT: 2 equations, 1 scatter, 62 operations
// CHECK-NEXT: gradients / results: 0.94 (32 operations)
// CHECK-NEXT: moved, gradients / results: 0.85 (160 bytes)
// JSON: "function": "squares"
// JSON: "gradient": 30
// JSON: "ratio": 0.9375
// JSON: "needed": 62
// JSON: "moved": 296
// JSON: "moved_ratio": 0.85
// JSON: "form": "scatter"
func.func @squares(%A: tensor<4x4xf64>, %zC: tensor<4xf64>, %zA: tensor<7xf64>)
    -> (tensor<4xf64>, tensor<7xf64>) {
  %C = "ted.compute"(%A, %zC) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64> loc("C"("model.py":41:3))
  %dA = "ted.compute"(%A, %zA) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    %q = arith.addf %p, %a : f64
    "ted.yield"(%q) : (f64) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["reduction", "reduction"],
    domain = affine_set<(d0, d1) : (d0 - d1 >= 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0 + d1)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<7xf64>) -> tensor<7xf64> loc("dA"("model.py":41:3))
  func.return %C, %dA : tensor<4xf64>, tensor<7xf64>
}

// What is needed: of the rows only those that the result has.

// CHECK-LABEL: gradient report of @rows
// CHECK-NEXT: C: add, gather, disjoint, 32 operations at 16 points, 8 of them needed, 160 bytes
// CHECK-NEXT: S: set, gather, disjoint, 0 operations at 2 points, 32 bytes
// CHECK-NEXT: 2 equations, 0 scatter, 32 operations
// CHECK-NEXT: needed for what is asked: 16 operations
// CHECK: func.func @squares
func.func @rows(%A: tensor<4x4xf64>, %zC: tensor<4xf64>, %zS: tensor<2xf64>) -> tensor<2xf64> {
  %C = "ted.compute"(%A, %zC) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64> loc("C")
  %S = "ted.compute"(%C, %zS) ({
  ^bb0(%c: f64):
    "ted.yield"(%c) : (f64) -> ()
  }) {
    extents = array<i64: 2>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0 * 2 + 1)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf64>, tensor<2xf64>) -> tensor<2xf64> loc("S")
  func.return %S : tensor<2xf64>
}
