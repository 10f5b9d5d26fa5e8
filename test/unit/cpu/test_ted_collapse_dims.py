"""Dims that are one loop: which are joined, and that the points meet the same elements."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted import dialects
from ted.cpu.ted_collapse_dims import TedCollapseDims
from ted.linalg.collapsing import collapsed_extents
from ted.mlir import ir
from ted.mlir.generic import Generic
from ted.mlir.queries import operations

TEXT = """
#id = affine_map<(c, h, w) -> (c, h, w)>
func.func @f(%x: memref<8x5x7xf32, strided<[{strides}]>>, %y: memref<8x5x7xf32>) {{
  linalg.generic {{indexing_maps = [#id, #id],
                   iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%x : memref<8x5x7xf32, strided<[{strides}]>>) outs(%y : memref<8x5x7xf32>) {{
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }}
  return
}}"""


@pytest.mark.parametrize(
    ("strides", "extents"),
    [("35, 7, 1", (280,)), ("64, 7, 1", (8, 35)), ("40, 8, 1", (40, 7)), ("90, 9, 1", (8, 5, 7))],
)
def test_dims_without_gaps_are_joined(strides: str, extents: tuple[int, ...]) -> None:
    with dialects.session():
        module = ir.Module.parse(TEXT.format(strides=strides))
        TedCollapseDims().run(module)
        assert module.operation.verify()
        (op,) = operations(module.operation, "linalg.generic")
        assert Generic(op).extents == extents


def test_extents_of_joined_dims_are_products() -> None:
    assert collapsed_extents((2, 3, 5, 7), [0, 2]) == (6, 35)
    assert collapsed_extents((2, 3, 5, 7), [0, 1, 2]) == (210,)
    assert collapsed_extents((2, 3), []) == (2, 3)


def test_planes_beside_a_scale_and_a_total_have_the_right_numbers() -> None:
    x, s = np.random.default_rng(0).normal(size=(3, 5, 7, 9)), np.arange(1.0, 6.0)
    scaled = ted.function(lambda x, s: x * s[:, None, None])
    np.testing.assert_array_equal(scaled(x, s), x * s[:, None, None])
    total = ted.function(lambda x: ted.sum(x, axis=(1, 2, 3)))
    np.testing.assert_allclose(total(x), x.sum(axis=(1, 2, 3)), rtol=1e-13, atol=1e-13)
