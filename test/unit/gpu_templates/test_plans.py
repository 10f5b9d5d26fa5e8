"""What the planner takes, what it declines, and why."""

from __future__ import annotations

import dataclasses

import pytest

from ted.gpu.templates import choices
from ted.gpu.templates.contraction import plan
from ted.gpu.templates.problem import Problem
from ted.gpu.templates.schedule import Plan
from unit.gpu_templates.programs import Convolution, matmul, planned

GATHER = "wgmma_gather"


@pytest.mark.parametrize(
    ("found", "chip", "template"),
    [
        (matmul((4096, 4096, 4096)), "sm_80", "simt"),
        (matmul((512, 512, 512), "f64"), "sm_90a", "mma_sync"),
        (matmul((512, 512, 512), "f64"), "sm_86", "simt"),
        (matmul((512, 512, 512), "i64"), "sm_90a", "simt"),
        (matmul((512, 512, 512), "i32"), "sm_80", "simt"),
        (matmul((4096, 4096, 4096), "bf16"), "sm_80", "mma_sync"),
        (matmul((4096, 4096, 4096), "bf16"), "sm_90", "mma_sync"),
        (matmul((4096, 4096, 4096), "bf16"), "sm_90a", "wgmma"),
        (matmul((4096, 4096, 4095), "bf16"), "sm_90a", "mma_sync"),
        (matmul((64, 64, 64), "bf16"), "sm_90a", "mma_sync"),
        (Convolution(8, 64, 16, 16, 64, (3, 3)).forward("f16"), "sm_90a", "mma_sync"),
        (Convolution(64, 64, 58, 58, 64, (3, 3), last=True).forward("f16"), "sm_80", "mma_sync"),
        (Convolution(64, 64, 58, 58, 64, (3, 3), last=True).forward("f16"), "sm_90a", GATHER),
    ],
)
def test_the_template_follows_types_chip_and_alignment(
    found: Problem, chip: str, template: str
) -> None:
    assert planned(found, chip, tensor_maps=True).template == template


def test_without_tensor_maps_operands_are_gathered() -> None:
    assert planned(matmul((4096, 4096, 4096), "bf16"), "sm_90a").template == GATHER


def test_f32_goes_to_tensor_cores_only_when_asked() -> None:
    found = matmul((256, 256, 256))
    assert planned(found).template == "simt"
    assert planned(found, tf32=True).template == "mma_sync"
    assert planned(found, "sm_75", tf32=True).template == "simt"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (matmul((1, 64, 64)), "a matrix times a vector"),
        (matmul((64, 64, 1)), "no sum"),
        (matmul((1 << 16, 1 << 16, 8)), "more than 2147483647 elements"),
        (dataclasses.replace(matmul((64, 64, 64)), accumulator="f64"), "f32 summed in f64"),
        (dataclasses.replace(matmul((64, 64, 64), "bf16"), accumulator="bf16"), "summed in bf16"),
    ],
)
def test_the_planner_says_why_it_declines(found: Problem, reason: str) -> None:
    said = plan(found, "sm_80")
    assert isinstance(said, str)
    assert reason in said


def test_half_types_need_tensor_cores() -> None:
    assert isinstance(plan(matmul((64, 64, 64), "f16"), "sm_75"), str)


def test_a_long_sum_with_few_results_is_split() -> None:
    chosen = planned(matmul((64, 64, 1 << 16)))
    assert chosen.splits > 1
    assert chosen.workspace_bytes == chosen.splits * 64 * 64 * 4
    assert chosen.steps_per_split * (chosen.splits - 1) < chosen.steps


@pytest.mark.parametrize(("element", "rounds"), [("f32", 3), ("bf16", 1)])
def test_splits_fill_the_chip_and_tensor_cores_wait_for_few_partial_sums(
    element: str, rounds: int
) -> None:
    """The weights' gradient of a 3x3 convolution, 256 channels: 36 tiles of f32, 18 of bf16."""
    chosen = plan(matmul((2304, 256, 100352), element), "sm_90a", tensor_maps=True)
    assert isinstance(chosen, Plan)
    available = rounds * choices.processors("sm_90a")
    assert 0.9 * available < chosen.blocks <= available


def test_a_full_grid_is_not_split() -> None:
    assert planned(matmul((2048, 2048, 1 << 14))).splits == 1


def test_plans_are_values() -> None:
    assert planned(matmul((70, 50, 30))) == planned(matmul((70, 50, 30)))
    assert hash(planned(matmul((70, 50, 30)))) == hash(planned(matmul((70, 50, 30))))


@pytest.mark.parametrize(
    ("choice", "size", "limit"),
    [
        *((choice, 2, 163 << 10) for choice in choices.MMA_2_BYTES),
        *((choice, 4, 163 << 10) for choice in choices.MMA_4_BYTES),
        *((choice, 8, 163 << 10) for choice in choices.MMA_8_BYTES),
        *((choice, 2, 227 << 10) for choice in choices.WGMMA),
    ],
)
def test_tiles_fit_the_shared_memory_of_a_block(choice: tuple, size: int, limit: int) -> None:
    tiling, share = choice
    assert tiling.stages * (tiling.rows + tiling.columns) * tiling.depth * size < limit
    assert 0 < share <= 1
    assert isinstance(planned(matmul((64, 64, 64))), Plan)
