"""Lanes a few elements apart, read and written through whole registers, against NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import ted
from ted.api.host import executable_cpus
from ted.cpu.interleaving import MOST_INTERLEAVED, is_interleaved, register_starts
from ted.machine import Cpu
from ted.testing.tracing import interpreted
from unit.cpu.contraction_programs import Program, check, run

STRIDES = range(2, MOST_INTERLEAVED + 2)  # the last one is gathered
COUNTS = (1, 2, 7, 16, 17, 33)


@pytest.mark.fast(3)
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_columns_are_read_apart(stride: int, count: int, element: str) -> None:
    length = (count - 1) * stride + 5
    check(
        Program("pprr", ((12, 6, 5), "i, k, l"), ((6, length), f"k, {stride}*j+l"),
                ((12, count), "i, j"), element)
    )  # fmt: skip


@pytest.mark.parametrize("cpu", executable_cpus(), ids=lambda cpu: cpu.name)
@pytest.mark.parametrize("stride", STRIDES)
def test_for_each_vector_width(stride: int, cpu: Cpu) -> None:
    length = 36 * stride + 3
    check(
        Program("pprr", ((9, 6, 3), "i, k, l"), ((6, length), f"k, {stride}*j+l"),
                ((9, 37), "i, j")), cpu,
    )  # fmt: skip


@pytest.mark.fast(5)
@pytest.mark.parametrize("cpu", executable_cpus(), ids=lambda cpu: cpu.name)
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("count", COUNTS)
def test_results_are_written_apart_and_what_is_between_stays(
    stride: int, count: int, cpu: Cpu
) -> None:
    length = (count - 1) * stride + 1
    part, whole = f"tensor<6x{count}xf32>", f"tensor<6x{length}xf32>"
    source = f"""
func.func @main(%A: tensor<6x5xf32>, %B: tensor<5x{count}xf32>, %C: {whole}) -> {whole} {{
  %s = tensor.extract_slice %C[0, 0][6, {count}][1, {stride}] : {whole} to {part}
  %p = linalg.matmul ins(%A, %B : tensor<6x5xf32>, tensor<5x{count}xf32>)
      outs(%s : {part}) -> {part}
  %r = tensor.insert_slice %p into %C[0, 0][6, {count}][1, {stride}] : {part} into {whole}
  return %r : {whole}
}}
"""
    rng = np.random.default_rng(1)
    shapes = ((6, 5), (5, count), (6, length))
    a, b, c = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    expected = c.copy()
    # Not `a @ b`: its library computes with what lies behind few columns, and NumPy warns of that.
    expected[:, ::stride] += np.einsum("ik,kj->ij", a, b)
    result = run(source, (a, b, c), np.zeros_like(c), cpu)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    between = np.arange(length) % stride != 0
    assert np.array_equal(result[:, between], c[:, between])


@pytest.mark.parametrize("width", [2, 4, 8, 16])
@pytest.mark.parametrize("stride", range(2, MOST_INTERLEAVED + 1))
def test_registers_of_all_lanes_end_with_the_last_one(width: int, stride: int) -> None:
    starts = register_starts(width, stride, width)
    assert starts[-1] + width == (width - 1) * stride + 1
    assert all(after - before <= width for before, after in pairwise(starts))


def test_neighbours_and_far_lanes_are_not_interleaved() -> None:
    assert [k for k in range(-4, 9) if is_interleaved(k)] == [2, 3, 4]


@pytest.mark.fast(1)
@pytest.mark.parametrize("cpu", executable_cpus(), ids=lambda cpu: cpu.name)
@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("stride", STRIDES)
def test_transposed_convolutions_write_apart(stride: int, element: str, cpu: Cpu) -> None:
    x = ted.placeholder((2, 3, 6, 19), element, name="x")
    w = ted.placeholder((3, 5, 3, 3), element, name="w")
    y = ted.nn.conv_transpose2d(x, w, stride=stride, layout="NCHW")
    rng = np.random.default_rng(2)
    a, b = (rng.uniform(-1, 1, t.shape).astype(element) for t in (x, w))
    (want,) = interpreted([x.node, w.node], [y.node])(a, b)
    found = ted.compile([x, w], y, target=f"cpu:{cpu.name}")(a, b)
    np.testing.assert_allclose(found, want, atol=100 * np.finfo(element).eps)
