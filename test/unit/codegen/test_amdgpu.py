"""Kernels for AMD GPUs: the same text of the gpu dialect becomes an object with instructions."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import ted
from ted.codegen.amdgpu import (
    amdgpu_assembly,
    compile_to_amdgpu_object,
    gpu_module_to_rocdl_text,
)
from ted.dialects import make_context
from ted.errors import CompileError
from ted.gpu.pipeline import gpu_stages
from ted.ir.pipelines import stage_text
from ted.machine import DEFAULT_GPU, GPUS
from ted.mlir import ir
from ted.options import CompileOptions
from unit.codegen.nvptx.gpu_kernels import SCALE

WORKGROUP = "#gpu.address_space<workgroup>"
REDUCE = f"""gpu.func @reduce(%x: memref<64xf32>, %y: memref<1xf32>)
    workgroup(%parts: memref<2xf32, {WORKGROUP}>)
    kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %w = arith.constant 32 : i32
  %o = arith.constant 16 : i32
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<64xf32>
  %s, %ok = gpu.shuffle xor %v, %o, %w : f32
  %sum = arith.addf %v, %s : f32
  %warp = arith.divui %t, %c32 : index
  memref.store %sum, %parts[%warp] : memref<2xf32, {WORKGROUP}>
  gpu.barrier
  %a = memref.load %parts[%c0] : memref<2xf32, {WORKGROUP}>
  %e = math.exp %a : f32
  %first = arith.cmpi eq, %t, %c0 : index
  scf.if %first {{ memref.store %e, %y[%c0] : memref<1xf32> }}
  gpu.return
}}"""
MATH = """gpu.func @k(%x: memref<64x{kind}>) kernel {{
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<64x{kind}>
  %w = math.{function} %v : {kind}
  memref.store %w, %x[%t] : memref<64x{kind}>
  gpu.return
}}"""
AMD = 224  # e_machine


def rocdl(function: str, chip: str = "gfx90a") -> str:
    text = f"module attributes {{gpu.container_module}} {{ gpu.module @m {{ {function} }} }}"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        result = gpu_module_to_rocdl_text(module, chip)
        assert str(module) == before
        return result


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("kernel", [SCALE, REDUCE], ids=["scale", "reduce"])
def test_a_kernel_becomes_an_object_of_the_chip(kernel: str, chip: str) -> None:
    text = rocdl(kernel, chip)
    data = compile_to_amdgpu_object(text, chip)
    assert data.startswith(b"\x7fELF")
    assert struct.unpack_from("<H", data, 18) == (AMD,)
    assembly = amdgpu_assembly(text, chip)
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{chip}"' in assembly
    assert "s_endpgm" in assembly
    assert re.search(r"(flat|global)_store_(dword|b32)", assembly)


def test_shared_memory_shuffles_and_barriers_have_instructions() -> None:
    assembly = amdgpu_assembly(rocdl(REDUCE))
    assert re.search(r"ds_swizzle_b32|ds_bpermute_b32|v_mov_b32_dpp|v_permlane", assembly)
    assert "ds_write_b32" in assembly
    assert re.search(r"\.amdhsa_group_segment_fixed_size (8|16)\n", assembly)


def test_most_mathematical_functions_need_no_device_library() -> None:
    assembly = amdgpu_assembly(rocdl(MATH.format(kind="f32", function="erf")))
    assert "v_fma" in assembly
    assert "__ocml" not in assembly


def test_a_function_of_the_device_library_stays_a_call() -> None:
    assert "__ocml_sin_f64" in amdgpu_assembly(rocdl(MATH.format(kind="f64", function="sin")))


def softmax() -> list[ted.Tensor]:
    x = ted.placeholder((4, 300), "float32", name="x")
    e = ted.exp(x - ted.max(x, axis=1, keepdims=True))
    return [e / ted.sum(e, axis=1, keepdims=True)]


def layer_gradients() -> list[ted.Tensor]:
    x, w = ted.placeholder((5, 7), name="x"), ted.placeholder((7, 6), name="w")
    y = ted.tanh(ted.matmul(x, w))
    return list(ted.differentiate(ted.sum(y * y), [x, w]))


@pytest.mark.parametrize("program", [softmax, layer_gradients])
def test_a_program_s_kernels_become_one_object(program: Callable[[], list[ted.Tensor]]) -> None:
    module = ted.module(program())
    with module.context, ir.Location.unknown():
        kernels = ir.Module.parse(
            stage_text(module, gpu_stages(CompileOptions(GPUS[DEFAULT_GPU])), "gpu")
        )
        text = gpu_module_to_rocdl_text(kernels)
    names = re.findall(r"^define amdgpu_kernel void @(\w+)\(", text, re.MULTILINE)
    assert names
    assembly = amdgpu_assembly(text)
    assert re.findall(r"\.amdhsa_kernel (\w+)", assembly) == names
    assert "__ocml" not in assembly
    assert compile_to_amdgpu_object(text).startswith(b"\x7fELF")


@pytest.mark.skipif(shutil.which("llvm-objdump") is None, reason="needs llvm-objdump")
def test_the_object_disassembles(tmp_path: Path) -> None:
    path = tmp_path / "kernel.o"
    path.write_bytes(compile_to_amdgpu_object(rocdl(REDUCE)))
    done = subprocess.run(
        ["llvm-objdump", "-d", "--mcpu=gfx90a", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "<reduce>:" in done.stdout
    assert "s_endpgm" in done.stdout


def test_an_unknown_chip_is_refused_with_the_known_ones() -> None:
    with pytest.raises(CompileError, match=r"must be one of gfx906, .*, got 'gfx1'"):
        rocdl(SCALE, "gfx1")
    with pytest.raises(CompileError, match=r"must be one of gfx906, .*, got 'sm_80'"):
        compile_to_amdgpu_object("", "sm_80")


def test_text_without_a_kernel_is_refused() -> None:
    with pytest.raises(CompileError, match="got no function 'amdgpu_kernel'"):
        compile_to_amdgpu_object("define void @f() { ret void }")


def test_an_operation_of_another_vendor_is_refused() -> None:
    text = """gpu.func @k(%x: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %v = nvvm.read.ptx.sreg.tid.x : i32
      memref.store %v, %x[%c0] : memref<1xi32>
      gpu.return }"""
    with pytest.raises(CompileError, match="rocm: kernel"):
        compile_to_amdgpu_object(rocdl(text))


def test_what_llvm_refuses_names_the_kernel() -> None:
    with pytest.raises(CompileError, match=r"kernel 'k' for gfx90a: LLVM must compile"):
        compile_to_amdgpu_object("define amdgpu_kernel void @k() { rex void }")
