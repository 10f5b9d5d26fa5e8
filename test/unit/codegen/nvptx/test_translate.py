"""Kernel modules -> LLVM text -> PTX: the fix-ups, and what is refused before it can crash."""

from __future__ import annotations

import re

import pytest

from ted.codegen.nvptx import compile_to_ptx
from ted.errors import CompileError
from unit.codegen.nvptx.gpu_kernels import SCALE, llvm_text

WORKGROUP = "#gpu.address_space<workgroup>"
MAPPED = """gpu.func @mapped(%o: memref<4xf32>, %map: !llvm.ptr {llvm.align = 64 : i64}) kernel
    attributes {ted.tensor_maps = array<i64: 1>} {
  %c0 = arith.constant 0 : index
  %v = llvm.load %map : !llvm.ptr -> f32
  memref.store %v, %o[%c0] : memref<4xf32>
  gpu.return
}"""
DYNAMIC = f"""gpu.func @dynamic(%o: memref<64xf32>) kernel {{
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %all = gpu.dynamic_shared_memory : memref<?xi8, {WORKGROUP}>
  %tile = memref.view %all[%c0][] : memref<?xi8, {WORKGROUP}> to memref<64xf32, {WORKGROUP}>
  %v = memref.load %o[%t] : memref<64xf32>
  memref.store %v, %tile[%t] : memref<64xf32, {WORKGROUP}>
  gpu.barrier
  %w = memref.load %tile[%c0] : memref<64xf32, {WORKGROUP}>
  memref.store %w, %o[%t] : memref<64xf32>
  gpu.return
}}"""
STATIC = f"""gpu.func @static(%o: memref<32xbf16>)
    workgroup(%tile: memref<32xbf16, {WORKGROUP}>) kernel {{
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x
  %v = memref.load %o[%t] : memref<32xbf16>
  memref.store %v, %tile[%t] : memref<32xbf16, {WORKGROUP}>
  gpu.barrier
  %w = memref.load %tile[%c0] : memref<32xbf16, {WORKGROUP}>
  memref.store %w, %o[%t] : memref<32xbf16>
  gpu.return
}}"""


@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_90a", "sm_100a"])
def test_a_kernel_becomes_an_entry_with_bare_pointers(chip: str) -> None:
    ptx = compile_to_ptx(llvm_text(SCALE), chip)
    parameters = re.search(r"\.entry scale\((.*?)\)\n\.maxntid 64, 1, 1", ptx, re.DOTALL)
    assert parameters is not None
    assert re.findall(r"\.(u64|f32)\b", parameters[1]) == ["u64", "u64", "f32"]
    assert f".target {chip}\n" in ptx
    assert float(re.findall(r"\.version (\S+)", ptx)[0]) <= 9.0


def test_several_kernel_modules_become_one_module() -> None:
    ptx = compile_to_ptx(llvm_text(SCALE, DYNAMIC, STATIC))
    assert re.findall(r"\.entry (\w+)", ptx) == ["scale", "dynamic", "static"]


def test_what_kernel_modules_share_comes_once_and_the_rest_of_each_follows() -> None:
    other = DYNAMIC.replace("@dynamic", "@other")
    ptx = compile_to_ptx(llvm_text(DYNAMIC, f"{DYNAMIC} {other}", SCALE))
    assert re.findall(r"\.entry (\w+)", ptx) == ["dynamic", "other", "scale"]
    assert ptx.count(".extern .shared") == 1


def test_dynamic_shared_memory_is_external_and_aligned_for_a_swizzled_tile() -> None:
    ptx = compile_to_ptx(llvm_text(DYNAMIC))
    assert ".extern .shared .align 1024 .b8 __dynamic_shmem__0[];" in ptx


def test_static_shared_memory_is_aligned_for_16_byte_copies() -> None:
    assert re.search(r"\.shared \.align 16 \.b8 \w+\[64\];", compile_to_ptx(llvm_text(STATIC)))


def test_a_tensor_map_is_passed_by_value() -> None:
    ptx = compile_to_ptx(llvm_text(MAPPED), "sm_90a")
    assert ".param .align 64 .b8 mapped_param_1[128]" in ptx
    assert ".local" not in ptx  # no copy into each thread's memory


def test_two_kernels_of_one_name_are_refused() -> None:
    with pytest.raises(CompileError, match="two definitions of 'scale'"):
        llvm_text(SCALE, SCALE.replace("arith.mulf", "arith.addf"))


def test_an_operation_outside_the_llvm_dialect_is_refused_before_it_crashes() -> None:
    body = """gpu.func @k(%x: f32, %o: memref<f32>) kernel {
        %y = math.trunc %x : f32
        memref.store %y, %o[] : memref<f32>
        gpu.return }"""
    with pytest.raises(CompileError, match=r"must be in the LLVM dialect .*, got math\.trunc at"):
        llvm_text(body)


@pytest.mark.parametrize("named", [1, 2, -1])
def test_a_tensor_map_that_is_no_pointer_is_refused(named: int) -> None:
    text = f"""llvm.func @k(%p: !llvm.ptr, %x: f32)
      attributes {{nvvm.kernel, ted.tensor_maps = array<i64: {named}>}} {{ llvm.return }}"""
    with pytest.raises(CompileError, match=rf"must name arguments .*, got {named} of 'k' \("):
        llvm_text(text, passes="builtin.module()")


def test_a_tensor_map_needs_no_other_attribute() -> None:
    text = """llvm.func @k(%p: !llvm.ptr)
      attributes {nvvm.kernel, ted.tensor_maps = array<i64: 0>} { llvm.return }"""
    ptx = compile_to_ptx(llvm_text(text, passes="builtin.module()"), "sm_90a")
    assert ".param .align 64 .b8 k_param_0[128]" in ptx


def test_a_kernel_that_was_not_lowered_is_refused() -> None:
    with pytest.raises(CompileError, match=r"must be in the LLVM dialect .*, got gpu\.func at"):
        llvm_text("gpu.func @k() kernel { gpu.return }", passes="builtin.module()")


def test_a_module_without_kernel_modules_is_refused() -> None:
    with pytest.raises(CompileError, match=r"must hold a gpu\.module, got none"):
        llvm_text(passes="builtin.module()")
