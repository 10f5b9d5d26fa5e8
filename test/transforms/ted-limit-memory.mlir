// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-limit-memory{bytes=96})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-limit-memory{bytes=128})' | filecheck %s --check-prefix=FITS

// %a is held while %b and %c are made, and read again at the end: 128 bytes, with the result's.
// CHECK-LABEL: func.func @read_late
// CHECK: %[[A:.*]] = "ted.compute"(%[[X:arg0]], %{{.*}})
// CHECK-NOT: ted.recomputed
// CHECK: %[[C:.*]] = "ted.compute"({{.*}}
// CHECK: %[[AGAIN:.*]] = "ted.compute"(%[[X]], %{{.*}})
// CHECK: ted.recomputed
// CHECK: "ted.compute"(%{{.*}}, %[[AGAIN]], %{{.*}})
// FITS-LABEL: func.func @read_late
// FITS-COUNT-4: "ted.compute"
// FITS-NOT: "ted.compute"
// FITS-NOT: ted.recomputed
func.func @read_late(%x: tensor<4xf64>) -> tensor<4xf64> {
  %a_init = tensor.empty() : tensor<4xf64>
  %a = "ted.compute"(%x, %a_init) ({
  ^bb0(%p0: f64):
    %r = math.sin %p0 : f64
    "ted.yield"(%r) : (f64) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>], guards = [affine_set<(i) : (0 == 0)>], write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %b_init = tensor.empty() : tensor<4xf64>
  %b = "ted.compute"(%a, %b_init) ({
  ^bb0(%p0: f64):
    %r = math.sin %p0 : f64
    "ted.yield"(%r) : (f64) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>], guards = [affine_set<(i) : (0 == 0)>], write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %c_init = tensor.empty() : tensor<4xf64>
  %c = "ted.compute"(%b, %c_init) ({
  ^bb0(%p0: f64):
    %r = math.sin %p0 : f64
    "ted.yield"(%r) : (f64) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>], guards = [affine_set<(i) : (0 == 0)>], write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %d_init = tensor.empty() : tensor<4xf64>
  %d = "ted.compute"(%c, %a, %d_init) ({
  ^bb0(%p0: f64, %p1: f64):
    %r = arith.addf %p0, %p1 : f64
    "ted.yield"(%r) : (f64) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(i) : (0 == 0)>,
    reads = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], guards = [affine_set<(i) : (0 == 0)>, affine_set<(i) : (0 == 0)>], write = affine_map<(i) -> (i)>, combiner = "set"
  } : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %d : tensor<4xf64>
}
