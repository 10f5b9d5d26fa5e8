"""Equations at a row: what they read and write there are slices, on CPUs and on GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.linalg.sliced_dims import rows_written
from ted.linalg.subdomain import from_compute
from ted.mlir import ir
from ted.mlir.queries import operations
from unit.gpu.cuda_programs import run as run_on_gpu

RNG = np.random.default_rng(12)
Array = np.ndarray[Any, Any]


def channels(m: Any, x: Any) -> Any:
    """Rows are images and groups of channels, which are one dim of the result."""
    y = m.reshape(x, (3, 4, 2, 5))
    y = y - m.mean(y, axis=(2, 3), keepdims=True)
    y = y / m.sqrt(m.mean(y * y, axis=(2, 3), keepdims=True) + 0.1)
    return m.reshape(y, (3, 8, 5))


def triangle(m: Any, x: Any) -> Any:
    """The number of a row is in a condition."""
    count = m.arange(x.shape[0])
    seen = m.where(count[None, :] <= count[:, None], x, -1e30)
    e = m.exp(seen - m.max(seen, axis=1, keepdims=True))
    return e / m.sum(e, axis=1, keepdims=True)


def turned(m: Any, x: Any) -> Any:
    """A row is read backwards."""
    y = x / m.sum(x * x, axis=1, keepdims=True)
    return y + m.exp(y)[:, ::-1]


def pooled(m: Any, x: Any) -> Any:
    """A row of the result reads two rows, and is read by two of the next tensor."""
    y = m.sum(m.reshape(m.exp(x), (6, 2, 7, 2)), axis=(1, 3)) / 4
    return m.reshape(m.broadcast_to(y[:, None, :, None] * 2, (6, 2, 7, 2)), (12, 14))


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "channels": (channels, (3, 8, 5), (3, 4)),
    "triangle": (triangle, (9, 9), (9,)),
    "turned": (turned, (5, 40), (5,)),
    "pooled": (pooled, (12, 14), (6,)),
}


def traced(name: str) -> tuple[Any, Any, Array, Array]:
    """A program with its gradient, an array, and what numpy makes of it."""
    function, shape, _ = PROGRAMS[name]
    x = ted.placeholder(shape, "float64", name="x")
    array = RNG.normal(size=shape)
    return x, function(ted, x), array, function(np, array)


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_right(name: str) -> None:
    x, y, array, wanted = traced(name)
    head = ted.placeholder(y.shape, "float64", name="head")
    (slope,) = ted.differentiate(y, [x], head)
    ones = RNG.normal(size=y.shape)
    step = 1e-6 * RNG.normal(size=array.shape)
    function = PROGRAMS[name][0]
    moved = ((function(np, array + step) - function(np, array - step)) * ones).sum() / 2
    f = ted.compile([x, head], [y, slope])
    for found, slopes in (f(array, ones), run_on_gpu([x, head], [y, slope], [array, ones])):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose((slopes * step).sum(), moved, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_makes_a_row_by_a_kernel(name: str) -> None:
    x, y, _, _ = traced(name)
    rows = ", ".join(map(str, PROGRAMS[name][2]))
    text = ted.compile([x], [y], target="cuda:sm_80").ir("linalg")
    assert text.count("scf.forall") == 1
    assert f" in ({rows}) " in text


def test_a_cpu_has_rows_of_what_a_result_has_as_one_dim() -> None:
    x, y, _, _ = traced("channels")
    text = ted.compile([x], [y]).ir("linalg")
    assert "memref<2x5xf64" in text  # of a row; all of it would be memref<3x4x2x5xf64>
    assert "memref.alloc() : memref<3x4x2x5xf64>" not in text


ARGMAX = """
#all = affine_set<(i, j) : (0 == 0)>
func.func @f(%x: tensor<4x100xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant NUMBER : i64
  %e = tensor.empty() : tensor<4xf32>
  %d = tensor.empty() : tensor<4xi64>
  %v = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = linalg.fill ins(%none : i64) outs(%d : tensor<4xi64>) -> tensor<4xi64>
  %y:2 = "ted.compute"(%x, %v, %n) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 4, 100>, iterators = ["parallel", "reduction"], domain = #all,
    reads = [affine_map<(i, j) -> (i, j)>], guards = [#all], write = affine_map<(i, j) -> (i)>,
    combiner = "argmax"
  } : (tensor<4x100xf32>, tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xi64>
}
"""


@pytest.mark.parametrize(("number", "copies"), [(-1, 0), (7, 1)])
def test_what_an_argmax_starts_from_is_kept_only_if_it_may_be_the_result(
    number: int, copies: int
) -> None:
    with make_context():
        module = ir.Module.parse(ARGMAX.replace("NUMBER", str(number)))
        run_pipeline(module, "builtin.module(ted-emit-kernels{cpu=avx2})")
        assert str(module).count("memref.copy") == copies


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_totals_of_other_types_are_filled_and_not_converted(dtype: str) -> None:
    """Those of 16 bits begin as f32, whose value is known."""
    x = ted.placeholder((40, 9), dtype, name="x")
    text = ted.compile([x], [ted.argmax(x, axis=1)]).ir("linalg")
    (number,) = re.findall(r"(%\d+) = arith.extf %cst", text)
    assert f"linalg.fill ins({number} : f32)" in text


def dim(k: int) -> ir.AffineExpr:
    return ir.AffineExpr.get_dim(k)


WRITTEN = [
    # Subscripts of a result over dims of extents 3, 4, 2; its shape; dims that are rows.
    ("a dim each", lambda: [dim(0), dim(1), dim(2)], (3, 4, 2), 3),
    ("a part of a dim", lambda: [dim(0), dim(1) * 2 + dim(2)], (3, 8), 2),
    ("as columns", lambda: [dim(1), dim(0), dim(2)], (4, 3, 2), 3),
    ("a rest", lambda: [dim(0), dim(1) * 2 + dim(2)], (3, 9), 1),
    ("behind the first", lambda: [dim(0) + 1, dim(1), dim(2)], (4, 4, 2), 0),
    ("parts that meet", lambda: [dim(0), dim(1) + dim(2)], (3, 5), 1),
    ("two parts of one dim", lambda: [dim(0) * 8 + dim(1) * 2 + dim(2)], (24,), 1),
    ("a diagonal", lambda: [dim(0), dim(0), dim(1), dim(2)], (3, 3, 4, 2), 0),
]


@pytest.mark.parametrize(("name", "write", "shape", "rows"), WRITTEN, ids=[w[0] for w in WRITTEN])
def test_rows_have_equal_parts_of_their_own(
    name: str, write: Callable[[], list[ir.AffineExpr]], shape: tuple[int, ...], rows: int
) -> None:
    del name
    with make_context():
        module = ir.Module.parse(COPY)
        (op,) = operations(module.operation, "ted.compute")
        assert rows_written(from_compute(op), write(), shape) == rows


COPY = """
#all = affine_set<(i, j, k) : (0 == 0)>
#ijk = affine_map<(i, j, k) -> (i, j, k)>
func.func @f(%x: tensor<3x4x2xf32>, %o: tensor<3x4x2xf32>) -> tensor<3x4x2xf32> {
  %y = "ted.compute"(%x, %o) ({
  ^bb0(%a: f32):
    "ted.yield"(%a) : (f32) -> ()
  }) {
    extents = array<i64: 3, 4, 2>, iterators = ["parallel", "parallel", "parallel"],
    domain = #all, reads = [#ijk], guards = [#all], write = #ijk, combiner = "set"
  } : (tensor<3x4x2xf32>, tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  return %y : tensor<3x4x2xf32>
}
"""
