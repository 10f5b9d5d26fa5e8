// A failing pipeline leaves a file and says the line that fails again.
// RUN: not ted-opt %s --pass-pipeline='builtin.module(cse,ted-check-lowered)' --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | filecheck %s --check-prefix=LINE
// RUN: filecheck %s --check-prefix=FILE --input-file=%t.mlir
// RUN: not ted-opt %t.mlir --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: ted-opt %s --pass-pipeline='builtin.module(canonicalize{max-iterations=1})' --mlir-generate-reproducer=%t.fine.mlir -o %t.ignored
// RUN: ted-opt %t.fine.mlir --run-reproducer --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=FINE

// LINE: error: lowering
// LINE: ted-opt: note: to reproduce, run: ted-opt {{.*}}.mlir --run-reproducer
// FILE: ted-opt --run-reproducer
// FILE: func.func @left
// FILE: mlir_reproducer: {
// FILE: pipeline: "builtin.module(cse,ted-check-lowered)"
// AGAIN: error: lowering
// FINE: builtin.module(canonicalize{max-iterations=1})
// FINE: func.func @left
func.func @left() {
  func.return
}
