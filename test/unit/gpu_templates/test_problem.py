"""How contractions are read as matrix products: roles, order of dims, widths of accesses."""

from __future__ import annotations

import dataclasses

import pytest

from ted.gpu.templates.problem import Layout, as_gemm, layout
from ted.linalg.strided_contractions import Dim
from unit.gpu_templates.programs import Convolution, matmul


def test_neighbouring_dims_of_one_operand_become_one_group() -> None:
    dims = (Dim(4, 6, 100, 0, True), Dim(3, 2, 10, 0, True), Dim(2, 1, 1, 0, True))
    assert layout(dims, "a") == Layout(((24, 1),))
    assert layout(dims, "b") == Layout(((4, 100), (3, 10), (2, 1)))


def test_columns_are_what_the_output_is_contiguous_along() -> None:
    assert not as_gemm(matmul((5, 7, 3))).swapped
    gemm = as_gemm(matmul((5, 7, 3), layout="c"))
    assert gemm.swapped
    assert (gemm.m, gemm.n, gemm.k) == (7, 5, 3)


@pytest.mark.parametrize(
    ("layout", "widths"),
    [("", ((4, True), (4, True))), ("a", ((4, False), (4, True))), ("b", ((4, True), (4, False)))],
)
def test_accesses_go_along_the_contiguous_index(
    layout: str, widths: tuple[tuple[int, bool], ...]
) -> None:
    gemm = as_gemm(matmul((8, 16, 12), layout=layout))
    assert (gemm.best_width("a"), gemm.best_width("b")) == widths


@pytest.mark.parametrize(("sizes", "widths"), [((8, 16, 6), (2, 4)), ((8, 15, 7), (1, 1))])
def test_odd_sizes_narrow_accesses(sizes: tuple[int, int, int], widths: tuple[int, int]) -> None:
    gemm = as_gemm(matmul(sizes))
    assert (gemm.best_width("a")[0], gemm.best_width("b")[0]) == widths


def test_an_unaligned_start_narrows_accesses() -> None:
    found = matmul((8, 16, 12))
    moved = dataclasses.replace(found, a=dataclasses.replace(found.a, offset=2))
    assert as_gemm(moved).best_width("a") == (2, True)
    weak = dataclasses.replace(found, a=dataclasses.replace(found.a, alignment=4))
    assert as_gemm(weak).best_width("a") == (1, True)


def test_a_convolution_is_a_matrix_product_over_channels_and_taps() -> None:
    gemm = as_gemm(Convolution(2, 8, 9, 11, 16, (3, 2), last=True).forward("bf16"))
    assert (gemm.m, gemm.n, gemm.k) == (2 * 7 * 10, 16, 8 * 3 * 2)
    # Channels are innermost in both factors: whole chunks of 16 bytes on either side.
    assert (gemm.best_width("a"), gemm.best_width("b")) == ((8, True), (8, False))
    assert len(gemm.layouts("a")[2].groups) == 2  # a row of the window is one run of (tap, channel)


def test_a_convolution_with_channels_first_reads_weights_in_runs() -> None:
    gemm = as_gemm(Convolution(2, 8, 9, 11, 16, (3, 2)).forward())
    assert gemm.swapped  # the columns are positions, along which the output is contiguous
    assert gemm.best_width("a") == (4, True)
    assert gemm.best_width("b") == (1, True)
