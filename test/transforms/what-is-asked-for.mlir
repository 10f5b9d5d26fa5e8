// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate,ted-simplify,ted-fuse-pointwise,ted-split-dims)' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-differentiate,ted-cpu-pipeline{until=linalg})' | filecheck %s --check-prefix=LINALG

// What equations ask for is kept while they are rewritten, and goes to what they become.

#all = affine_set<(d0) : (0 == 0)>
#id = affine_map<(d0) -> (d0)>

// A cheap producer stays, since it asks for something; so does one of two equal ones. What its
// reader asks for, with whatever is brought into it, stays too.
// CHECK-LABEL: func.func @g
// CHECK: math.absf
// CHECK: ted.strategy = {name = "points"}
// CHECK: math.absf
// CHECK: ted.strategy = {name = "loops"}
// CHECK: math.sin
// CHECK: math.tanh
// CHECK: ted.group = {name = "alone"}, ted.strategy = {a = 1 : i64, name = "b"}
// Of a derivative nothing is asked, nor of what it computes of its primal.
// CHECK-LABEL: func.func private @g_vjp
// CHECK-NOT: ted.strategy
// CHECK-NOT: ted.group
// CHECK: return

// LINALG-LABEL: func.func @g
// LINALG: linalg.generic {{.*}}ted.strategy = {name = "points"}
// LINALG: linalg.generic {{.*}}ted.strategy = {name = "loops"}
// LINALG: linalg.generic {{.*}}attrs = {ted.strategy = {a = 1 : i64, name = "b"}}
// What a group asks of equations is obeyed where these become kernels.
// LINALG-NOT: ted.group
// LINALG: return
func.func @g(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %a = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    %t = math.absf %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all, reads = [#id],
    guards = [#all], write = #id, combiner = "set", ted.strategy = {name = "points"}
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %b = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    %t = math.absf %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all, reads = [#id],
    guards = [#all], write = #id, combiner = "set", ted.strategy = {name = "loops"}
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %s = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    %t = math.sin %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all, reads = [#id],
    guards = [#all], write = #id, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %r = "ted.compute"(%a, %b, %s, %e) ({
  ^bb0(%u: f64, %v: f64, %w: f64):
    %p = arith.mulf %u, %v : f64
    %q = arith.mulf %p, %w : f64
    %t = math.tanh %q : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all, reads = [#id, #id, #id],
    guards = [#all, #all, #all], write = #id, combiner = "set", ted.group = {name = "alone"},
    ted.strategy = {name = "b", a = 1}
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %r : tensor<8xf64>
}
func.func private @g_vjp(tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {ted.vjp_of = @g}

// A copy is read through, unless somebody asks for something about it.
// CHECK-LABEL: func.func @copies
// CHECK: ted.strategy = {name = "points"}
// CHECK: "ted.compute"(%{{[0-9]+}}, %arg0, %
func.func @copies(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %a = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    "ted.yield"(%v) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all,
    reads = [affine_map<(d0) -> (7 - d0)>], guards = [#all], write = #id, combiner = "set",
    ted.strategy = {name = "points"}
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %b = "ted.compute"(%x, %e) ({
  ^bb0(%v: f64):
    "ted.yield"(%v) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all,
    reads = [affine_map<(d0) -> (7 - d0)>], guards = [#all], write = #id, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  %r = "ted.compute"(%a, %b, %e) ({
  ^bb0(%u: f64, %v: f64):
    %t = arith.subf %u, %v : f64
    "ted.yield"(%t) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = #all, reads = [#id, #id],
    guards = [#all, #all], write = #id, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %r : tensor<8xf64>
}
