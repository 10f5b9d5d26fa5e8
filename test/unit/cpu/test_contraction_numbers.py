"""Compiled contractions against their definition, in sizes that divide nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ted.api.host import executable_cpus
from ted.cpu import contraction_plan
from ted.machine import Cpu
from unit.cpu.contraction_programs import Program, check, run, text

LAYOUTS = {
    "nn": ("i, k", "k, j"),
    "tn": ("k, i", "k, j"),
    "nt": ("i, k", "j, k"),
    "tt": ("k, i", "j, k"),
}
SIZES = [
    (1, 17, 5),
    (2, 3, 2),
    (4, 16, 1),
    (7, 10, 128),
    (13, 33, 31),
    (64, 70, 40),
    (60, 200, 130),
]


def matmul(m: int, n: int, k: int, layout: str = "nn", element: str = "f32") -> Program:
    a, b = LAYOUTS[layout]
    shapes = {"i": m, "j": n, "k": k}
    return Program(
        "ppr",
        (tuple(shapes[name] for name in a.split(", ")), a),
        (tuple(shapes[name] for name in b.split(", ")), b),
        ((m, n), "i, j"),
        element,
    )


@pytest.mark.fast(4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matrix_product_of_any_size(size: tuple[int, int, int], layout: str) -> None:
    check(matmul(*size, layout))


@pytest.mark.fast(1)
@pytest.mark.parametrize("cpu", executable_cpus(), ids=lambda cpu: cpu.name)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("layout", ["nn", "tt"])
def test_matrix_product_for_each_vector_width(layout: str, element: str, cpu: Cpu) -> None:
    check(matmul(21, 37, 19, layout, element), cpu)


@pytest.mark.fast(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(101, 1000, 7), (700, 600, 5)], ids=str)
def test_a_result_that_is_written_row_after_row(size: tuple[int, int, int], layout: str) -> None:
    check(matmul(*size, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reduction_in_blocks_with_a_shorter_last_one(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contraction_plan, "REDUCTION_BLOCK", 128)
    check(matmul(50, 40, 578, layout))


def test_batched_product() -> None:
    check(
        Program(
            "pppr",
            ((3, 9, 12), "i, j, l"),
            ((3, 20, 12), "i, k, l"),
            ((3, 9, 20), "i, j, k"),
        )
    )


def test_result_with_rows_and_columns_mixed() -> None:
    check(
        Program(
            "ppppr",
            ((5, 6, 7), "i, m, k"),
            ((6, 4, 8), "m, l, j"),
            ((5, 8, 7, 4), "i, j, k, l"),
        )
    )


# Convolution of i images, j x k points, l filters (or channels), windows m x n, p channels.
CONVOLUTIONS = {
    "forward": Program(
        "pppprrr", ((2, 9, 11, 5), "i, j+m, k+n, p"), ((3, 3, 5, 19), "m, n, p, l"),
        ((2, 7, 9, 19), "i, j, k, l"),
    ),
    "strided": Program(
        "pppprrr", ((2, 9, 11, 5), "i, 2*j+m, 2*k+n, p"), ((3, 3, 5, 8), "m, n, p, l"),
        ((2, 4, 5, 8), "i, j, k, l"),
    ),
    "dilated": Program(
        "pppprrr", ((2, 9, 11, 3), "i, j+2*m, k+3*n, p"), ((3, 2, 3, 8), "m, n, p, l"),
        ((2, 5, 8, 8), "i, j, k, l"),
    ),
    "channels first": Program(
        "pppprrr", ((2, 5, 9, 11), "i, p, k+m, l+n"), ((6, 5, 3, 3), "j, p, m, n"),
        ((2, 6, 7, 9), "i, j, k, l"),
    ),
    "channels first, turned round": Program(
        "pppprrr", ((2, 5, 9, 41), "i, p, k+m, l+n"), ((37, 5, 3, 3), "j, p, m, n"),
        ((2, 37, 7, 39), "i, j, k, l"),
    ),
    "input gradient": Program(
        "pppprrr", ((2, 9, 11, 7), "i, j-m+2, k-n+2, p"), ((3, 3, 5, 7), "m, n, l, p"),
        ((2, 7, 9, 5), "i, j, k, l"),
    ),
    "weight gradient": Program(
        "pppprrr", ((2, 9, 11, 5), "m, n+i, p+j, k"), ((2, 7, 9, 19), "m, n, p, l"),
        ((3, 3, 5, 19), "i, j, k, l"),
    ),
    "weight gradient, channels first": Program(
        "pppprrr", ((2, 5, 9, 11), "m, j, n+k, p+l"), ((2, 6, 7, 9), "m, i, n, p"),
        ((6, 5, 3, 3), "i, j, k, l"),
    ),
    "one channel": Program(
        "pppprrr", ((4, 6, 6, 1), "i, j+m, k+n, p"), ((3, 3, 1, 16), "m, n, p, l"),
        ((4, 4, 4, 16), "i, j, k, l"),
    ),
}  # fmt: skip


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_convolution_and_its_gradients(name: str, element: str) -> None:
    check(replace(CONVOLUTIONS[name], element=element))


def test_weight_gradient_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_plan, "REDUCTION_BLOCK", 100)
    check(
        Program(
            "pppprrr", ((5, 20, 20, 3), "m, n+i, p+j, k"), ((5, 18, 18, 17), "m, n, p, l"),
            ((3, 3, 3, 17), "i, j, k, l"),
        )
    )  # fmt: skip


def test_destination_is_a_strided_slice() -> None:
    source = """
func.func @main(%A: tensor<6x5xf32>, %B: tensor<5x20xf32>, %C: tensor<14x41xf32>)
    -> tensor<14x41xf32> {
  %s = tensor.extract_slice %C[1, 1][6, 20][2, 2] : tensor<14x41xf32> to tensor<6x20xf32>
  %p = linalg.matmul ins(%A, %B : tensor<6x5xf32>, tensor<5x20xf32>)
      outs(%s : tensor<6x20xf32>) -> tensor<6x20xf32>
  %r = tensor.insert_slice %p into %C[1, 1][6, 20][2, 2] : tensor<6x20xf32> into tensor<14x41xf32>
  return %r : tensor<14x41xf32>
}
"""
    rng = np.random.default_rng(1)
    a, b, c = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((6, 5), (5, 20), (14, 41)))
    expected = c.copy()
    expected[1:13:2, 1:41:2] += a @ b
    np.testing.assert_allclose(run(source, (a, b, c), np.zeros_like(c)), expected, atol=1e-5)


HALF = """
func.func @main(%A: tensor<9x12xf16>, %B: tensor<12x18xf16>) -> tensor<9x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x18xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x18xf32>) -> tensor<9x18xf32>
  %r = linalg.matmul ins(%A, %B : tensor<9x12xf16>, tensor<12x18xf16>)
      outs(%start : tensor<9x18xf32>) -> tensor<9x18xf32>
  return %r : tensor<9x18xf32>
}
"""


def test_half_precision_inputs_accumulate_in_single() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((9, 12), (12, 18)))
    result = run(HALF, (a, b), np.full((9, 18), np.nan, np.float32))
    np.testing.assert_allclose(result, a.astype(np.float32) @ b.astype(np.float32), atol=1e-5)


IN_A_LOOP = """
func.func @main(%A: tensor<4x9x12xf32>, %B: tensor<12x18xf32>, %C: tensor<4x9x18xf32>)
    -> tensor<4x9x18xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %C) -> tensor<4x9x18xf32> {
    %a = tensor.extract_slice %A[%i, 0, 0][1, 9, 12][1, 1, 1]
        : tensor<4x9x12xf32> to tensor<9x12xf32>
    %s = tensor.extract_slice %c[%i, 0, 0][1, 9, 18][1, 1, 1]
        : tensor<4x9x18xf32> to tensor<9x18xf32>
    %p = linalg.matmul ins(%a, %B : tensor<9x12xf32>, tensor<12x18xf32>)
        outs(%s : tensor<9x18xf32>) -> tensor<9x18xf32>
    %n = tensor.insert_slice %p into %c[%i, 0, 0][1, 9, 18][1, 1, 1]
        : tensor<9x18xf32> into tensor<4x9x18xf32>
    scf.yield %n : tensor<4x9x18xf32>
  }
  return %r : tensor<4x9x18xf32>
}
"""


def test_slices_at_an_offset_that_a_loop_computes() -> None:
    rng = np.random.default_rng(6)
    a, b, c = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((4, 9, 12), (12, 18), (4, 9, 18)))
    np.testing.assert_allclose(run(IN_A_LOOP, (a, b, c), np.zeros_like(c)), c + a @ b, atol=1e-5)


INTEGER = """
func.func @main(%A: tensor<9x12xi8>, %B: tensor<18x12xi8>) -> tensor<9x18xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<9x18xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<9x18xi32>) -> tensor<9x18xi32>
  %r = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
      affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%A, %B : tensor<9x12xi8>, tensor<18x12xi8>)
      outs(%start : tensor<9x18xi32>) -> tensor<9x18xi32>
  return %r : tensor<9x18xi32>
}
"""


def test_bytes_accumulate_in_integers_exactly() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((9, 12), (18, 12)))
    result = run(INTEGER, (a, b), np.full((9, 18), -1, np.int32))
    np.testing.assert_array_equal(result, a.astype(np.int32) @ b.T.astype(np.int32))


INLINED = """
#ik = affine_map<(i, k, j) -> (i, k)>
#kj = affine_map<(i, k, j) -> (k, j)>
#ij = affine_map<(i, k, j) -> (i, j)>
func.func @main(%A: tensor<9x12xf32>, %M: tensor<9x12xf32>, %B: tensor<12x18xf32>)
    -> tensor<9x18xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %empty = tensor.empty() : tensor<9x18xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x18xf32>) -> tensor<9x18xf32>
  %r = linalg.generic {indexing_maps = [#ik, #ik, #kj, #ij],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%A, %M, %B : tensor<9x12xf32>, tensor<9x12xf32>, tensor<12x18xf32>)
      outs(%start : tensor<9x18xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32, %o: f32):
    %positive = arith.cmpf ogt, %m, %zero : f32
    %kept = arith.select %positive, %a, %zero : f32
    %p = arith.mulf %kept, %b : f32
    %scaled = arith.mulf %half, %p : f32
    %s = arith.addf %scaled, %o : f32
    linalg.yield %s : f32
  } -> tensor<9x18xf32>
  return %r : tensor<9x18xf32>
}
"""


def test_elementwise_work_inside_a_contraction_is_pulled_out() -> None:
    rng = np.random.default_rng(3)
    a, m, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((9, 12), (9, 12), (12, 18)))
    result = run(INLINED, (a, m, b), np.full((9, 18), np.nan, np.float32))
    np.testing.assert_allclose(result, 0.5 * np.where(m > 0, a, 0) @ b, atol=1e-5)


def test_results_are_bitwise_equal_over_runs() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((40, 50), (50, 60), (40, 60)))
    results = [run(text(matmul(40, 60, 50)), (a, b, c), np.zeros_like(c)) for _ in range(2)]
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.fast(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(150, 40, 60), (153, 70, 130), (56, 35, 600)], ids=str)
def test_rows_in_blocks_and_both_inputs_packed(
    size: tuple[int, int, int], layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"BLOCK_BYTES": 16384, "MIN_COLUMNS_FOR_COPY": 1, "FAR_ROWS_OF_A_BYTES": 1,
             "FAR_APART_BYTES": 1, "MIN_ROWS_FOR_COPY": 1, "REDUCTION_BLOCK": 64}  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(contraction_plan, name, value)
    check(matmul(*size, layout))
