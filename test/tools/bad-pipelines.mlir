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
// BOTH: ted-opt: error: --pass-pipeline and flags of passes exclude each other
// MODULE: error: pipeline: runs on a module, got func.func
// TRUTH: ted-opt: error: argument --verify-each: must be true or false, got 'maybe'
func.func @any() {
  func.return
}
