// A sum over rows goes down to its first use, unless something goes on from what it reads.
// RUN: ted-opt %s --ted-sink-column-sums | filecheck %s

#all2 = affine_set<(d0, d1) : (0 == 0)>
#ij = affine_map<(i, j) -> (i, j)>
#i_ = affine_map<(i, j) -> (i)>
#ji = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func @down
// CHECK: combiner = "set"
// CHECK: %[[S:.*]] = "ted.compute"
// CHECK: combiner = "add"
// CHECK: return %[[S]]
func.func @down(%x: tensor<40x8xf32>, %s: tensor<8xf32>, %o: tensor<40x8xf32>)
    -> (tensor<8xf32>, tensor<40x8xf32>) {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 40>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i_, combiner = "add"
  } : (tensor<40x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = "ted.compute"(%x, %o) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<40x8xf32>, tensor<40x8xf32>) -> tensor<40x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<40x8xf32>
}

// CHECK-LABEL: func.func @goes_on
// CHECK: combiner = "add"
// CHECK: combiner = "max"
func.func @goes_on(%x: tensor<40x8xf32>, %y: tensor<40x8xf32>, %s: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<40x8xf32>) {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 40>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i_, combiner = "add"
  } : (tensor<40x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = "ted.compute"(%y, %x) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "max"
  } : (tensor<40x8xf32>, tensor<40x8xf32>) -> tensor<40x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<40x8xf32>
}

// A sum along rows stays where it is.
// CHECK-LABEL: func.func @along
// CHECK: combiner = "add"
// CHECK: combiner = "set"
func.func @along(%x: tensor<40x8xf32>, %s: tensor<40xf32>, %o: tensor<40x8xf32>)
    -> (tensor<40xf32>, tensor<40x8xf32>) {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #i_, combiner = "add"
  } : (tensor<40x8xf32>, tensor<40xf32>) -> tensor<40xf32>
  %1 = "ted.compute"(%x, %o) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 40, 8>, iterators = ["parallel", "parallel"], domain = #all2,
    reads = [#ij], guards = [#all2], write = #ij, combiner = "set"
  } : (tensor<40x8xf32>, tensor<40x8xf32>) -> tensor<40x8xf32>
  return %0, %1 : tensor<40xf32>, tensor<40x8xf32>
}

// A sum that nobody uses stays, too.
// CHECK-LABEL: func.func @unused
// CHECK: combiner = "add"
func.func @unused(%x: tensor<40x8xf32>, %s: tensor<8xf32>) {
  %0 = "ted.compute"(%x, %s) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 8, 40>, iterators = ["parallel", "reduction"], domain = #all2,
    reads = [#ji], guards = [#all2], write = #i_, combiner = "add"
  } : (tensor<40x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}
