"""The values of index expressions, and what of them 64 bits do not hold where it is used."""

from __future__ import annotations

import math

import pytest

import ted
from ted.domain import sets
from ted.domain.intervals import UNKNOWN
from ted.ir.dtypes import FLOAT32, FLOAT64, INDEX, INT8, INT64
from ted.ir.equations import Tensor
from ted.ir.index_ranges import WAY_OUT, overflow, ranges
from ted.ir.scalar import (
    Expr,
    add,
    cast,
    compare,
    const,
    dim,
    floordiv,
    index,
    load,
    mod,
    mul,
    neg,
    postorder,
    select,
    sub,
)

i, j = dim(0), dim(1)
X = Tensor("x", (9,), INT64)


def of(value: Expr, *extents: int) -> tuple[float, float]:
    return ranges(postorder(value), [(0, n - 1) for n in extents])[value]


def said(value: Expr, *extents: int, domain: object = None) -> str | None:
    box = sets.box(extents)
    return overflow([value], extents, box if domain is None else domain, ("i", "j"))


def test_ranges_follow_the_operations() -> None:
    assert of(sub(mul(i, index(3)), j), 5, 4) == (-3, 12)
    assert of(mod(floordiv(i, index(2)), index(4)), 30) == (0, 3)
    assert of(select(compare("lt", i, index(2)), neg(i), index(7)), 5) == (-4, 7)


def test_data_are_unknown_and_sizes_have_what_they_promise() -> None:
    assert of(add(cast(load(X, [i]), INDEX), index(1)), 9) == UNKNOWN
    assert of(add(index(ted.size("n", min=2)), i), 3) == (2, math.inf)


@pytest.mark.parametrize("factor", [2**62, -(2**62)])
def test_what_leaves_64_bits_is_said_with_its_range_and_the_way_out(factor: int) -> None:
    value = mul(i, index(factor))
    ends = sorted((0, factor * 2))
    fits = -(2**63) <= ends[0] <= ends[1] < 2**63
    got = f"an index fits into 64 bits, got i*{factor} in {ends}; {WAY_OUT}"
    assert said(value, 3) == (None if fits else got)
    assert said(value, 2) is None


def test_a_narrower_integer_has_its_own_bits() -> None:
    value = cast(mul(i, index(100)), INT8)
    assert said(value, 2) is None
    assert (said(value, 3) or "").startswith("an index fits into 8 bits, got i*100 in [0, 200]")


def test_floats_and_elements_have_no_bits_to_fit_into() -> None:
    assert said(cast(mul(i, index(2**40)), FLOAT32), 3) is None
    assert said(cast(load(X, [i]), INT8), 9) is None
    assert said(load(Tensor("b", (900,), INT8), [mul(i, index(100))]), 9) is None


def test_only_points_where_a_value_is_used_count() -> None:
    value = mul(i, index(2**62))
    chosen = select(compare("lt", i, index(2)), cast(value, FLOAT64), const(0.0, FLOAT64))
    assert said(chosen, 3) is None
    assert said(add(chosen, cast(value, FLOAT64)), 3) is not None
    assert said(value, 3, domain=sets.box((2,))) is None
    never = select(compare("lt", i, index(0)), cast(value, FLOAT64), const(0.0, FLOAT64))
    assert said(never, 3) is None


def test_a_part_that_leaves_64_bits_counts_where_all_of_it_does_not() -> None:
    assert "got i*4611686018427387904 in" in (said(mod(mul(i, index(2**62)), index(3)), 5) or "")
