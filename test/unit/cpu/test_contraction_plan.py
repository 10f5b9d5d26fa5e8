"""What the cost rule chooses, and what every choice must satisfy."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ted.cpu.contraction_plan import Plan, cut_reduction, is_turned, plan_contraction, split
from ted.linalg.strided_contractions import Dim
from ted.machine import CPUS

sizes = st.integers(1, 700)


def matmul(m: int, n: int, k: int, *, b_transposed: bool = False) -> tuple[Dim, ...]:
    b_n, b_k = (k, 1) if b_transposed else (1, n)
    return (Dim(m, k, 0, n), Dim(n, 0, b_n, 1), Dim(k, 1, b_k, 0, reduction=True))


def planned(dims: tuple[Dim, ...], element_bytes: int = 4, cpu: str = "avx512") -> Plan:
    plan = plan_contraction(dims, element_bytes, CPUS[cpu])
    assert plan is not None
    return plan


@pytest.mark.fast(4)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("element_bytes", [4, 8])
@given(m=sizes, n=st.integers(2, 700), k=st.integers(2, 700))
def test_accumulators_and_operands_fit_the_registers(
    cpu: str, element_bytes: int, m: int, n: int, k: int
) -> None:
    plan = plan_contraction(matmul(m, n, k), element_bytes, CPUS[cpu])
    if plan is not None:
        used = plan.tile_rows * plan.tile_vectors + plan.tile_vectors + 1
        assert used <= CPUS[cpu].registers


def test_a_large_product_uses_most_registers() -> None:
    plan = planned(matmul(512, 512, 512))
    assert plan.tile_rows * plan.tile_vectors >= 24


def test_rows_of_b_that_lie_far_apart_are_copied_together() -> None:
    assert planned(matmul(512, 512, 512)).pack_b == "copy"
    assert planned(matmul(64, 64, 256)).pack_b == "none"


def test_a_transposed_input_is_transposed_while_packing() -> None:
    assert planned(matmul(64, 64, 64, b_transposed=True)).pack_b == "transpose"


def test_lanes_a_few_elements_apart_are_taken_from_whole_registers() -> None:
    def strided(stride: int) -> str:
        image, taps = Dim(64, 0, stride, 1), Dim(3, 1, 1, 0, reduction=True)
        return planned((Dim(64, 96, 0, 64), image, Dim(32, 3, 400, 0, True), taps)).pack_b

    kinds = ["none", "deinterleave", "deinterleave", "gather"]
    assert [strided(k) for k in (1, 2, 4, 5)] == kinds


def test_lanes_fill_every_second_element_of_a_result_rather_than_far_ones() -> None:
    points, filters = Dim(32, 0, 1, 2), Dim(32, 4, 0, 4096)
    plan = planned((filters, points, Dim(64, 512, 32, 0, reduction=True)))
    assert plan.lane_dim.c == 2


def test_of_plans_that_cost_the_same_rows_of_a_are_near() -> None:
    near, far = Dim(28, 2, 0, 784), Dim(28, 114, 0, 7840)
    channels, filters = Dim(64, 3249, 64, 0, reduction=True), Dim(64, 0, 1, 1)
    for rows in ((near, far), (far, near)):
        assert planned((*rows, filters, channels)).row_dim == near


def test_lanes_run_along_the_destination_whichever_input_that_is() -> None:
    dims = (Dim(64, 1, 0, 1), Dim(32, 0, 1, 64), Dim(16, 64, 32, 0, reduction=True))
    plan = planned(dims)
    assert plan.lane_dim.c == 1
    assert plan.swapped


def test_a_large_result_of_short_sums_is_written_row_after_row() -> None:
    plan = planned(matmul(1000, 1000, 17))
    rows = 1000 // plan.row_blocks
    assert 8 <= rows <= 16, "what 64 KiB hold of rows of 4 KB"
    for other in (matmul(1000, 1000, 200), matmul(1000, 64, 17), matmul(20, 1000, 17)):
        assert planned(other).row_blocks == 1


def channels_first(row: int = 1) -> tuple[Dim, ...]:
    """A 3x3 convolution of 64 channels on 58 x 58, to 56 points of one row that lie `row` apart."""
    return (
        Dim(64, 0, 576, 3136), Dim(56, 58 * row, 0, 56), Dim(56, row, 0, 1),
        Dim(64, 3364, 9, 0, reduction=True), Dim(3, 58, 3, 0, reduction=True),
        Dim(3, 1, 1, 0, reduction=True),
    )  # fmt: skip


def test_a_tile_whose_rows_are_neighbours_in_the_result_is_turned_round() -> None:
    plan = planned(channels_first())
    assert (plan.lane_dim.extent, plan.lane_dim.c, plan.row_dim.c) == (64, 3136, 1)
    assert plan.row_dim.extent % plan.tile_rows == 0, "14 rows of 56"
    assert is_turned(plan.row_dim.c, plan.lane_dim.c)
    # Where lanes are neighbours, or a few apart, they are written as they are.
    assert not any(is_turned(1, lanes) for lanes in (1, 2, 4))
    assert not is_turned(2, 64)


@pytest.mark.parametrize("row", [1, 2])
def test_steps_of_a_window_share_no_elements_with_rows_of_a_tile(row: int) -> None:
    plan = planned(channels_first(row))
    if plan.row_dim.a == row:
        assert plan.reduction[0].a == 1, "the window along the rows is outermost"
    assert plan.reduction[-1].a != 1
    # A window that starts where no row of the tile does stays innermost.
    assert planned(channels_first(5)).reduction[-1].a == 1


def test_a_matrix_times_one_vector_has_no_plan() -> None:
    dims = (Dim(64, 32, 0, 1), Dim(32, 1, 1, 0, reduction=True))
    assert plan_contraction(dims, 4, CPUS["avx512"]) is None


def test_an_elementwise_product_has_no_plan() -> None:
    dims = (Dim(64, 1, 1, 1), Dim(8, 64, 64, 0, reduction=True))
    assert plan_contraction(dims, 4, CPUS["avx512"]) is None


@example([2, 3, 171])
@given(st.lists(st.integers(2, 3000), min_size=1, max_size=4))
def test_blocks_of_a_reduction_cover_it_exactly(extents: list[int]) -> None:
    dims = tuple(Dim(extent, 1, 1, 0, True) for extent in extents)
    blocks, inner, last = cut_reduction(dims, 512)
    total = prod(dim.extent for dim in (*blocks, *inner))
    if last:
        assert 0 < last < inner[0].extent
        rest = prod(dim.extent for dim in (*blocks[:-1], *inner[1:]))
        total -= rest * (inner[0].extent - last)
    assert total == prod(extents)
    assert inner


def test_blocks_of_rows_have_tiles_each() -> None:
    plan = planned(matmul(64512, 512, 512))
    assert plan.row_blocks > 100
    assert plan.fills_row_blocks
    rows = [n for n in range(1, 32) if replace(plan, tile_rows=n).fills_row_blocks]
    for count in rows:
        tiles = plan.row_dim.extent // count
        assert tiles > (plan.row_blocks - 1) * ceil(tiles / plan.row_blocks)
    assert 0 < len(rows) < 31  # of others the last block would begin behind the last row


def test_split_gives_full_tiles_and_the_rest() -> None:
    assert split(20, 8) == ((2, 8), (1, 4))
    assert split(16, 8) == ((2, 8),)
    assert split(3, 8) == ((1, 3),)
