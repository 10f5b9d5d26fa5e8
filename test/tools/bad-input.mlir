// Input that is no MLIR, or not there, is a diagnostic and exit code 1.
// RUN: not ted-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not ted-opt %s 2>&1 | filecheck %s --check-prefix=PARSE
// RUN: not ted-opt - < %s 2>&1 | filecheck %s --check-prefix=STDIN
// RUN: not ted-opt %python 2>&1 | filecheck %s --check-prefix=BINARY
// RUN: not ted-opt %s -o %t.no/such/folder --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not ted-opt %s --allow-unregistered-dialect --irdl-file=%s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not ted-opt %s --allow-unregistered-dialect --irdl-file=%S/../lit.cfg.py 2>&1 | filecheck %s --check-prefix=IRDL
// RUN: not ted-opt %s --allow-unregistered-dialect --run-reproducer 2>&1 | filecheck %s --check-prefix=REPRODUCER
// RUN: ted-opt %s --allow-unregistered-dialect | filecheck %s

// MISSING: error: input: must be a readable text file, got '{{.*}}.missing': No such file or directory
// PARSE: bad-input.mlir:[[# @LINE + 10]]:17: error: operation being parsed with an unregistered dialect
// PARSE-NEXT: "nobody.knows"
// PARSE-NEXT: {{ +}}^
// STDIN: -:[[# @LINE + 7]]:17: error: operation being parsed with an unregistered dialect
// BINARY: error: input: must be a readable text file
// OUTPUT: error: output: must be a writable file
// IRDL: error: irdl-file: must hold dialect definitions
// REPRODUCER: error: reproducer: must hold a mlir_reproducer section, got none
// CHECK: "nobody.knows"
func.func @any() {
  "nobody.knows"() : () -> ()
  func.return
}
