"""Hopper's tensor cores fed by threads, in the interpreter, against numpy."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ptx_emulator.errors import PtxError
from ted.gpu.templates import choices
from ted.gpu.templates.problem import Problem
from ted.gpu.templates.schedule import Plan, Tiling
from ted.machine import GPUS
from unit.gpu_templates.programs import (
    Convolution,
    Kernels,
    arrays,
    build,
    check,
    forced,
    matmul,
    run,
)

SMALL = choices.WGMMA[-1][0]
IMAGES = Convolution(2, 8, 7, 9, 16, (3, 2), last=True)


def gathered(found: Problem, tiling: Tiling = SMALL, **options: int) -> Plan:
    return forced(found, "wgmma_gather", tiling, "sm_90a", **options)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("what", ["forward", "input_gradient", "weight_gradient"])
def test_convolutions_and_their_gradients(what: str, late: bool) -> None:
    found = getattr(IMAGES, what)("bf16")
    check(gathered(found), found, order="random", late_async=late)


@pytest.mark.fast(1)
@pytest.mark.parametrize("layout", ["", "a", "b", "ab"])
def test_products_of_every_layout(layout: str) -> None:
    found = matmul((136, 72, 136), "bf16", layout)
    check(gathered(found), found, order="reverse")


def test_strided_and_dilated_windows() -> None:
    found = Convolution(2, 8, 9, 11, 16, (3, 2), stride=2, dilation=2, last=True).forward("f16")
    check(gathered(found), found)


def test_steps_behind_the_end_are_zeros() -> None:
    found = matmul((40, 64, 6 * 64), "f16", batch=2, accumulate=True)
    chosen = gathered(found, splits=4)
    assert chosen.splits * chosen.steps_per_split > chosen.steps
    check(chosen, found)


def test_blocks_take_tile_after_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(GPUS["sm_90a"], multiprocessors=2)
    monkeypatch.setitem(GPUS, "sm_90a", small)
    found = matmul((136, 72, 3 * 64), "bf16", "b")
    chosen = gathered(found, dataclasses.replace(SMALL, stages=4))
    assert build(chosen).launches[0].grid == (2, 1, 1)
    check(chosen, found, order="random")


@pytest.mark.slow
@pytest.mark.parametrize("choice", choices.WGMMA, ids=str)
@pytest.mark.parametrize("what", ["forward", "input_gradient", "weight_gradient"])
def test_every_tile(choice: tuple[Tiling, float], what: str) -> None:
    found = getattr(Convolution(3, 16, 9, 12, 72, (3, 3), last=True), what)("f16", c="f32")
    check(gathered(found, choice[0]), found, order="random")


@pytest.mark.parametrize(
    "pattern",
    [r"\tfence\.proxy\.async[^;]*;", r"cp\.async\.wait_group[^;]*;"],
    ids=["copies not made visible", "copies not awaited"],
)
def test_a_planted_mistake_is_found(pattern: str) -> None:
    found = matmul((72, 40, 136), "bf16")
    kernels = build(gathered(found))
    text, count = re.subn(pattern, "", kernels.text)
    assert count
    broken = Kernels(kernels.plan, kernels.launches, text, kernels.ir)
    with pytest.raises(PtxError):
        run(broken, arrays(found), order="random")
