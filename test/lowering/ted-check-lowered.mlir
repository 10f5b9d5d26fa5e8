// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-check-lowered)' --split-input-file --verify-diagnostics

// expected-error@unknown {{lowering: operations outside the LLVM dialect, got ['arith.constant', 'func.func', 'func.return']}}
func.func @not_lowered() {
  %x = arith.constant 1 : i64
  return
}

// -----

// expected-error@unknown {{lowering: calls of symbols that nothing defines, got ['memrefCopy']}}
llvm.func @memrefCopy(i64, !llvm.ptr, !llvm.ptr)

// -----

llvm.func @expf(f32) -> f32
llvm.func @fine(%x: f32) -> f32 {
  %y = llvm.call @expf(%x) : (f32) -> f32
  llvm.return %y : f32
}
