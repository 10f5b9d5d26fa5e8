"""Operands with bounds, a padding that is not in memory, in each template, against numpy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ted.gpu.templates import choices
from ted.gpu.templates.contraction import plan
from ted.gpu.templates.problem import Problem, as_gemm
from ted.gpu.templates.schedule import Tiling
from unit.gpu_templates.programs import Convolution, build, check, forced, matmul, planned

SMALL_SIMT = choices.SIMT_4_BYTES[-1][0]
SMALL_MMA = choices.MMA_2_BYTES[-1][0]
SMALL_WGMMA = choices.WGMMA[-1][0]
PASSES = ("forward", "weight_gradient")


def padded(channels: int = 8, **options: int) -> Convolution:
    """Odd images with zeros around them, channels last."""
    return Convolution(2, channels, 7, 9, 16, (3, 3), last=True, **{"padding": 1, **options})


def of(shape: Convolution, what: str, element: str = "f32") -> Problem:
    """The convolution, or its weight's gradient."""
    return getattr(shape, what)(element)


@pytest.mark.fast(1)
@pytest.mark.parametrize("what", PASSES)
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
def test_ordinary_arithmetic(what: str, element: str) -> None:
    found = of(padded(), what, element)
    check(planned(found), found, order="random")


@pytest.mark.parametrize("what", PASSES)
@pytest.mark.parametrize("late", [False, True])
def test_asynchronous_copies(what: str, late: bool) -> None:
    found = of(padded(), what, "bf16")
    chosen = forced(found, "mma_sync", SMALL_MMA, "sm_80")
    check(chosen, found, order="random", late_async=late)


@pytest.mark.parametrize("what", PASSES)
@pytest.mark.parametrize("late", [False, True])
def test_gathered_operands_of_warpgroups(what: str, late: bool) -> None:
    found = of(padded(), what, "bf16")
    chosen = forced(found, "wgmma_gather", SMALL_WGMMA, "sm_90a")
    check(chosen, found, order="random", late_async=late)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "options",
    [
        {"stride": 2},
        {"dilation": 2, "padding": 2},
        {"stride": 2, "dilation": 3, "padding": 4},
        {"padding": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("what", PASSES)
def test_strides_dilations_and_paddings_wider_than_windows(what: str, options: dict) -> None:
    found = of(padded(4, **options), what)
    check(forced(found, "simt", SMALL_SIMT, "sm_80"), found)
    found = of(padded(**options), what, "f16")
    check(forced(found, "mma_sync", SMALL_MMA, "sm_80"), found)


@pytest.mark.parametrize("what", PASSES)
def test_channels_first_are_read_element_by_element(what: str) -> None:
    found = of(replace(padded(3), last=False), what)
    assert as_gemm(found).best_width("a" if what == "forward" else "b")[0] == 1
    check(planned(found), found)


@pytest.mark.parametrize("splits", [2, 3])
def test_partial_sums(splits: int) -> None:
    found = of(padded(), "weight_gradient", "bf16")
    check(forced(found, "mma_sync", SMALL_MMA, "sm_80", splits=splits), found)


@pytest.mark.slow
def test_several_tiles_of_rows_and_blocks() -> None:
    shape = Convolution(3, 16, 10, 11, 72, (3, 3), last=True, padding=1)
    found = shape.forward("bf16")
    check(forced(found, "wgmma_gather", SMALL_WGMMA, "sm_90a"), found)
    check(planned(found), found)


def test_runs_do_not_cross_bounds() -> None:
    first = replace(padded(16), last=False).forward("bf16")
    assert isinstance(plan(first, "sm_80"), str)
    assert as_gemm(padded(16).forward("bf16")).best_width("a") == (8, True)
    assert as_gemm(padded(6).forward("bf16")).best_width("a") == (2, True)


def test_no_boxes_of_tensor_maps_are_out_of_bounds() -> None:
    found = padded(64).forward("bf16")
    assert planned(found, "sm_90a", tensor_maps=True).template != "wgmma"


def test_without_bounds_nothing_is_checked() -> None:
    tiling = Tiling(32, 32, 32, (2, 2), stages=4)
    text = build(forced(matmul((32, 32, 64), "bf16"), "mma_sync", tiling, "sm_80")).text
    assert "selp" not in text


@pytest.mark.parametrize("what", PASSES)
def test_rounded_factors(what: str) -> None:
    found = of(padded(), what)
    chosen = planned(found, tf32=True)
    assert chosen.template == "mma_sync"
    check(chosen, found, order="random", late_async=True)
