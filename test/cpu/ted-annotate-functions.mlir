// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions{cpu=avx512})' | filecheck %s
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions{cpu=sse2})' | filecheck %s --check-prefix=SSE2
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions)' | filecheck %s --check-prefix=DEFAULT
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions{cpu=avx512 native=true})' | filecheck %s --check-prefix=NATIVE
// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions{cpu=avx512_bf16 native=true})' | filecheck %s --check-prefix=ZEN

// CHECK: llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> (!llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr

// CHECK: llvm.func @other(i64) -> !llvm.ptr{{$}}
llvm.func @other(i64) -> !llvm.ptr

// Subnormal numbers may be flushed or not. Whole registers, although LLVM tunes for half of them on the CPU of the row.
// CHECK: llvm.func @main() attributes {no_inline, passthrough = {{.}}["denormal_fpenv", "255"]], prefer_vector_width = "512", target_cpu = "x86-64", target_features = #llvm.target_features<["+avx2", "+fma", "+f16c", "+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"]>, tune_cpu = "skylake-avx512"}
// SSE2: llvm.func @main() attributes {no_inline, passthrough = {{.}}["denormal_fpenv", "255"]], prefer_vector_width = "128", target_cpu = "x86-64", target_features = #llvm.target_features<["+sse2"]>, tune_cpu = "x86-64"}
// DEFAULT: llvm.func @main() attributes {no_inline, passthrough = {{.}}["denormal_fpenv", "255"]], prefer_vector_width = "256", target_cpu = "x86-64", target_features = #llvm.target_features<["+avx2", "+fma", "+f16c"]>, tune_cpu = "haswell"}
// NATIVE: llvm.func @main() attributes {no_inline, passthrough = {{.}}["denormal_fpenv", "255"]], prefer_vector_width = "512"} {
// Copies stay loops where the C library's take longer.
// ZEN: llvm.func @main() attributes {no_inline, passthrough = {{.}}["denormal_fpenv", "255"], "no-builtin-memcpy"], prefer_vector_width = "512"} {
llvm.func @main() {
  llvm.return
}

// CHECK: llvm.func @ted_index_error(i64, i64, i64, i64) attributes {passthrough = ["cold"]}
llvm.func @ted_index_error(i64, i64, i64, i64)
