// What is printed about passes and how IR is printed.
// RUN: ted-opt %s --canonicalize --ted-check-bounds --mlir-print-ir-after-all 2>&1 >%t.ignored | filecheck %s --check-prefix=AFTER
// RUN: ted-opt %s --canonicalize --ted-check-bounds --mlir-print-ir-before-all 2>&1 >%t.ignored | filecheck %s --check-prefix=BEFORE
// RUN: ted-opt %s --canonicalize --cse --mlir-print-ir-after=cse --mlir-print-ir-before=canonicalize 2>&1 >%t.ignored | filecheck %s --check-prefix=NAMED
// RUN: ted-opt %s --cse --canonicalize --cse --mlir-print-ir-after-change 2>&1 >%t.ignored | filecheck %s --check-prefix=CHANGE
// RUN: not ted-opt %s --canonicalize --ted-check-lowered --mlir-print-ir-after-failure 2>&1 >%t.ignored | filecheck %s --check-prefix=FAILURE
// RUN: ted-opt %s --cse --ted-check-bounds --mlir-timing 2>&1 >%t.ignored | filecheck %s --check-prefix=TIMING
// RUN: ted-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=LOCATIONS
// RUN: ted-opt %s --mlir-use-nameloc-as-prefix | filecheck %s --check-prefix=NAMES
// RUN: ted-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: ted-opt %s --mlir-elide-elementsattrs-if-larger=2 | filecheck %s --check-prefix=ELIDED

// AFTER: // -----// IR Dump After canonicalize //----- //
// AFTER: module {
// AFTER: // -----// IR Dump After ted-check-bounds //----- //
// BEFORE: // -----// IR Dump Before canonicalize //----- //
// BEFORE: // -----// IR Dump Before ted-check-bounds //----- //
// NAMED: // -----// IR Dump Before canonicalize //----- //
// NAMED-NOT: IR Dump After canonicalize
// NAMED: // -----// IR Dump After cse //----- //
// CHANGE-NOT: IR Dump After cse
// CHANGE: // -----// IR Dump After canonicalize //----- //
// CHANGE-NOT: IR Dump After cse
// FAILURE: // -----// IR Dump After ted-check-lowered Failed //----- //
// TIMING: Execution time report
// TIMING: Parser
// TIMING: cse
// TIMING: ted-check-bounds
// TIMING: Total
// LOCATIONS: loc("sum"(#loc
// NAMES: %sum = arith.addi
// GENERIC: "func.func"()
// ELIDED: dense_resource<__elided__>
func.func @printed(%x: i32) -> (i32, tensor<4xi32>) {
  %zero = arith.constant 0 : i32
  %0 = arith.addi %x, %zero : i32 loc("sum"("model.py":7:3))
  %1 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  func.return %0, %1 : i32, tensor<4xi32>
}
