"""What templates do with sums before they store them: biases, activations, roundings."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ted.codegen.nvptx import toolkit
from ted.codegen.nvptx.ptxas import assemble
from ted.gpu.templates import choices
from ted.gpu.templates.contraction import plan
from ted.gpu.templates.problem import Epilogue, Operand, Problem
from unit.gpu_templates.programs import Convolution, build, check, forced, matmul, planned

BIAS_AND_RELU = """
func.func @epilogue(%sum: f32, %bias: {e}, %other: f32) -> {e} {
  %zero = arith.constant 0.0 : f32
  %wide = arith.extf %bias : {e} to f32
  %with_bias = arith.addf %sum, %wide : f32
  %with_both = arith.addf %with_bias, %other : f32
  %positive = arith.maximumf %with_both, %zero : f32
  %result = arith.truncf %positive : f32 to {e}
  return %result : {e}
}"""
ROUND = """
func.func @epilogue(%sum: f32) -> {e} {
  %result = arith.truncf %sum : f32 to {e}
  return %result : {e}
}"""
NEGATE = "func.func @epilogue(%sum: f32) -> f32 {\n %r = arith.negf %sum : f32\n return %r : f32\n}"
TEMPLATES = [
    ("mma_sync", choices.MMA_2_BYTES[-1][0], "sm_80"),
    ("wgmma", choices.WGMMA[-1][0], "sm_90a"),
    ("wgmma_gather", choices.WGMMA[-1][0], "sm_90a"),
]


def finished(found: Problem, element: str) -> Problem:
    """The problem with a bias per column, another summand of C's shape, and a relu."""
    columns = tuple(dim.c if dim.b and not dim.a else 0 for dim in found.dims)
    divisor = min((step for step in columns if step), default=1)
    columns = tuple(step // divisor for step in columns)
    size = sum((dim.extent - 1) * s for dim, s in zip(found.dims, columns, strict=True)) + 1
    inputs = (Operand(element, size), Operand("f32", found.c.size))
    steps = (columns, tuple(dim.c for dim in found.dims))
    epilogue = Epilogue(BIAS_AND_RELU.replace("{e}", element), inputs, steps)
    return dataclasses.replace(found, epilogue=epilogue)


def bias_and_relu(sums: np.ndarray, bias: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.maximum(sums + bias + other, 0)


@pytest.mark.parametrize(("template", "tiling", "chip"), TEMPLATES, ids=lambda v: str(v)[:12])
@pytest.mark.parametrize("layout", ["", "c"])
def test_bias_and_relu_behind_a_product(template: str, tiling, chip: str, layout: str) -> None:
    found = finished(matmul((40, 72, 40), "bf16", layout, batch=2), "bf16")
    check(forced(found, template, tiling, chip), found, epilogue=bias_and_relu)


def test_odd_sizes_and_a_split_sum() -> None:
    found = finished(matmul((35, 37, 150), "f16"), "f16")
    chosen = forced(found, "mma_sync", choices.MMA_2_BYTES_BY_REGISTERS[-1][0], "sm_80", splits=3)
    assert build(chosen).launches[1].arguments == ("workspace", "c", "input 0", "input 1")
    check(chosen, found, epilogue=bias_and_relu, order="random")


@pytest.mark.parametrize("last", [False, True])
def test_bias_and_relu_behind_a_convolution(last: bool) -> None:
    found = finished(Convolution(2, 8, 6, 7, 16, (3, 2), last=last).forward("bf16"), "bf16")
    check(planned(found), found, epilogue=bias_and_relu)


def test_sums_of_f32_may_be_stored_as_another_type() -> None:
    found = matmul((36, 40, 20), c="bf16")
    assert isinstance(plan(found, "sm_80"), str)
    rounded = dataclasses.replace(found, epilogue=Epilogue(ROUND.replace("{e}", "bf16")))
    check(planned(rounded), rounded, epilogue=lambda sums: sums)


def test_a_epilogue_of_the_ordinary_template() -> None:
    found = dataclasses.replace(matmul((33, 35, 37)), epilogue=Epilogue(NEGATE))
    check(planned(found), found, epilogue=np.negative, order="random")


def test_what_is_added_to_other_sums_cannot_be_finished() -> None:
    found = dataclasses.replace(matmul((64, 64, 64), accumulate=True), epilogue=Epilogue(NEGATE))
    said = plan(found, "sm_80")
    assert isinstance(said, str)
    assert "added to others" in said


@pytest.mark.fast(1)
@pytest.mark.skipif(toolkit.ptxas() is None, reason="no ptxas on this machine")
@pytest.mark.parametrize(("template", "tiling", "chip"), [
    ("mma_sync", choices.MMA_2_BYTES[0][0], "sm_80"),
    ("wgmma", choices.WGMMA[0][0], "sm_90a"),
    ("wgmma_gather", choices.WGMMA[1][0], "sm_90a"),
], ids=lambda v: str(v)[:12])  # fmt: skip
def test_large_tiles_with_a_epilogue_do_not_spill(template: str, tiling, chip: str) -> None:
    for sizes in ((1024, 1024, 1024), (1000, 1000, 1000)):
        found = finished(matmul(sizes, "bf16"), "bf16")
        assembled = assemble(build(forced(found, template, tiling, chip)).text, chip)
        (resources,) = assembled.kernels.values()
        assert (resources.spill_stores, resources.spill_loads) == (0, 0)
