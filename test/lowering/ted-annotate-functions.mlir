// RUN: ted-opt %s --pass-pipeline='builtin.module(ted-annotate-functions)' | filecheck %s

// CHECK: llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> (!llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.noundef})
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr

// CHECK: llvm.func @other(i64) -> !llvm.ptr{{$}}
llvm.func @other(i64) -> !llvm.ptr

// CHECK: llvm.func @main() attributes {no_inline}
llvm.func @main() {
  llvm.return
}
