// What ted-translate makes of functions of ted ops.
// RUN: ted-translate %s --target=cpu:sse2 | filecheck %s --check-prefix=ASM
// RUN: ted-translate %s --target=cpu:neon --entry=squared | filecheck %s --check-prefix=NEON
// RUN: ted-translate %s --to=llvm -o %t.ll
// RUN: filecheck %s --check-prefix=LLVM --input-file=%t.ll
// RUN: ted-translate %s --to=ptx --target=cuda:sm_80 | filecheck %s --check-prefix=PTX
// RUN: ted-translate %s --to=objects --name=both -o %t.made
// RUN: filecheck %s --check-prefix=HEADER --input-file=%t.made/both.h
// RUN: ted-translate %s --to=saved --target=cuda:sm_80 --entry=doubled -o %t.made
// RUN: %python %t.made/doubled.ted --list | filecheck %s --check-prefix=SAVED
// RUN: not ted-translate %s --to=saved -o %s 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not ted-translate %s --to=static 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not ted-translate %s --to=ptx 2>&1 | filecheck %s --check-prefix=GPU
// RUN: not ted-translate %s --target=cuda:sm_80 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not ted-translate %s --entry=other 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not ted-translate 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not ted-translate %inputs/translated.py --target=cpu 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not ted-translate %inputs/translated.py --entry=g 2>&1 | filecheck %s --check-prefix=DEFINED
// RUN: not ted-translate %S/no.py 2>&1 | filecheck %s --check-prefix=MISSING

// ASM: addps
// ASM: ted.doubled:
// ASM: kernel_{{[0-9a-f]+}}@PLT
// ASM: mulps
// ASM: ted.squared:
// NEON: fmul {{.*}}.4s
// NEON: ted.squared:
// NEON: b kernel_
// LLVM: define void @ted.doubled(ptr
// LLVM: define void @ted.squared(ptr
// PTX: .visible .entry
// HEADER: doubled_arg0_count = 8
// HEADER: int doubled(const struct doubled_arguments *arguments, struct ted_report *report);
// HEADER: int squared(
// SAVED: doubled for sm_80: 1 kernels
// FILE: ted-translate: error: -o: a folder that can be written, got {{.*}}translate.mlir: File exists
// FOLDER: ted-translate: error: -o: --to=static, a static library, needs a folder, got none
// GPU: ted-translate: error: --to=ptx: functions for GPUs, got one for cpu
// CPU: ted-translate: error: --to=asm: functions for CPUs, got one for cuda:sm_80; use --to=ptx
// ENTRY: ted-translate: error: module: must have a function 'other', got ['doubled', 'squared']
// NONE: ted-translate: error: input: a module of ted ops or a program in Python, got none
// TARGET: ted-translate: error: --target: a program in Python says its own, got 'cpu' for
// DEFINED: ted-translate: error: --entry: {{.*}}translated.py defines compiled functions f, got g
// MISSING: ted-translate: error: input: must be a readable text file, got

func.func @doubled(%A: tensor<8xf32>) -> tensor<8xf32> {
  %init = tensor.empty() : tensor<8xf32>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %y = arith.addf %a, %a : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func @squared(%A: tensor<8xf32>) -> tensor<8xf32> {
  %init = tensor.empty() : tensor<8xf32>
  %0 = "ted.compute"(%A, %init) ({
  ^bb0(%a: f32):
    %y = arith.mulf %a, %a : f32
    "ted.yield"(%y) : (f32) -> ()
  }) {
    extents = array<i64: 8>, iterators = ["parallel"], domain = affine_set<(d0) : (0 == 0)>,
    reads = [affine_map<(d0) -> (d0)>], guards = [affine_set<(d0) : (0 == 0)>],
    write = affine_map<(d0) -> (d0)>, combiner = "set"
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
