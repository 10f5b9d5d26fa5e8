"""Contractions of pairs of bf16 in registers for matrices: what the plan says, and numbers."""

from __future__ import annotations

from math import ceil

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted.api.host import executable_cpus
from ted.cpu.matrix_plan import TILES, deepest, plan_matrices
from ted.cpu.plans import registers_used
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.ir.pass_driver import run_pipeline
from ted.linalg.strided_contractions import Dim
from ted.machine import CPUS
from ted.mlir import ir
from ted.mlir.matrix_registers import REGISTERS, SIDE
from unit.cpu.contraction_programs import PRODUCTS_OF_PAIRS, run

ROW = CPUS["avx512_amx"]
runs = pytest.mark.skipif(ROW not in executable_cpus(), reason="no AMX here")


def by_shape(*shape: int) -> str:
    return "x".join(map(str, shape))


def pairs(seed: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs as i32, and the numbers in them as two arrays, the lower half first."""
    halves = np.random.default_rng(seed).uniform(-1, 1, (*shape, 2)).astype(ml_dtypes.bfloat16)
    return halves.view(np.int32)[..., 0], halves.astype(np.float64)


def check(program: str, a: tuple, b: tuple, exact: np.ndarray, steps: int) -> None:
    start, out = np.ones(exact.shape, np.float32), np.empty(exact.shape, np.float32)
    run(program, (a[0], b[0], start), out, ROW)
    np.testing.assert_allclose(out, 1 + exact, rtol=0, atol=2.0**-23 * steps * (steps**0.5 + 2))


@runs
@pytest.mark.parametrize(
    "size",
    [
        (1, 1, 16), (16, 16, 16), (17, 33, 16), (33, 31, 40), (48, 16, 23), (5, 70, 100),
        (32, 96, 7), (40, 50, 5000), (4100, 70, 600), (20, 16, 2311),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("is_swapped", [False, True], ids=["rows by lanes", "lanes by rows"])
def test_rows_lanes_and_pairs_of_any_number(size: tuple[int, int, int], is_swapped: bool) -> None:
    rows, lanes, steps = size
    a, b = pairs(0, rows, steps), pairs(1, steps, lanes)
    texts = [(by_shape(rows, steps), "i, k"), (by_shape(steps, lanes), "k, j")]
    first, second = reversed(texts) if is_swapped else texts
    program = PRODUCTS_OF_PAIRS.format(
        a=first[0], b=second[0], c=by_shape(rows, lanes), dims="i, j, k",
        in_a=first[1], in_b=second[1], in_c="i, j",
        kinds='"parallel", "parallel", "reduction"',
    )  # fmt: skip
    exact = np.einsum("ikh,kjh->ij", a[1], b[1])
    check(program, *((b, a) if is_swapped else (a, b)), exact, 2 * steps)


@runs
@pytest.mark.parametrize("stride", [1, 2, 3, 5])
def test_a_batch_of_windows_whose_lanes_lie_apart(stride: int) -> None:
    images, rows, lanes, window, steps = 3, 20, 37, 3, 6
    width = (lanes - 1) * stride + window
    a, b = pairs(0, rows, window, steps), pairs(1, images, steps, width)
    program = PRODUCTS_OF_PAIRS.format(
        a=by_shape(rows, window, steps), b=by_shape(images, steps, width),
        c=by_shape(images, rows, lanes), dims="n, i, j, s, k", in_a="i, s, k",
        in_b=f"n, k, j * {stride} + s", in_c="n, i, j",
        kinds='"parallel", "parallel", "parallel", "reduction", "reduction"',
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(b[1], window, axis=2)[:, :, ::stride]
    check(program, a, b, np.einsum("iskh,nkjhs->nij", a[1], windows), 2 * window * steps)


def matrices(rows: int, lanes: int, steps: int) -> tuple[Dim, ...]:
    return (
        Dim(rows, steps, 0, lanes), Dim(lanes, 0, 1, 1), Dim(steps, 1, lanes, 0, reduction=True),
    )  # fmt: skip


def test_the_tiles_are_those_that_fit_the_registers() -> None:
    fitting = {(r, v) for r in range(1, 8) for v in range(1, 8) if r * v + r + v <= REGISTERS}
    assert set(TILES) == fitting


@given(st.integers(1, 600))
def test_an_instruction_sums_as_many_pairs_as_divide_them(steps: int) -> None:
    depth = deepest(steps)
    assert depth <= SIDE
    assert steps % depth == 0
    assert all(steps % more for more in range(depth + 1, min(SIDE, steps) + 1))


@given(st.integers(1, 300), st.integers(2, 300), st.integers(2, 3000))
def test_a_plan_covers_all_pairs_and_fits(rows: int, lanes: int, steps: int) -> None:
    plan = plan_matrices(matrices(rows, lanes, steps))
    if plan is None:  # one row is fused away
        assert rows == 1
        return
    assert registers_used(plan) <= REGISTERS
    assert plan.depth is not None
    assert plan.depth.a == 1
    *blocks, outer = (*plan.reduction_blocks, *plan.reduction)
    pieces = outer.extent * plan.depth.extent
    whole = (blocks[0].extent - 1) if blocks else 0
    last = plan.last_block * plan.depth.extent if plan.last_block else pieces
    assert whole * pieces + last == steps


def test_large_products_take_two_by_two_registers() -> None:
    plan = plan_matrices(matrices(512, 512, 256))
    assert plan is not None
    assert (plan.tile_rows, plan.tile_vectors) == (2 * SIDE, 2)


@pytest.mark.parametrize(
    "dims",
    [
        (Dim(64, 1, 0, 64), Dim(64, 0, 1, 1), Dim(64, 64, 64, 0, reduction=True)),
        (Dim(64, 64, 0, 128), Dim(64, 0, 1, 2), Dim(64, 1, 64, 0, reduction=True)),
    ],
    ids=["pairs that are no neighbours", "lanes that are none in the result"],
)
def test_what_instructions_cannot_read_has_no_plan(dims: tuple[Dim, ...]) -> None:
    assert plan_matrices(dims) is None


def test_an_operand_that_is_read_in_place_fills_rows() -> None:
    dims = matrices(64, 64, 64)
    assert plan_matrices(dims, [0]) == plan_matrices(dims)
    assert plan_matrices(dims, [1]) is None


def test_rows_of_an_odd_number_of_lines_are_read_in_place() -> None:
    """Rows 512 bytes and more apart are packed, but where each is in another set of a cache.

    Rows on pages of their own are packed, too.
    """
    spread, crowded, far = (
        plan_matrices(
            (Dim(96, 64, 0, 512), Dim(512, 0, 1, 1), Dim(64, 1, apart, 0, reduction=True))
        )
        for apart in (512 + SIDE, 512, 1024 + SIDE)
    )
    assert spread is not None
    assert crowded is not None
    assert far is not None
    assert (spread.pack_b, crowded.pack_b, far.pack_b) == ("none", "copy", "copy")
    assert ceil(512 / SIDE) % 2 == 0


def tiled(asked: str) -> str:
    """The loops of 64 x 64 pairs by 64 x 64, with a strategy that is asked for."""
    square = by_shape(64, 64)
    text = PRODUCTS_OF_PAIRS.format(
        a=square, b=square, c=square, dims="i, j, k", in_a="i, k", in_b="k, j", in_c="i, j",
        kinds='"parallel", "parallel", "reduction"',
    ).replace("tensor<", "memref<")  # fmt: skip
    text = text.replace("%r = ", "").replace(" -> memref<64x64xf32>", "")
    text = text.replace("return %r : memref<64x64xf32>", "return")
    strategy = f'ted.strategy = {{name = "register_tiles", {asked}}}'
    text = text.replace("{\n  ^bb0", f"attrs = {{ted.contraction, {strategy}}} {{\n  ^bb0")
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, f"builtin.module(ted-tile-loops{{cpu={ROW.name}}})")
        return str(module)


@pytest.mark.parametrize(("rows", "vectors"), TILES)
def test_a_tile_that_fits_can_be_asked_for(rows: int, vectors: int) -> None:
    made = tiled(f"tile_rows = {rows * SIDE}, tile_vectors = {vectors}")
    whole = rows * vectors
    rest = ((4 % rows) * vectors, rows * (4 % vectors), (4 % rows) * (4 % vectors))
    assert made.count("tdpbf16ps") == whole + sum(rest)


@pytest.mark.parametrize(("rows", "vectors"), [(33, 2), (48, 2), (16, 4)])
def test_a_tile_that_does_not_fit_is_refused(rows: int, vectors: int) -> None:
    with pytest.raises(ScheduleError, match="a tile fits into 8 registers"):
        tiled(f"tile_rows = {rows}, tile_vectors = {vectors}")
