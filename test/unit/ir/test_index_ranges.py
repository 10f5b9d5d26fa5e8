"""Between which values indices are, and what is said of those that 64 bits do not hold."""

from __future__ import annotations

import pytest

from ted.domain import sets
from ted.domain.intervals import UNKNOWN
from ted.ir.dtypes import FLOAT64, INDEX, INT8, INT32, INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.index_ranges import WAY_OUT, overflow, ranges
from ted.ir.scalar import add, apply, cast, compare, const, dim, index, load, mul, neg, select, sub

ROW, COLUMN = dim(0), dim(1)
EXTENTS = (10, 4)
BIG = index(2**61)
DATA = cast(load(Tensor("n", (10,), INT64), [ROW]), INDEX)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (ROW, (0, 9)), (index(7), (7, 7)), (add(ROW, COLUMN), (0, 12)), (sub(ROW, COLUMN), (-3, 9)),
        (neg(COLUMN), (-3, 0)), (mul(sub(ROW, index(5)), COLUMN), (-15, 12)),
        (apply("floordiv", ROW, index(4)), (0, 2)), (apply("mod", ROW, index(4)), (0, 3)),
        (apply("minimum", ROW, COLUMN), (0, 3)), (apply("maximum", ROW, COLUMN), (0, 9)),
        (DATA, UNKNOWN),
        (apply("maximum", DATA, index(0)), (0, float("inf"))),
        (select(compare("lt", ROW, COLUMN), ROW, neg(COLUMN)), (-3, 9)),
    ],
)  # fmt: skip
def test_an_index_is_between_the_values_of_its_operands(expression: Expr, expected) -> None:
    assert ranges(postorder(expression), [(0, 9), (0, 3)])[expression] == expected


def test_only_indices_have_ranges() -> None:
    number = cast(ROW, FLOAT64)
    assert set(ranges(postorder(number), [(0, 9)])) == {ROW}


def refused(*roots: Expr, domain: object = None) -> str | None:
    points = sets.box(EXTENTS) if domain is None else domain
    return overflow(roots, EXTENTS, points, "ij")


def test_what_64_bits_do_not_hold_is_named_with_its_values() -> None:
    assert refused(mul(COLUMN, BIG)) is None  # 3 * 2**61
    assert refused(mul(ROW, index(2**59))) is None
    assert refused(add(ROW, COLUMN), mul(ROW, BIG)) == (
        f"an index fits into 64 bits, got i*{2**61} in [0, {9 * 2**61}]; {WAY_OUT}"
    )
    assert refused(sub(mul(COLUMN, neg(BIG)), mul(COLUMN, BIG))) is not None


def test_a_product_of_data_is_no_reason() -> None:
    assert refused(mul(DATA, BIG)) is None


def test_an_index_counts_at_the_points_where_it_is_used() -> None:
    product = mul(ROW, BIG)
    assert refused(product, domain=sets.within(sets.box(EXTENTS), 0, 0, 3)) is None
    assert refused(product, domain=sets.within(sets.box(EXTENTS), 0, 0, 4)) is not None
    assert refused(product, domain=sets.empty(2)) is None
    few = compare("lt", ROW, index(4))
    assert refused(select(few, product, ROW)) is None
    assert refused(select(few, ROW, product)) is not None
    assert refused(add(select(few, product, index(0)), product)) is not None


@pytest.mark.parametrize(("dtype", "most"), [(INT8, 127), (INT32, 2**31 - 1)])
def test_a_narrow_integer_made_of_an_index_must_hold_it(dtype, most) -> None:
    assert refused(cast(add(ROW, index(most - 9)), dtype)) is None
    found = refused(cast(add(ROW, index(most - 8)), dtype))
    assert found is not None
    assert found.startswith(f"an index fits into {dtype.bits} bits, got i + {most - 8} in [")
    assert found.endswith('take a wider type, or cast to "int64" on the way, which wraps')
    wraps = cast(cast(add(ROW, index(most)), INT64), dtype)
    assert refused(wraps) is None


def test_floats_are_not_judged() -> None:
    assert refused(mul(cast(ROW, FLOAT64), const(1e300, FLOAT64))) is None
