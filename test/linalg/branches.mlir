// A function with branches is refused by every pass that looks at what functions do.
// RUN: not ted-opt %s --ted-lower-tensors 2>&1 | filecheck %s
// RUN: not ted-opt %s --ted-cpu-pipeline 2>&1 | filecheck %s
// RUN: not ted-opt %s --ted-cuda-pipeline 2>&1 | filecheck %s
// RUN: not ted-opt %s --ted-simplify 2>&1 | filecheck %s --check-prefix=EQUATIONS

// CHECK: error: function: must have one block, with loops and no branches, got 3 blocks in @branches
// EQUATIONS: error: function: must have one block, got 3
func.func @branches(%A: tensor<4xf32>, %which: i1) -> tensor<4xf32> {
  cf.cond_br %which, ^first, ^second
^first:
  func.return %A : tensor<4xf32>
^second:
  %0 = "ted.compute"(%A, %A) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
