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

// expected-error@unknown {{lowering: 16-bit floats are moved and converted only, got ['llvm.fadd', 'llvm.load']}}
llvm.func @arithmetic(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> bf16
  %y = llvm.fadd %x, %x : bf16
  llvm.store %y, %p : bf16, !llvm.ptr
  llvm.return
}

// -----

llvm.func @instructions_for_f16(%p: !llvm.ptr) {
  %b = llvm.load %p : !llvm.ptr -> i16
  %x = llvm.bitcast %b : i16 to f16
  %y = llvm.fpext %x : f16 to f32
  llvm.store %y, %p : f32, !llvm.ptr
  llvm.return
}

// -----

llvm.func @expf(f32) -> f32
llvm.func @fine(%x: f32) -> f32 {
  %y = llvm.call @expf(%x) : (f32) -> f32
  llvm.return %y : f32
}
