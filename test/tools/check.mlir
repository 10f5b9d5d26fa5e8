// Checking the derivatives of the functions of a file.
// RUN: ted-check %inputs/checked.py 2>&1 | filecheck %s
// RUN: ted-check %inputs/checked.py --order=1 --modes=rev --types=float32 | filecheck %s --check-prefix=FEW
// RUN: not ted-check %inputs/wrong.py --order=1 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not ted-check %inputs/missing.py 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not ted-check %inputs/unlisted.py 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not ted-check %inputs/small.irdl.mlir 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not ted-check %inputs/checked.py --modes=sideways 2>&1 | filecheck %s --check-prefix=MODE
// RUN: not ted-check %inputs/wrong_simplify.py 2>&1 | filecheck %s --check-prefix=RUNS
// RUN: not ted-check %inputs/checked.py --order=0 2>&1 | filecheck %s --check-prefix=ORDER

// CHECK: function                  type     orders  modes    result
// CHECK: layer                     float64  1-2     fwd      ok
// CHECK: layer                     float32  1-2     fwd+rev  ok
// CHECK: square (written by hand)  float64  1-2     rev      ok
// CHECK: square (written by hand)  float32  1-2     rev      ok
// CHECK: ted-check: note: forgotten is not in CHECK

// FEW: layer                     float32  1       rev    ok
// FEW-NEXT: square (written by hand)  float32  1       rev    ok

// WRONG: square (written by hand)    float64  1       rev      WRONG
// WRONG: square (written by hand)    float32  1       rev      WRONG
// WRONG: rounded                     float64  1       fwd      FAILED
// WRONG: forgetful (written by hand) float64  1       rev      FAILED
// WRONG: ted-check: error: square (written by hand), float64: check_grads: order 1: the VJP equals central differences, got dx0[{{[0-2]}}] = {{.*}} and {{.*}} (argument 0)
// WRONG: ted-check: error: rounded, float64: ValueError: never ready
// WRONG: ted-check: error: forgetful (written by hand), float32: defvjp: the function is called as bwd(inputs, outputs, heads), got one that does not fit: too many positional arguments

// MISSING: ted-check: error: input: must be a Python file, got '{{.*}}missing.py'
// EMPTY: ted-check: error: input: must have a list CHECK of (function, arguments), got none in '{{.*}}unlisted.py'
// KIND: ted-check: error: input: must be a Python file, got '{{.*}}small.irdl.mlir'
// MODE: ted-check: error: argument --modes: must be some of fwd,rev, got 'sideways'
// ORDER: ted-check: error: order: must be at least 1, got 0
// RUNS: ted-check: error: input: must be a Python file that runs, got SystemExit in '{{.*}}wrong_simplify.py'
