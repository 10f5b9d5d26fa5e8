"""The values of an affine expression and of its parts, against all points of a box."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from ted.dialects import session
from ted.domain.intervals import UNKNOWN, Interval
from ted.mlir import ir
from ted.mlir.affine_ranges import ranges_within, value_range

DIMS: list[Interval] = [(0, 5), (-3, 4)]


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with session():
        yield


def within(text: str) -> list[Interval]:
    """The intervals of the parts of an expression in i and j, and a symbol s."""
    amap = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(i, j)[s] -> ({text})>")).value
    return list(ranges_within(amap.results[0], DIMS))


def values(text: str) -> set[int]:
    """Those that an expression in i and j has in the box."""
    expr = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(i, j) -> ({text})>")).value.results[0]
    found = set()
    for point in product(*(range(low, high + 1) for low, high in DIMS)):
        at = ir.AffineMap.get(0, 0, [ir.AffineExpr.get_constant(p) for p in point])
        found.add(ir.AffineConstantExpr(expr.compose(at).maybe_downcast()).value)
    return found


@pytest.mark.parametrize(
    "text",
    ["7", "i", "j", "i + j", "i - 3", "2 * i - 5 * j + 1", "i floordiv 2", "j floordiv 3",
     "(j + 9) ceildiv 4", "j mod 4", "(i + 8) mod 16", "(i floordiv 2) * 3 + j mod 2"],
)  # fmt: skip
def test_the_ends_are_values_where_no_dim_is_used_twice(text: str) -> None:
    found = values(text)
    assert within(text)[-1] == (min(found), max(found))


@pytest.mark.parametrize("text", ["j mod 20", "i - i floordiv 2", "j - 2 * (j floordiv 2)"])
def test_every_value_is_between_the_ends(text: str) -> None:
    low, high = within(text)[-1]
    assert low <= min(values(text)) <= max(values(text)) <= high


def test_parts_are_judged_as_they_are_written() -> None:
    assert within("(i * 7) mod 3") == [(0, 5), (7, 7), (0, 35), (3, 3), (0, 2)]
    assert within("i + j * 2") == [(0, 5), (-3, 4), (2, 2), (-6, 8), (-6, 13)]


def test_symbols_are_without_bound() -> None:
    assert within("s") == [UNKNOWN]
    assert within("i + s")[-1] == UNKNOWN
    assert within("s mod 8")[-1] == (0, 7)


@pytest.mark.parametrize("text", ["2 * i - 3 * j + 1", "i mod 4 + j floordiv 2", "i - i", "5"])
def test_a_box_counts_from_zero(text: str) -> None:
    amap = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(i, j) -> ({text})>")).value
    found = []
    for point in product(range(4), range(3)):
        at = ir.AffineMap.get(0, 0, [ir.AffineExpr.get_constant(p) for p in point])
        expr = amap.results[0].compose(at).maybe_downcast()
        found.append(ir.AffineConstantExpr(expr).value)
    assert value_range(amap.results[0], (4, 3)) == (min(found), max(found))
