// Running a function, interpreted and compiled.
// RUN: ted-run %s | filecheck %s
// RUN: ted-run %s --engine=both --entry=main | filecheck %s
// RUN: ted-run %s --engine=cpu --pass-pipeline='builtin.module(ted-simplify)' -o %t.npz
// RUN: %python -c "import numpy, sys; d = numpy.load(sys.argv[1]); numpy.save(sys.argv[2], d['arr_0'])" %t.npz %t.npy
// RUN: ted-run %s %t.npy | filecheck %s --check-prefix=AGAIN
// RUN: not ted-run %s %t.npy %t.npy 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not ted-run %s %s 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not ted-run %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not ted-run %s --entry=other 2>&1 | filecheck %s --check-prefix=ENTRY

// CHECK: result 0: int64[3]
// CHECK-NEXT: {{\[}}{{[0-2]}} {{[0-2]}} {{[0-2]}}]
// AGAIN: result 0: int64[3]
// COUNT: ted-run: error: arguments: one array per input, got 2 for [arg0[3]]
// KIND: ted-run: error: arguments: must be .npy files
// MISSING: ted-run: error: input: must be a readable text file
// ENTRY: ted-run: error: module: must have a function 'other', got ['main']
func.func @main(%A: tensor<3xi64>) -> tensor<3xi64> {
  %init = tensor.empty() : tensor<3xi64>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: i64):
    %y = arith.addi %a, %a : i64
    "ted.yield"(%y) : (i64) -> ()
  }) {
    extents = array<i64: 3>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (2 - d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0 : tensor<3xi64>
}
