"""Blocks of the templates: together they take every tile, split and sum once."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil, prod
from typing import Any

import pytest

from ted.gpu.templates import one_tile, reduce_splits, warpgroups
from ted.gpu.templates.problem import ELEMENT_BYTES
from ted.gpu.templates.schedule import Plan, share_of, steps_of_split
from unit.gpu_templates.programs import matmul, planned

LARGE = matmul((4096, 4096, 4096), "bf16")
PLANS: dict[str, Plan] = {
    "one block": planned(matmul((16, 16, 16))),
    "many tiles": planned(matmul((200, 150, 40), batch=3)),
    "a tall result": planned(matmul((4000, 40, 30))),
    "splits": planned(matmul((64, 64, 20000))),
    "splits of f64": planned(matmul((63, 65, 20000), "f64")),
    "tensor cores": planned(matmul((512, 384, 256), "bf16")),
    "swapped": planned(matmul((256, 512, 128), layout="c")),
    "one for each processor": planned(LARGE, "sm_90a", tensor_maps=True),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_blocks_share_all_tiles_of_all_splits(name: str) -> None:
    plan = PLANS[name]
    tiles, gemm = plan.tiles, plan.gemm
    shares = [share_of(plan, number) for number in range(plan.blocks)]
    rows, columns = plan.tiling.rows, plan.tiling.columns
    assert tiles == (ceil(gemm.m / rows), ceil(gemm.n / columns))
    found: list[Any] = [(s.batch, s.split, s.row, s.column) for s in shares]
    firsts = [
        range(0, count * size, size) for count, size in zip(tiles, (rows, columns), strict=True)
    ]
    expected = product(range(gemm.batches), range(plan.splits), *firsts)
    assert sorted(found) == sorted(expected)
    assert one_tile.grid(plan, 7) == len(found)
    assert one_tile.threads(plan) == plan.tiling.threads
    assert warpgroups.grid(plan, 7) == min(7, len(found))


@pytest.mark.parametrize("name", PLANS)
def test_splits_share_all_steps(name: str) -> None:
    plan = PLANS[name]
    steps: list[int] = []
    for split in range(plan.splits):
        first, end = steps_of_split(plan, split)
        assert isinstance(first, int)
        assert isinstance(end, int)
        assert end - first <= plan.steps_per_split
        steps += range(first, end)
    assert steps == list(range(plan.steps))
    assert plan.steps * plan.tiling.depth >= plan.gemm.k > (plan.steps - 1) * plan.tiling.depth


@pytest.mark.parametrize("name", PLANS)
def test_the_second_stage_adds_up_all_sums(name: str) -> None:
    plan = PLANS[name]
    size, width = prod((plan.gemm.batches, plan.gemm.m, plan.gemm.n)), reduce_splits.width(plan)
    assert plan.gemm.n % width == 0
    assert width * ELEMENT_BYTES[plan.gemm.accumulator] <= 16
    threads = reduce_splits.blocks(plan) * reduce_splits.THREADS
    assert size <= threads * width < size + reduce_splits.THREADS * width


def test_some_plans_split_and_some_are_swapped() -> None:
    assert [name for name, plan in PLANS.items() if plan.splits > 1] == ["splits", "splits of f64"]
    assert [name for name, plan in PLANS.items() if plan.gemm.swapped] == ["swapped"]
    plan = PLANS["swapped"]
    assert one_tile.arguments(plan) == ("b", "a")
    assert one_tile.arguments(replace(plan, gemm=PLANS["one block"].gemm)) == ("a", "b")


def test_stages_and_barriers_fit_into_shared_memory() -> None:
    plan = PLANS["one for each processor"]
    tiling = plan.tiling
    panels = (tiling.rows + tiling.columns) * tiling.depth * 2
    assert warpgroups.shared_bytes(plan) == tiling.stages * (panels + 16)
    side = warpgroups.Side(tiling.rows, tiling.depth, 2, along_k=True)
    across = replace(side, along_k=False)
    assert side.bytes == across.bytes == tiling.rows * tiling.depth * 2
    assert (side.boxes, across.boxes) == (1, tiling.rows // 64)
