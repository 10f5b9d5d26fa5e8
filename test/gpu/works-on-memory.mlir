// Passes on memory are not run on tensors: they would misunderstand what they see.
// RUN: not ted-opt %s --ted-map-to-gpu 2>&1 | filecheck %s --check-prefix=MAP
// RUN: not ted-opt %s --ted-fuse-siblings 2>&1 | filecheck %s --check-prefix=MERGE
// RUN: not ted-opt %s --ted-order-loops 2>&1 | filecheck %s --check-prefix=ORDER

// MAP: error: ted-map-to-gpu: works on memory, after ted-emit-kernels, got tensor<8xf64>
// ORDER: error: ted-order-loops: works on memory, after ted-emit-kernels, got tensor<8xf64>
// MERGE: error: ted-fuse-siblings: works on memory, after ted-emit-kernels, got tensor<8xf64>
func.func @square(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = "ted.compute"(%x, %e) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"],
    domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  func.return %0 : tensor<8xf64>
}

// RUN: not ted-opt %S/../linalg/functions-of-other-forms.mlir --ted-map-to-gpu 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: error: ted-map-to-gpu: what is computed must go to memory, got math.exp, whose result func.return uses
