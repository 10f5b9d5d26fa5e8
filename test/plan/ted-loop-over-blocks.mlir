// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-simplify,ted-fuse-pointwise,ted-loop-over-blocks{bytes=2400})' --mlir-print-local-scope | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-simplify,ted-fuse-pointwise,ted-loop-over-blocks)' --mlir-print-local-scope | filecheck %s --check-prefix=SMALL

// Products of 32 x 24 are made in four blocks of 8 rows, their maxima and exponentials with them;
// sums over columns have rows, too, and the product with the transpose is a total.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<32x24xf32>
// CHECK: %[[LOOP:.*]]:5 = "ted.scan"
// CHECK: "ted.compute"(%arg0, %arg1,
// CHECK: extents = array<i64: 4, 8, 24, 4>
// CHECK-SAME: reads = [affine_map<(d0, d1, d2, d3) -> (d0 * 8 + d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>]
// CHECK-SAME: write = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK: combiner = "max"
// CHECK: math.exp
// CHECK: "ted.compute"
// CHECK: domain = affine_set<(d0, d1, d2) : (d0 - 1 >= 0)>, extents = array<i64: 4, 24, 4>
// CHECK-SAME: reads = [affine_map<(d0, d1, d2) -> (d0 - 1, d1, d2)>]
// CHECK-SAME: ted.carries
// CHECK: combiner = "add"
// CHECK-SAME: extents = array<i64: 4, 24, 4, 8>
// CHECK: steps = 4 : i64
// CHECK-DAG: reads = [affine_map<(d0, d1) -> (3, d0, d1)>]
// CHECK-DAG: write = affine_map<(d0, d1) -> (d0 * 8 + d1)>

// What the cache of a machine holds is stored.
// SMALL-LABEL: func.func @main
// SMALL-NOT: ted.scan
// SMALL: tensor<32x24xf32>
func.func @main(%arg0: tensor<32x4xf32>, %arg1: tensor<24x4xf32>) -> (tensor<32xf32>, tensor<24x4xf32>) {
  %0 = tensor.empty() : tensor<4x24xf32>
  %1 = "ted.compute"(%arg1, %0) ({
  ^bb0(%arg2: f32):
    "ted.yield"(%arg2) : (f32) -> ()
  }) {combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 4, 24>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "parallel"], reads = [affine_map<(d0, d1) -> (d1, d0)>], write = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<24x4xf32>, tensor<4x24xf32>) -> tensor<4x24xf32>
  %2 = tensor.empty() : tensor<32x24xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<32x24xf32>) -> tensor<32x24xf32>
  %4 = "ted.compute"(%arg0, %1, %3) ({
  ^bb0(%arg2: f32, %arg3: f32):
    %22 = arith.mulf %arg2, %arg3 : f32
    "ted.yield"(%22) : (f32) -> ()
  }) {combiner = "add", domain = affine_set<(d0, d1, d2) : (0 == 0)>, extents = array<i64: 32, 24, 4>, guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>], iterators = ["parallel", "parallel", "reduction"], reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], write = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<32x4xf32>, tensor<4x24xf32>, tensor<32x24xf32>) -> tensor<32x24xf32>
  %5 = tensor.empty() : tensor<32xf32>
  %cst_0 = arith.constant 0xFF800000 : f32
  %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<32xf32>) -> tensor<32xf32>
  %7 = "ted.compute"(%4, %6) ({
  ^bb0(%arg2: f32):
    "ted.yield"(%arg2) : (f32) -> ()
  }) {combiner = "max", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 32, 24>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "reduction"], reads = [affine_map<(d0, d1) -> (d0, d1)>], write = affine_map<(d0, d1) -> (d0)>} : (tensor<32x24xf32>, tensor<32xf32>) -> tensor<32xf32>
  %8 = tensor.empty() : tensor<32x1xf32>
  %9 = "ted.compute"(%7, %8) ({
  ^bb0(%arg2: f32):
    "ted.yield"(%arg2) : (f32) -> ()
  }) {combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 32, 1>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "parallel"], reads = [affine_map<(d0, d1) -> (d0)>], write = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<32xf32>, tensor<32x1xf32>) -> tensor<32x1xf32>
  %10 = tensor.empty() : tensor<32x24xf32>
  %11 = "ted.compute"(%4, %9, %10) ({
  ^bb0(%arg2: f32, %arg3: f32):
    %22 = arith.subf %arg2, %arg3 : f32
    "ted.yield"(%22) : (f32) -> ()
  }) {combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 32, 24>, guards = [affine_set<(d0, d1) : (0 == 0)>, affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "parallel"], reads = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], write = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<32x24xf32>, tensor<32x1xf32>, tensor<32x24xf32>) -> tensor<32x24xf32>
  %12 = tensor.empty() : tensor<32x24xf32>
  %13 = "ted.compute"(%11, %12) ({
  ^bb0(%arg2: f32):
    %22 = math.exp %arg2 : f32
    "ted.yield"(%22) : (f32) -> ()
  }) {combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 32, 24>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "parallel"], reads = [affine_map<(d0, d1) -> (d0, d1)>], write = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<32x24xf32>, tensor<32x24xf32>) -> tensor<32x24xf32>
  %14 = tensor.empty() : tensor<32xf32>
  %cst_1 = arith.constant 0.000000e+00 : f32
  %15 = linalg.fill ins(%cst_1 : f32) outs(%14 : tensor<32xf32>) -> tensor<32xf32>
  %16 = "ted.compute"(%13, %15) ({
  ^bb0(%arg2: f32):
    "ted.yield"(%arg2) : (f32) -> ()
  }) {combiner = "add", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 32, 24>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "reduction"], reads = [affine_map<(d0, d1) -> (d0, d1)>], write = affine_map<(d0, d1) -> (d0)>} : (tensor<32x24xf32>, tensor<32xf32>) -> tensor<32xf32>
  %17 = tensor.empty() : tensor<24x32xf32>
  %18 = "ted.compute"(%13, %17) ({
  ^bb0(%arg2: f32):
    "ted.yield"(%arg2) : (f32) -> ()
  }) {combiner = "set", domain = affine_set<(d0, d1) : (0 == 0)>, extents = array<i64: 24, 32>, guards = [affine_set<(d0, d1) : (0 == 0)>], iterators = ["parallel", "parallel"], reads = [affine_map<(d0, d1) -> (d1, d0)>], write = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<32x24xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %19 = tensor.empty() : tensor<24x4xf32>
  %cst_2 = arith.constant 0.000000e+00 : f32
  %20 = linalg.fill ins(%cst_2 : f32) outs(%19 : tensor<24x4xf32>) -> tensor<24x4xf32>
  %21 = "ted.compute"(%18, %arg0, %20) ({
  ^bb0(%arg2: f32, %arg3: f32):
    %22 = arith.mulf %arg2, %arg3 : f32
    "ted.yield"(%22) : (f32) -> ()
  }) {combiner = "add", domain = affine_set<(d0, d1, d2) : (0 == 0)>, extents = array<i64: 24, 4, 32>, guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>], iterators = ["parallel", "parallel", "reduction"], reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], write = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<24x32xf32>, tensor<32x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>
  return %16, %21 : tensor<32xf32>, tensor<24x4xf32>
}
