// Everything that can be wrong with a pipeline is said before anything runs.
// RUN: not ted-opt %s --pass-pipeline='builtin.module(ted-nothing)' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ted-opt %s --nothing 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not ted-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not ted-opt %s --pass-pipeline='cse,,cse' 2>&1 | filecheck %s --check-prefix=COMMA
// RUN: not ted-opt %s --pass-pipeline='cse)' 2>&1 | filecheck %s --check-prefix=EXTRA
// RUN: not ted-opt %s --pass-pipeline='canonicalize{max-iterations=2' 2>&1 | filecheck %s --check-prefix=BRACE
// RUN: not ted-opt %s --pass-pipeline='canonicalize{max-iterations=x}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not ted-opt %s --pass-pipeline='ted-check-bounds{depth=2}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not ted-opt %s --pass-pipeline='gpu.module(ted-check-bounds)' 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not ted-opt %s --pass-pipeline='func.func(func.func(ted-simplify))' 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: not ted-opt %s --pass-pipeline='func.func(builtin.module(ted-simplify))' 2>&1 | filecheck %s --check-prefix=INNER
// RUN: not ted-opt %s --ted-limit-memory 2>&1 | filecheck %s --check-prefix=NEEDED
// RUN: not ted-opt %s --ted-limit-memory=bytes=-5 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not ted-opt %s --pass-pipeline='ted-limit-memory{bytes=10 bytes=20}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not ted-opt %s --ted-block-rows=cpu=foo 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not ted-opt %s --ted-map-to-gpu=chip=foo 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not ted-opt %s --ted-specialise-sizes 2>&1 | filecheck %s --check-prefix=VALUES
// RUN: not ted-opt %s --ted-specialise-sizes=values=5,8 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not ted-opt %s --pass-pipeline='func.func(ted-differentiate)' 2>&1 | filecheck %s --check-prefix=REQUEST
// RUN: not ted-opt %s --ted-split-residuals 2>&1 | filecheck %s --check-prefix=SPLIT
// RUN: not ted-opt %s --ted-report-gradient=results=2 2>&1 | filecheck %s --check-prefix=RESULTS
// RUN: not ted-opt %s --pass-pipeline='ted-cpu-pipeline{until=linalg after=llvm}' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not ted-opt %s --cse --mlir-print-ir-after=ted-simplify 2>&1 | filecheck %s --check-prefix=PRINT
// RUN: not ted-opt %s --cse --pass-pipeline='cse' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not ted-opt %s --no-implicit-module --cse 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: not ted-opt %s --verify-each=maybe 2>&1 | filecheck %s --check-prefix=TRUTH

// UNKNOWN: bad-pipelines.mlir: error: pipeline: 'ted-nothing' does not refer to a registered pass
// FLAG: error: pipeline: 'nothing' does not refer to a registered pass or pass pipeline, got 'builtin.module(nothing)'
// OPEN: error: pipeline: expected ')' at column 19 of 'builtin.module(cse', got 'the end'
// COMMA: error: pipeline: expected the name of a pass at column 5 of 'cse,,cse', got ',cse'
// EXTRA: error: pipeline: expected ',' or the end at column 4 of 'cse)', got ')'
// BRACE: error: pipeline: expected '}' at column 13 of
// VALUE: error: pipeline: failed to add `canonicalize` with options `max-iterations=x`
// OPTION: error: ted-check-bounds: options are none, got 'depth'
// ANCHOR: error: pipeline: passes of ted run on builtin.module, func.func, any, got gpu.module in gpu.module(ted-check-bounds)
// NESTED: error: pipeline: functions hold no functions and modules, got func.func in func.func(func.func(ted-simplify))
// INNER: error: pipeline: functions hold no functions and modules, got builtin.module in
// NEEDED: error: ted-limit-memory: needs bytes=, an integer from 0 on, got no such option
// NEGATIVE: error: ted-limit-memory: option bytes must be an integer from 0 on, got '-5'
// TWICE: error: pipeline: an option is given once, got 'bytes' again in 'bytes=10 bytes=20'
// CPU: error: cpu: must be one of {{.*}} got 'foo'
// CHIP: error: cuda: the target must be one of {{.*}} got 'foo'
// VALUES: error: ted-specialise-sizes: needs values=, integers with commas between them, got no such option
// SIZES: error: ted-specialise-sizes: values are those of sizes (ted.sizes), got values=[5, 8] and functions without any, ['any']
// REQUEST: error: ted-differentiate: fills in what is asked for by ted.vjp_of or ted.jvp_of of a function without a body, got none of these among ['any']
// SPLIT: error: ted-split-residuals: splits functions with a body and ted.vjp_of, which ted-differentiate fills in, got none among ['any']
// RESULTS: error: ted-report-gradient: results=2 of a function with a body are no gradients, got ['any'] with 0 at most
// ORDER: error: pipeline: until must not come before after, got 'linalg', 'llvm'
// PRINT: error: --mlir-print-ir-after: names passes of the pipeline, got 'ted-simplify'
// BOTH: ted-opt: error: --pass-pipeline and flags of passes exclude each other
// MODULE: error: pipeline: runs on a module, got func.func
// TRUTH: ted-opt: error: argument --verify-each: must be true or false, got 'maybe'
func.func @any() {
  func.return
}
