"""The template for tensor cores by mma.sync, in the interpreter, against numpy."""

from __future__ import annotations

import pytest

from ted.gpu.templates import choices
from ted.gpu.templates.schedule import Tiling
from unit.gpu_templates.programs import Convolution, build, check, forced, matmul, planned

SMALL = choices.MMA_2_BYTES[-1][0]


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("layout", ["", "a", "b", "abc"])
def test_products_of_every_layout(layout: str, late: bool) -> None:
    found = matmul((40, 72, 56), "bf16", layout)
    check(planned(found), found, order="random", late_async=late)


@pytest.mark.fast(1)
@pytest.mark.parametrize("layout", ["", "a", "b", "c"])
def test_f32_rounded_to_tf32(layout: str) -> None:
    found = matmul((36, 40, 52), layout=layout)
    check(planned(found, tf32=True), found, order="random")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])  # of two instructions
@pytest.mark.parametrize("layout", ["", "a", "b", "c"])
def test_f64(layout: str, chip: str) -> None:
    found = matmul((35, 41, 51), "f64", layout)
    check(planned(found, chip), found, order="random")


@pytest.mark.parametrize(
    "sizes", [(2, 2, 2), (33, 31, 17), (34, 36, 38), (40, 44, 72)]
)  # runs of 1, 1, 2 and 4 elements
def test_odd_sizes(sizes: tuple[int, int, int]) -> None:
    found = matmul(sizes, "f16", c="f32")
    check(planned(found), found, order="reverse")


def test_results_are_added_to_what_was_there() -> None:
    found = matmul((24, 40, 40), "bf16", accumulate=True, batch=2)
    check(planned(found), found)


def test_partial_sums_are_added_in_a_second_kernel() -> None:
    found = matmul((24, 40, 200), "f16")
    check(forced(found, "mma_sync", SMALL, "sm_80", splits=3), found, order="random")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("what", ["forward", "input_gradient", "weight_gradient"])
def test_convolutions_and_their_gradients(what: str, last: bool) -> None:
    found = getattr(Convolution(2, 8, 6, 7, 16, (3, 2), last=last), what)("bf16")
    check(planned(found), found)


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("choice", choices.MMA_2_BYTES, ids=str)
@pytest.mark.parametrize("layout", ["", "ab"])
def test_every_tile(choice: tuple[Tiling, float], layout: str, chip: str) -> None:
    tiling = choice[0]
    found = matmul((tiling.rows + 8, tiling.columns + 8, 2 * tiling.depth + 8), "bf16", layout)
    check(forced(found, "mma_sync", tiling, chip), found)


@pytest.mark.slow
@pytest.mark.parametrize("choice", choices.MMA_2_BYTES_BY_REGISTERS, ids=str)
def test_every_tile_that_is_filled_through_registers(choice: tuple[Tiling, float]) -> None:
    tiling = choice[0]
    found = matmul((tiling.rows + 5, tiling.columns + 7, 2 * tiling.depth + 3), "f16")
    check(forced(found, "mma_sync", tiling, "sm_80"), found)


@pytest.mark.slow
@pytest.mark.parametrize("choice", choices.MMA_4_BYTES, ids=str)
@pytest.mark.parametrize("layout", ["", "ab"])
def test_every_tile_of_tf32(choice: tuple[Tiling, float], layout: str) -> None:
    tiling = choice[0]
    found = matmul((tiling.rows + 4, tiling.columns + 4, 2 * tiling.depth + 4), layout=layout)
    check(forced(found, "mma_sync", tiling, "sm_80", tf32=True), found)


@pytest.mark.slow
@pytest.mark.parametrize("choice", choices.MMA_8_BYTES, ids=str)
@pytest.mark.parametrize("layout", ["", "ab"])
def test_every_tile_of_f64(choice: tuple[Tiling, float], layout: str) -> None:
    tiling = choice[0]
    sizes = (tiling.rows + 4, tiling.columns + 3, 2 * tiling.depth + 4)
    found = matmul(sizes, "f64", layout)
    check(forced(found, "mma_sync", tiling, "sm_90a"), found)


def test_the_instructions_are_those_of_tensor_cores() -> None:
    text = build(planned(matmul((64, 64, 64), "bf16", "a"))).text
    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in text
    assert "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in text
    assert "cp.async.cg.shared.global" in text
    for forbidden in ("atom.", "\tred.", "st.local"):
        assert forbidden not in text
