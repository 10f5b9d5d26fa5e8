// The other flags, one line each.
// RUN: ted-opt --help | filecheck %s --check-prefix=HELP
// RUN: ted-opt --version | filecheck %s --check-prefix=VERSION
// RUN: ted-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: ted-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: ted-opt %s --no-implicit-module | filecheck %s --check-prefix=NO-MODULE
// RUN: ted-opt %s --verify-roundtrip --verify-each=false --cse --mlir-disable-threading | filecheck %s
// RUN: ted-opt %s --split-input-file | filecheck %s --check-prefix=SPLIT
// RUN: ted-opt %s --emit-bytecode -o %t.mlirbc && ted-opt %t.mlirbc --cse | filecheck %s
// RUN: ted-opt %s --emit-bytecode | ted-opt - | filecheck %s
// RUN: ted-opt %s --irdl-file=%inputs/small.irdl.mlir | filecheck %s

// HELP: usage: ted-opt
// HELP: --pass-pipeline
// HELP: passes of ted:
// HELP: --ted-check-bounds
// HELP: --convert-ted-to-linalg
// VERSION: ted {{[0-9]+\.[0-9]+}}
// VERSION-NEXT: torch-mlir {{[0-9]+}}
// PASSES: ted-check-bounds {{ +}}prove
// DIALECTS: arith{{.*}}linalg{{.*}}ted,tensor
// NO-MODULE-NOT: module
// NO-MODULE: func.func @whole
// CHECK: module {
// CHECK: func.func @whole
// SPLIT: func.func @whole
// SPLIT-NOT: // -----
func.func @whole() {
  func.return
}
