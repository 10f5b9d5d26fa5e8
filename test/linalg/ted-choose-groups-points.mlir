// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{cpu=avx2})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-emit-kernels{cpu=avx2})' | filecheck %s --check-prefix=BUILT
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-choose-groups{cpu=avx2},ted-emit-kernels{cpu=avx2})' | filecheck %s --check-prefix=BUILT

// Maps that are computed at each of their points, one behind the other, and what is not.

#all = affine_set<(i) : (0 == 0)>
#i = affine_map<(i) -> (i)>
#reversed = affine_map<(i) -> (-i + 999)>
#none = affine_map<(i) -> ()>

// The second one reads the first one, which is a result, and what that reads.
// CHECK-LABEL: func.func @chain(
// CHECK-COUNT-2: ted.group = {group = 1 : i64, name = "common_points"}
// BUILT-LABEL: func.func @chain(
// BUILT-SAME: %[[X:.*]]: memref<1000xf32> {llvm.noalias}, %[[P:.*]]: memref<1000xf32> {llvm.noalias}, %[[Q:.*]]: memref<1000xf32> {llvm.noalias})
// BUILT: linalg.generic {{.*}} ins(%[[X]] : {{.*}} outs(%[[P]], %[[Q]] :
// BUILT: ^bb0(%[[A:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// BUILT: %[[E:.*]] = math.exp %[[A]]
// BUILT: %[[M:.*]] = arith.mulf %[[E]], %[[A]]
// BUILT: linalg.yield %[[E]], %[[M]]
// BUILT-NOT: linalg.generic
// BUILT: return
func.func @chain(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %e = tensor.empty() : tensor<1000xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %q = "ted.compute"(%p, %x, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i, #i], guards = [#all, #all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  return %p, %q : tensor<1000xf32>, tensor<1000xf32>
}

// Nobody else reads the first one: it is in a register, rounded as it would be in memory.
// BUILT-LABEL: func.func @inside(
// BUILT-SAME: %[[X:.*]]: memref<1000xf16> {llvm.noalias}, %[[OUT:.*]]: memref<1000xf16> {llvm.noalias})
// BUILT-NOT: memref.alloc
// BUILT: linalg.generic {{.*}} ins(%[[X]] : {{.*}} outs(%[[OUT]] :
// BUILT: %[[E:.*]] = math.exp
// BUILT: %[[R:.*]] = arith.truncf %[[E]] : f32 to f16
// BUILT: %[[V:.*]] = arith.extf %[[R]] : f16 to f32
// BUILT: arith.mulf %[[V]], %[[V]]
func.func @inside(%x: tensor<1000xf16>) -> tensor<1000xf16> {
  %e = tensor.empty() : tensor<1000xf16>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f16):
    %u = math.exp %a : f16
    "ted.yield"(%u) : (f16) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf16>, tensor<1000xf16>) -> tensor<1000xf16>
  %q = "ted.compute"(%p, %e) ({
  ^bb0(%a: f16):
    %u = arith.mulf %a, %a : f16
    "ted.yield"(%u) : (f16) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf16>, tensor<1000xf16>) -> tensor<1000xf16>
  return %q : tensor<1000xf16>
}

// Another element than that of the point is in memory only.
// CHECK-LABEL: func.func @elsewhere(
// CHECK-COUNT-2: ted.group = {name = "alone"}
func.func @elsewhere(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %e = tensor.empty() : tensor<1000xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %q = "ted.compute"(%p, %x, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.mulf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#reversed, #i], guards = [#all, #all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  return %q : tensor<1000xf32>
}

// A sum of the first one is needed for the second one, and nothing else by the third one: that
// goes to the first one.
// CHECK-LABEL: func.func @between(
// CHECK: ted.group = {group = 1 : i64, name = "common_points"}
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {name = "alone"}
// CHECK: ted.group = {group = 1 : i64, name = "common_points"}
func.func @between(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) {
  %z_c = arith.constant 0.0 : f32
  %z_e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%z_c : f32) outs(%z_e : tensor<f32>) -> tensor<f32>
  %e = tensor.empty() : tensor<1000xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %s = "ted.compute"(%p, %z) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["reduction"], domain = #all,
    reads = [#i], guards = [#all], write = #none, combiner = "add"
  } : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  %q = "ted.compute"(%p, %s, %e) ({
  ^bb0(%a: f32, %b: f32):
    %u = arith.divf %a, %b : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i, #none], guards = [#all, #all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<f32>, tensor<1000xf32>) -> tensor<1000xf32>
  %r = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.tanh %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set"
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  return %p, %q, %r : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
}

// What is asked for is obeyed, also without anything in common.
// CHECK-LABEL: func.func @asked(
// CHECK-COUNT-2: ted.group = {group = 7 : i64, name = "common_points"}
// CHECK: ted.group = {name = "alone"}
// BUILT-LABEL: func.func @asked(
// BUILT-COUNT-2: linalg.generic
// BUILT-NOT: linalg.generic
// BUILT: return
func.func @asked(%x: tensor<1000xf32>, %y: tensor<1000xf32>)
    -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) {
  %e = tensor.empty() : tensor<1000xf32>
  %p = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set",
    ted.group = {name = "common_points", group = 7}
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %q = "ted.compute"(%y, %e) ({
  ^bb0(%a: f32):
    %u = math.exp %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set",
    ted.group = {name = "common_points", group = 7}
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %r = "ted.compute"(%x, %e) ({
  ^bb0(%a: f32):
    %u = math.tanh %a : f32
    "ted.yield"(%u) : (f32) -> ()
  }) {
    extents = array<i64: 1000>, iterators = ["parallel"], domain = #all,
    reads = [#i], guards = [#all], write = #i, combiner = "set",
    ted.group = {name = "alone"}
  } : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  return %p, %q, %r : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
}
