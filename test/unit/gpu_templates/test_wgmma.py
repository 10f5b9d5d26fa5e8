"""The template for Hopper in the interpreter, against numpy."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ptx_emulator.errors import PtxError
from ted.gpu.templates import choices
from ted.gpu.templates.problem import Problem, as_gemm
from ted.gpu.templates.schedule import Plan, Tiling
from ted.gpu.templates.tensor_maps import boxes
from ted.linalg.strided_contractions import Dim
from ted.machine import GPUS
from unit.gpu_templates.programs import (
    Kernels,
    arrays,
    build,
    check,
    forced,
    matmul,
    planned,
    problem,
    run,
)

SMALL = choices.WGMMA[-1][0]


def hopper(found: Problem, tiling: Tiling = SMALL, **options: int) -> Plan:
    return forced(found, "wgmma", tiling, "sm_90a", **options)


@pytest.mark.fast(1)
@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("layout", ["", "a", "b", "ab"])
def test_products_of_every_layout(layout: str, late: bool) -> None:
    found = matmul((136, 72, 136), "bf16", layout)
    check(hopper(found), found, order="random", late_async=late)


def test_what_is_outside_of_the_operands_counts_as_zero() -> None:
    found = matmul((8, 8, 8), "f16", c="f32")
    check(hopper(found), found, order="reverse")


def test_results_are_added_to_what_was_there() -> None:
    found = matmul((64, 40, 72), "bf16", "c", batch=2, accumulate=True)
    check(hopper(found), found)


def test_partial_sums_are_added_in_a_second_kernel() -> None:
    found = matmul((64, 40, 5 * 64 + 8), "f16")
    check(hopper(found, splits=4), found)  # of 6 steps, the last split has none that count


def test_blocks_take_tile_after_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(GPUS["sm_90a"], multiprocessors=2)
    monkeypatch.setitem(GPUS, "sm_90a", small)
    tiling = dataclasses.replace(SMALL, stages=2)  # fewer than steps: stages are used again
    found = matmul((136, 72, 136), "bf16", "b")
    chosen = hopper(found, tiling)
    assert build(chosen).launches[0].grid == (2, 1, 1)
    assert chosen.blocks == 4
    check(chosen, found, order="random")


@pytest.mark.slow
@pytest.mark.parametrize("choice", choices.WGMMA, ids=str)
@pytest.mark.parametrize("layout", ["", "a", "b", "ab", "c"])
def test_every_tile(choice: tuple[Tiling, float], layout: str) -> None:
    tiling = choice[0]
    found = matmul((tiling.rows + 8, tiling.columns + 8, 5 * 64 + 8), "f16", layout, c="f32")
    check(hopper(found, tiling), found, order="random")


def test_a_broadcast_batch_has_no_dim_in_the_map() -> None:
    batches = (Dim(2, 64 * 64, 64 * 32, 3 * 64 * 32), Dim(3, 0, 0, 64 * 32))
    dims = (*batches, Dim(64, 64, 0, 32), Dim(32, 0, 1, 1), Dim(64, 1, 32, 0, True))
    found = problem(dims, "bf16")
    assert [len(a.dims) for a in build(hopper(found)).launches[0].arguments[:2]] == [3, 3]
    check(hopper(found), found)


@pytest.mark.parametrize("change", [{"offset": 4}, {"alignment": 8}], ids=["offset", "alignment"])
def test_an_unaligned_operand_has_no_map(change: dict[str, int]) -> None:
    found = matmul((128, 128, 128), "bf16")
    moved = dataclasses.replace(found, a=dataclasses.replace(found.a, **change))
    assert boxes(as_gemm(found), "a", "a", 128, 64) is not None
    assert boxes(as_gemm(moved), "a", "a", 128, 64) is None
    assert planned(dataclasses.replace(moved), "sm_90a", tensor_maps=True).template == "mma_sync"


def test_the_roles_and_their_instructions() -> None:
    text = build(hopper(matmul((128, 128, 128), "bf16"))).text
    for wanted in (
        "setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32",
        "cp.async.bulk.tensor.2d.shared::cluster.global",
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
    ):  # fmt: skip
        assert wanted in text
    for forbidden in ("atom.", "\tred.", "st.local"):
        assert forbidden not in text


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"wgmma\.wait_group\.sync\.aligned \t[01];", ""),
        (r"@p mbarrier\.arrive\.shared\.b64 _, \[%r\d+\];", ""),
        (r"\tbar\.sync[^;]*;", "\t"),
    ],
    ids=["products not awaited", "stages not released", "barriers not started"],
)
def test_a_planted_mistake_is_found(pattern: str, replacement: str) -> None:
    found = matmul((72, 40, 200), "bf16")
    kernels = build(hopper(found, dataclasses.replace(SMALL, stages=2)))
    text, count = re.subn(pattern, replacement, kernels.text)
    assert count
    broken = Kernels(kernels.plan, kernels.launches, text, kernels.ir)
    with pytest.raises(PtxError):
        run(broken, arrays(found), order="random", budget=20_000)
