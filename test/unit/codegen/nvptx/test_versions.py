"""What may break when the binding or llvmlite is upgraded: their LLVMs must agree on what we emit.

The binding prints LLVM IR of its own version and llvmlite reads that of another. Numbers must
arrive with their bits, and the operations that kernels use must become the instructions they mean.
An intrinsic that only the newer LLVM knows would pass as a call of an undefined function.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from ted.codegen.nvptx import compile_to_ptx
from ted.codegen.nvptx.ptxas import assemble
from ted.errors import CompileError
from unit.codegen.nvptx.gpu_kernels import llvm_text
from unit.codegen.nvptx.nvvm_operations import MISSING, OPERATIONS, kernel

FLOATS = {
    "f16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
}
BLOCK = 4096  # numbers in one constant


def samples(name: str) -> np.ndarray:
    """Bits: every number of two bytes; else random ones, and those that have a word as literal."""
    unsigned = FLOATS[name][1]
    width = np.dtype(unsigned).itemsize
    if width == 2:
        return np.arange(1 << 16, dtype=unsigned)
    source = np.random.default_rng(0)
    bits = np.frombuffer(source.bytes(width * (BLOCK - 64)), dtype=unsigned)
    plain = [0.0, -0.0, 0.1, 1e-5, 1.0, np.inf, -np.inf, np.nan, 1e30, 5e-324, 1e-45]
    special = np.resize(np.array(plain).astype(FLOATS[name][0]).view(unsigned), 64)
    return np.concatenate([bits, special])


def constant_module(name: str, bits: np.ndarray) -> str:
    """A kernel that reads a constant array of these numbers."""
    literals = ", ".join(f"0x{int(b):0{2 * bits.itemsize}X}" for b in bits)
    array = f"!llvm.array<{len(bits)} x {name}>"
    value = f"dense<[{literals}]> : tensor<{len(bits)}x{name}>"
    return f"""llvm.mlir.global constant @table({value}) : {array}
      llvm.func @k(%i: i64, %o: !llvm.ptr) attributes {{nvvm.kernel}} {{
        %t = llvm.mlir.addressof @table : !llvm.ptr
        %p = llvm.getelementptr %t[0, %i] : (!llvm.ptr, i64) -> !llvm.ptr, {array}
        %v = llvm.load %p : !llvm.ptr -> {name}
        llvm.store %v, %o : {name}, !llvm.ptr
        llvm.return }}"""


def table_in(ptx: str, unsigned: type) -> np.ndarray:
    found = re.search(r"\.b(\d+) table\[\d+\] = \{([^}]*)\}", ptx)
    assert found is not None
    numbers = [int(n) for n in found[2].split(",")]
    return np.array(numbers, dtype=f"u{int(found[1]) // 8}").view(unsigned)


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", FLOATS)
def test_numbers_arrive_with_their_bits(name: str) -> None:
    bits = samples(name)
    for start in range(0, len(bits), BLOCK):
        part = bits[start : start + BLOCK]
        ptx = compile_to_ptx(llvm_text(constant_module(name, part), passes="builtin.module()"))
        assert np.array_equal(table_in(ptx, part.dtype.type), part)


def ptx_of(operations: str) -> str:
    return compile_to_ptx(llvm_text(kernel(operations), passes="builtin.module()"), "sm_90a")


@pytest.mark.fast(17)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_becomes_its_instruction(name: str) -> None:
    operations, pattern = OPERATIONS[name]
    ptx = ptx_of(operations)
    assert re.search(pattern, ptx), ptx
    assert assemble(ptx, "sm_90a").cubin


@pytest.mark.parametrize("name", MISSING)
def test_an_operation_that_the_older_llvm_lacks_is_named(name: str) -> None:
    operations, pattern = MISSING[name]
    with pytest.raises(CompileError, match=f"got calls of {pattern}; LLVM has no such intrinsic"):
        ptx_of(operations)


# Bodies in the dialects that kernels are written in, and what the PTX must hold.
BODIES = {
    "maximum": ("%y = arith.maximumf %x, %x2 : f32", r"max\.NaN\.f32"),
    "minimum of numbers": ("%y = arith.minnumf %x, %x2 : f32", r"min\.f32"),
    "sine": ("%y = math.sin %x : f32", r"cos|sin|fma"),
    "power": ("%y = math.powf %x, %x2 : f32", r"rcp\.approx\.ftz\.f32"),
    "error function": ("%y = math.erf %x : f32", r"ex2\.approx"),
    "round": ("%y = math.roundeven %x : f32", r"cvt\.rni\.f32\.f32"),
    "absolute": ("%y = math.absf %x : f32", r"abs\.f32"),
    "shuffle": (
        "%o = arith.constant 1 : i32 %w = arith.constant 32 : i32 "
        "%y, %ok = gpu.shuffle xor %x, %o, %w : f32", r"shfl\.sync\.bfly"),
    "reduction of a block": (
        "%y = gpu.all_reduce add %x uniform {} : (f32) -> f32", r"shfl\.sync\.(.|\n)*bar\.sync"),
    "narrow numbers": (
        "%n = arith.truncf %x : f32 to bf16 %s = arith.mulf %n, %n : bf16 "
        "%y = arith.extf %s : bf16 to f32", r"cvt\.rn\.bf16\.f32"),
    "integers": (
        "%a = arith.fptosi %x : f32 to i32 %b = arith.fptosi %x2 : f32 to i32 "
        "%q = arith.ceildivsi %a, %b : i32 "
        "%y = arith.sitofp %q : i32 to f32", r"cvt\.rzi\.s32\.f32(.|\n)*div\.s32"),
    "vectors": (
        "%v = vector.load %m[%t] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32> "
        "%f = vector.fma %v, %v, %v : vector<4xf32> "
        "%y = vector.reduction <add>, %f : vector<4xf32> into f32",
        r"ld\.global\S*\.v4(.|\n)*fma\.rn"),
    "atomic exchange": (
        "%c0 = arith.constant 0 : index %c1 = arith.constant 1 : i32 "
        "%b = memref.load %i[%c0] : memref<4xi32> "
        "%r = memref.generic_atomic_rmw %i[%c0] : memref<4xi32> { ^bb0(%a : i32): "
        "%n = arith.addi %a, %c1 : i32 memref.atomic_yield %n : i32 } "
        "%y = arith.sitofp %r : i32 to f32", r"atom\S*\.cas\.b32"),
}  # fmt: skip


@pytest.mark.fast(7)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_body_reaches_machine_code(name: str, chip: str) -> None:
    body, pattern = BODIES[name]
    text = f"""gpu.func @k(%m: memref<64xf32>, %i: memref<4xi32>, %x2: f32)
        kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
      %t = gpu.thread_id x
      %x = memref.load %m[%t] : memref<64xf32>
      {body}
      memref.store %y, %m[%t] : memref<64xf32>
      gpu.return }}"""
    ptx = compile_to_ptx(llvm_text(text), chip)
    assert re.search(pattern, ptx), ptx
    assert assemble(ptx, chip).kernels["k"].spill_stores == 0
