"""Where the points of a box meet memory, against all their elements one by one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ted import dialects
from ted.domain.linear import Form
from ted.gpu.bodies import work_of
from ted.gpu.collapsing import collapsed, collapsed_extents
from ted.gpu.strided_footprints import Footprint, footprint_of
from ted.mlir import ir
from ted.mlir.queries import operations

SIDES = st.lists(st.tuples(st.integers(2, 4), st.integers(-9, 9)), max_size=3)


def elements(footprint: Footprint) -> list[int]:
    """The element of each point, the last side fastest."""
    ranges = [range(extent) for extent, _ in footprint.sides]
    steps = [step for _, step in footprint.sides]
    return [
        footprint.start.constant + sum(k * s for k, s in zip(point, steps, strict=True))
        for point in itertools.product(*ranges)
    ]


def footprint(start: int, sides: list[tuple[int, int]]) -> Footprint:
    return Footprint(None, Form(start), tuple(sides))  # pyright: ignore[reportArgumentType]


@given(SIDES, st.integers(-12, 12))
def test_points_that_keep_apart_meet_no_element_of_each_other(sides, start) -> None:
    a, b = footprint(0, sides), footprint(start, sides)
    if a.keeps_apart(b):
        pairs = itertools.product(enumerate(elements(a)), enumerate(elements(b)))
        assert all(p == q for (p, x), (q, y) in pairs if x == y)


@given(SIDES, st.lists(st.integers(2, 4), min_size=3, max_size=3), st.integers(-30, 30))
def test_places_beside_each_other_have_no_element_in_common(sides, extents, start) -> None:
    others = [(e, step) for e, (_, step) in zip(extents, sides, strict=False)]
    a, b = footprint(0, sides), footprint(start, others)
    if a.is_beside(b):
        assert not set(elements(a)) & set(elements(b))


@pytest.mark.parametrize(
    ("sides", "start", "apart"),
    [
        ([(8, 2)], 1, True),  # even and odd
        ([(8, 2)], 2, False),
        ([(4, 16), (8, 1)], 8, True),  # halves of rows
        ([(4, 16), (8, 1)], 7, False),
        ([(4, 16), (8, 1)], 0, True),
        ([(4, 0), (8, 1)], 0, False),  # rows that write each other's elements
        ([(4, -8), (8, 1)], 32, True),
    ],
)
def test_what_is_known_to_be_apart(sides, start: int, apart: bool) -> None:
    assert footprint(0, sides).keeps_apart(footprint(start, sides)) == apart


GENERIC = """
func.func @f(%x: memref<{x}>, %y: memref<2x3x4xf32>) {{
  linalg.generic {{iterator_types = ["parallel", "parallel", "parallel"],
      indexing_maps = [affine_map<(a, b, c) -> ({mx})>, affine_map<(a, b, c) -> (a, b, c)>]}}
    ins(%x : memref<{x}>) outs(%y : memref<2x3x4xf32>) {{
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("x", "mx", "extents"),
    [
        ("2x3x4xf32", "a, b, c", (24,)),
        ("24xf32", "a * 12 + b * 4 + c", (24,)),
        ("2x12xf32", "a, b * 4 + c", (2, 12)),
        ("6x4xf32", "a * 3 + b, c", (6, 4)),
        ("3x4xf32", "b, c", (2, 12)),
        ("4xf32", "c", (6, 4)),
        ("2xf32", "a", (2, 12)),
        ("1xf32", "0", (24,)),
        ("4x3x2xf32", "c, b, a", (2, 3, 4)),
        ("24xf32", "a * 12 + b + c * 3", (2, 3, 4)),
    ],
)
def test_collapsing_keeps_the_elements_of_points(x: str, mx: str, extents) -> None:
    with dialects.session():
        module = ir.Module.parse(GENERIC.format(x=x, mx=mx))
        (op,) = operations(module.operation, "linalg.generic")
        work = work_of(op)
        assert work is not None
        assert collapsed_extents(work) == extents
        with ir.InsertionPoint(op), op.location:
            flat = collapsed(work)
        assert flat.extents == extents
        for before, after in zip(
            (*work.inputs, *work.outputs), (*flat.inputs, *flat.outputs), strict=True
        ):
            footprint = footprint_of(before, work.extents)
            assert footprint is not None
            assert footprint == footprint_of(after, flat.extents)
        assert module.operation.verify()
