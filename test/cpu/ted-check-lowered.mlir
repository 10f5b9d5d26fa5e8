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

// -----

// What the runtime, the C library and the mathematical library define may be called.
llvm.func @exp(f64) -> f64
llvm.func @expf(f32) -> f32
llvm.func @exp2(f64) -> f64
llvm.func @exp2f(f32) -> f32
llvm.func @expm1(f64) -> f64
llvm.func @expm1f(f32) -> f32
llvm.func @log(f64) -> f64
llvm.func @logf(f32) -> f32
llvm.func @log2(f64) -> f64
llvm.func @log2f(f32) -> f32
llvm.func @log10(f64) -> f64
llvm.func @log10f(f32) -> f32
llvm.func @log1p(f64) -> f64
llvm.func @log1pf(f32) -> f32
llvm.func @sin(f64) -> f64
llvm.func @sinf(f32) -> f32
llvm.func @cos(f64) -> f64
llvm.func @cosf(f32) -> f32
llvm.func @tan(f64) -> f64
llvm.func @tanf(f32) -> f32
llvm.func @asin(f64) -> f64
llvm.func @asinf(f32) -> f32
llvm.func @acos(f64) -> f64
llvm.func @acosf(f32) -> f32
llvm.func @atan(f64) -> f64
llvm.func @atanf(f32) -> f32
llvm.func @sinh(f64) -> f64
llvm.func @sinhf(f32) -> f32
llvm.func @cosh(f64) -> f64
llvm.func @coshf(f32) -> f32
llvm.func @tanh(f64) -> f64
llvm.func @tanhf(f32) -> f32
llvm.func @asinh(f64) -> f64
llvm.func @asinhf(f32) -> f32
llvm.func @acosh(f64) -> f64
llvm.func @acoshf(f32) -> f32
llvm.func @atanh(f64) -> f64
llvm.func @atanhf(f32) -> f32
llvm.func @erf(f64) -> f64
llvm.func @erff(f32) -> f32
llvm.func @erfc(f64) -> f64
llvm.func @erfcf(f32) -> f32
llvm.func @cbrt(f64) -> f64
llvm.func @cbrtf(f32) -> f32
llvm.func @sqrt(f64) -> f64
llvm.func @sqrtf(f32) -> f32
llvm.func @floor(f64) -> f64
llvm.func @floorf(f32) -> f32
llvm.func @ceil(f64) -> f64
llvm.func @ceilf(f32) -> f32
llvm.func @round(f64) -> f64
llvm.func @roundf(f32) -> f32
llvm.func @roundeven(f64) -> f64
llvm.func @roundevenf(f32) -> f32
llvm.func @trunc(f64) -> f64
llvm.func @truncf(f32) -> f32
llvm.func @rint(f64) -> f64
llvm.func @rintf(f32) -> f32
llvm.func @atan2(f64, f64) -> f64
llvm.func @atan2f(f32, f32) -> f32
llvm.func @pow(f64, f64) -> f64
llvm.func @powf(f32, f32) -> f32
llvm.func @fmod(f64, f64) -> f64
llvm.func @fmodf(f32, f32) -> f32
llvm.func @fma(f64, f64, f64) -> f64
llvm.func @fmaf(f32, f32, f32) -> f32
llvm.func @ted_index_error(!llvm.ptr, i64, i64, i64)
llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @memcpy(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
llvm.func @memset(!llvm.ptr, i32, i64) -> !llvm.ptr
llvm.func @memmove(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr

// -----

// expected-error@unknown {{lowering: calls of symbols that nothing defines, got ['frees', 'tgamma']}}
llvm.func @frees(!llvm.ptr)
llvm.func @tgamma(f64) -> f64
llvm.func @expf(f32) -> f32
llvm.func @lgamma() {
  llvm.return
}

// -----

// Another object has what says so.

llvm.func @kernel() attributes {ted.elsewhere}

llvm.func @calls_another_object() {
  llvm.call @kernel() : () -> ()
  llvm.return
}
