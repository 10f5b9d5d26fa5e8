"""Shared memory: what kernels of every kind ask for fits into a block of every chip."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted.codegen.nvptx.shared_memory import check_shared_memory, static_shared_bytes
from ted.errors import CompileError
from ted.gpu.templates.contraction import TEMPLATES, _options
from ted.gpu.templates.problem import as_gemm
from ted.gpu.templates.schedule import Plan
from ted.machine import GPUS, STATIC_SHARED_BYTES, named_gpu
from unit.gpu_templates.programs import matmul

RNG = np.random.default_rng(3)
KIB = 1024
# Of NVIDIA's programming guide: what a block may ask for.
MOST = {
    "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_87": 163, "sm_89": 99, "sm_90": 227,
    "sm_90a": 227, "sm_100": 227, "sm_100a": 227, "sm_120": 99, "sm_120a": 99,
}  # fmt: skip


def most_shared(function: Any) -> int:
    """The shared memory of the kernel that takes most of it."""
    declared = static_shared_bytes(function.ptx)
    kernels = function.manifest.kernels
    return max(declared.get(k.name, 0) + k.dynamic_shared_bytes for k in kernels)


@pytest.mark.parametrize("chip", GPUS)
def test_a_block_may_have_what_its_chip_has_and_no_byte_more(chip: str) -> None:
    x = ted.placeholder((8, 16), name="x")
    function: Any = ted.compile([x], x * 2.0, name="double", target=f"cuda:{chip}")
    (kernel,) = function.manifest.kernels
    full = replace(kernel, dynamic_shared_bytes=MOST[chip] * KIB)
    check_shared_memory(replace(function.manifest, kernels=(full,)))
    above = replace(kernel, dynamic_shared_bytes=MOST[chip] * KIB + 1)
    with pytest.raises(CompileError, match=f"a block of {chip} has at most {MOST[chip] * KIB}"):
        check_shared_memory(replace(function.manifest, kernels=(above,)))


@pytest.mark.parametrize("chip", GPUS)
def test_every_tile_of_a_template_fits_into_the_chips_that_may_take_it(chip: str) -> None:
    seen = 0
    for element in ("f64", "f32", "f16", "bf16", "i32", "i64"):
        if element in ("f16", "bf16") and chip == "sm_75":
            continue  # sums in loops: no template
        for size in (1024, 1023):  # of rows that are copied in lines, and of others
            gemm = as_gemm(matmul((size, size, size), element))
            for tf32 in (False, True):
                for option in _options(gemm, chip, tf32, True):
                    for tiling, _ in option.choices:
                        plan = Plan(option.template, chip, gemm, tiling, 1, option.tf32)
                        needed = TEMPLATES[option.template].shared_bytes(plan)
                        assert needed <= named_gpu(chip).shared_bytes, plan
                        seen = max(seen, needed)
    assert seen > 0


@pytest.mark.fast(1)
@pytest.mark.parametrize("chip", ["sm_75", "sm_86", "sm_90a", "sm_120"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_largest_products_fit(chip: str, dtype: str) -> None:
    a, b = (ted.placeholder((4096, 4096), dtype, name=name) for name in "ab")
    function: Any = ted.compile([a, b], [a @ b], target=f"cuda:{chip}")
    assert most_shared(function) <= MOST[chip] * KIB


@pytest.mark.parametrize(("dtype", "count"), [("float64", 8), ("float32", 13)])
def test_tiles_of_many_transposed_inputs_fit_beside_each_other(dtype: str, count: int) -> None:
    inputs = [ted.placeholder((40, 33), dtype, name=f"x{k}") for k in range(count)]
    total = ted.placeholder((33, 40), dtype, name="total")
    result = total
    for k, x in enumerate(inputs):
        result = result + (k + 1) * ted.transpose(x)
    function: Any = ted.compile([*inputs, total], [result], target="cuda:sm_75")
    assert len(function.manifest.kernels) == 1
    assert STATIC_SHARED_BYTES // 2 < most_shared(function) <= STATIC_SHARED_BYTES
    arrays = [RNG.integers(-9, 9, s.shape).astype(dtype) for s in function.manifest.inputs]
    (found,) = run_manifest(function.manifest, arrays, order="random", seed=5)
    want = arrays[-1] + sum((k + 1) * a.T for k, a in enumerate(arrays[:-1]))
    np.testing.assert_array_equal(found, want)


@pytest.mark.fast(1)
@pytest.mark.parametrize("length", [1024, 20000])
def test_rows_of_many_temporaries_fit(length: int) -> None:
    inputs = [ted.placeholder((4, length), "float64", name=f"x{k}") for k in range(6)]
    product = inputs[0]
    for x in inputs[1:]:
        product = product * ted.nn.softmax(x) + ted.nn.layer_norm(product)
    function: Any = ted.compile(inputs, [product, ted.nn.softmax(product)], target="cuda:sm_75")
    assert most_shared(function) <= STATIC_SHARED_BYTES


@pytest.mark.slow
def test_totals_of_many_rows_take_turns_in_shared_memory() -> None:
    x = ted.placeholder((2, 1030), "float64", name="x")
    y = x
    for k in range(11):
        y = ted.nn.softmax(y * 1000.0) if k % 3 else y - ted.mean(y * y, axis=1, keepdims=True)
    totals = 4 + 2 * 7
    function: Any = ted.compile([x], [y], target="cuda:sm_75")
    (kernel,) = function.manifest.kernels
    warps = kernel.block[0] // 32
    assert most_shared(function) < totals * warps * 8
    a = RNG.standard_normal((2, 1030))
    exact: Any = ted.compile([x], [y])
    want = exact(a)[0]
    (found,) = run_manifest(function.manifest, [a], order="random", seed=4)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)
