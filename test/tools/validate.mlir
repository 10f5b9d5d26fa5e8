// RUN: ted-opt %s --ted-validate --ted-split-dims --canonicalize --ted-simplify | filecheck %s
// RUN: ted-opt %s --ted-validate --ted-simplify 2>&1 >/dev/null | filecheck %s --check-prefix=LARGE
// RUN: ted-opt %s --ted-validate --ted-differentiate --convert-ted-to-linalg --one-shot-bufferize='bufferize-function-boundaries=1' 2>&1 >/dev/null | filecheck %s --check-prefix=VERDICTS
// RUN: ted-opt %s --ted-simplify 2>&1 >/dev/null | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: not %python %inputs/wrong_simplify.py %s --ted-validate --ted-simplify 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: error: ted-simplify: result 0 of @squares keeps its value at every point, got {{.*}} before and {{.*}} after at index [0]
// LARGE: remark: ted-validate: @squares is validated around ted-simplify: the same before and after at 2 points of the field of 2305843009213693951 elements, and at one with ties
// LARGE: remark: ted-validate: @large is not validated around ted-simplify: it has more than 262144 points, got 1000000
// SILENT-NOT: remark
// VERDICTS: remark: ted-validate: @squares is validated around ted-differentiate, convert-ted-to-linalg, one-shot-bufferize: the same before and after at 2 points
// VERDICTS: remark: ted-validate: @large is not validated around ted-differentiate
// VERDICTS: remark: ted-validate: @squares_vjp, VJP of @squares, is validated around ted-differentiate: that of dual numbers at a point
// VERDICTS: remark: ted-validate: @squares_vjp is validated around convert-ted-to-linalg, one-shot-bufferize: the same before and after

// CHECK-LABEL: func.func @squares
// CHECK: combiner = "add"
func.func @squares(%A: tensor<4x4xf64>) -> tensor<4xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4xf64>
  %s = linalg.fill ins(%z : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %C = "ted.compute"(%A, %s) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 4, 4>, iterators = ["parallel", "reduction"],
    domain = affine_set<(d0, d1) : (0 == 0)>,
    reads = [affine_map<(d0, d1) -> (d0, d1)>], guards = [affine_set<(d0, d1) : (0 == 0)>],
    write = affine_map<(d0, d1) -> (d0)>, combiner = "add"
  } : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %C : tensor<4xf64>
}

func.func private @squares_vjp(tensor<4x4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4x4xf64>) attributes {ted.vjp_of = @squares}

func.func @large(%A: tensor<1000000xf64>) -> tensor<1000000xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<1000000xf64>
  %s = linalg.fill ins(%z : f64) outs(%e : tensor<1000000xf64>) -> tensor<1000000xf64>
  %C = "ted.compute"(%A, %s) ({
  ^bb0(%a: f64):
    %p = arith.mulf %a, %a : f64
    "ted.yield"(%p) : (f64) -> ()
  }) {
    extents = array<i64: 1000000>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<1000000xf64>, tensor<1000000xf64>) -> tensor<1000000xf64>
  func.return %C : tensor<1000000xf64>
}
